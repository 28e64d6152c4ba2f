/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h - the critical path of a trace, and its steps without each cause of a finding. */
#pragma once

#include "insight/find/finding.h"
#include "sim/graph.h"

#define REPLAY_NONE INT64_MIN

struct replay {
	uint64_t from_ns, to_ns; /* of a run that is larger: the replayed part; 0: everything */
	int64_t span_ns;         /* of the window: all steps, or the whole trace */
	uint64_t steps;          /* in it; 0: none are marked */
	uint64_t tasks;          /* on the path */
	uint64_t meetings;
	int64_t by_kind[SIM_KINDS]; /* time on the path */
	int64_t with_ns[FAMILIES];  /* span under the change of replay_word[], or REPLAY_NONE */
};

/* The change that is replayed for a finding, for people; NULL: it cannot be replayed. The result is
 * an upper bound for a fix: no host takes zero time. */
extern const char *const replay_word[FAMILIES];

/* The trace may be a part of that of the insight. -ENODATA: there is nothing to replay. */
int replay_new(struct replay **out, const struct trace *t, const struct insight *in);
void replay_free(struct replay *r); /* NULL is allowed */
