/* SPDX-License-Identifier: Apache-2.0 */
/* redfish_tree.h - a BMC's resources: their paths, their uses, and when each is polled again. */
#pragma once

#include "base/map.h"
#include "collect/bmc/redfish_ask.h"
#include "collect/bmc/redfish_body.h"

enum redfish_use { USE_NONE, USE_POLL, USE_EXPAND, USE_REPORT, USE_REPORTS, USE_LOG, USE_FACT };

struct redfish_resource {
	char *path; /* owned */
	char *etag; /* owned; NULL: the server gave none */
	uint64_t hash;
	uint64_t not_before_ns; /* it did not answer: left alone until then */
	uint64_t quiet_ns;      /* its values do not change: not polled before then */
	uint64_t body;          /* hash of what it said last */
	enum redfish_use use;
	uint8_t still;  /* times in a row that it said the same */
	bool no_expand; /* it failed as a whole: its members are asked one by one */
	bool covered;   /* metric reports have all that it has */
	bool got;       /* in this discovery */
	bool is_whole;  /* a member that came with its collection */
};

struct redfish_tree {
	struct redfish_resource *res; /* owned */
	uint32_t n, max;
	struct map by_path; /* hash: place in res, + 1 */
	uint64_t dropped;
	bool expand;               /* it can give a collection with its members */
	char events[REDFISH_PATH]; /* where events come from; "": nowhere */
};

int redfish_tree_init(struct redfish_tree *t, uint32_t max);
void redfish_tree_fini(struct redfish_tree *t);
/* The resource of that path, with a new one if it was not met: NULL if there is no room. */
struct redfish_resource *redfish_tree_add(struct redfish_tree *t, const char *path);
/* Whether a property of that name is followed. */
bool redfish_follows(const char *key);
/* By "#Sensor.v1_7_0.Sensor". */
enum redfish_use redfish_use_of(const char *type);
