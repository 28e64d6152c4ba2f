/* SPDX-License-Identifier: Apache-2.0 */
/* build.h - shared by the files that build a graph. */
#pragma once

#include "base/map.h"
#include "sim/graph.h"

#define SIM_NONE           UINT32_MAX
#define SIM_UNEXPLAINED_NS 10000 /* a start this late after all known causes needs another */

/* One rank's part in a collective that several took part in. */
struct sim_part {
	uint64_t base;    /* what it is: group and name */
	uint64_t ordinal; /* which of these */
	size_t event;
	int64_t start, end; /* of its file's clock */
	uint32_t file;
	uint32_t task; /* once it is there */
};

struct sim_build {
	struct sim_graph *g;
	uint32_t *track_task;  /* tracks + 1: first task of each; those of a track are in order */
	struct map launch;     /* (process, correlation id) to the launching call, + 1 */
	uint32_t *by_end;      /* tasks of devices by process and end */
	size_t *end_first;     /* processes + 1 offsets into by_end */
	struct sim_part *meet; /* by (base, ordinal, file), those that meet only */
	size_t meets;
};

/* An edge as it is. */
int sim_edge_put(struct sim_graph *g, uint32_t from, uint32_t to, int64_t lag, enum sim_kind kind);
/* Nothing more is added: edges by target, and the order to run in. -ELOOP: there is none. */
int sim_net_close(struct sim_graph *g);
/* An edge with its minimum lag; dropped when the recording contradicts it (clocks that disagree). */
int sim_edge_add(struct sim_graph *g, uint32_t from, uint32_t to, int64_t least,
		 enum sim_kind kind);
/* With the edge from its start to its end. */
int sim_task_add(struct sim_graph *g, const struct sim_task *t, int64_t start, int64_t end,
		 uint32_t *id);

uint32_t sim_launch_get(const struct map *m, uint32_t process, uint32_t corr);

int sim_align(struct sim_build *b);        /* finds collectives of several ranks, aligns clocks */
int sim_build_host(struct sim_build *b);   /* calls, marks, gaps, threads that release others */
int sim_build_device(struct sim_build *b); /* streams, launches, dependencies between streams */
int sim_build_sync(struct sim_build *b);   /* calls that waited for work */
int sim_build_meet(struct sim_build *b);   /* no rank leaves a collective before all have come */

static inline bool sim_is_comm(const struct sim_graph *g, size_t event)
{
	const struct trace *t = g->trace;

	return (t->event_comm && t->event_comm[event]) ||
	       t->event[event].kind == EVENT_COLLECTIVE ||
	       (g->is_comm && g->is_comm[t->event[event].name]);
}

static inline bool sim_in_window(const struct sim_graph *g, int64_t start)
{
	return start >= g->begin_ns && start <= g->end_ns;
}

/* Where in by_end of this process the first task stands that ends behind `at`. */
size_t sim_ends_behind(const struct sim_build *b, uint32_t process, int64_t at);
