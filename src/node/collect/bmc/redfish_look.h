/* SPDX-License-Identifier: Apache-2.0 */
/* redfish_look.h - the state of a BMC's thread between two polls. */
#pragma once

#include "collect/bmc/redfish_tree.h"

#define S        1000000000ull
#define LOG_SEEN 512u

struct looker {
	struct redfish r;
	struct redfish_tree tree;
	struct bmc *b;
	uint32_t at;       /* the resource under way */
	uint32_t turn;     /* where the next look goes on */
	uint32_t after;    /* the value that a report had last: those of one follow each other */
	uint64_t told;     /* of the BMC's events, when it was last looked */
	uint32_t members;  /* of the collection under way */
	uint64_t round_ns; /* what it takes to come to all in turn */
	uint64_t discovered_ns, logs_ns;
	int64_t newest;    /* time of the BMC's clock that reports have reached */
	uint64_t moved_ns; /* when it last did, by ours */
	bool still;        /* it does not any more */
	bool fresh_values; /* of the resource under way: some are not in reports */
	bool down;         /* the last look failed */
	bool logs_known;
	uint64_t log_seen[LOG_SEEN];
	uint32_t logs;
};

/* Six looks: after that long a reading that did not come again is none any more. */
static inline uint64_t redfish_stale_ns(const struct looker *l)
{
	return 6 * (uint64_t)l->b->conf->interval * S;
}

/* With the BMC's lock held; arg is the looker. */
void redfish_take_leaf(void *arg, const struct redfish_leaf *leaf);
void redfish_take_metric(void *arg, const struct redfish_metric *m);
void redfish_take_fact(void *arg, const struct redfish_leaf *leaf);
void redfish_take_log(void *arg, const struct redfish_event *e);
