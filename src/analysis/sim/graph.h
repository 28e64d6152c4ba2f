/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.h - the dependencies of a recording: calls of threads, work of streams, collectives of
 * ranks.
 *
 * Each task has two points, its start and its end. An edge says that its target comes no earlier
 * than `lag` after its source. One of the edges into a point is *bound*: it held the point back in
 * the recording, and its lag is the measured one; the others keep the smallest possible lag. So a
 * run without a change reproduces every recorded time to the nanosecond, and a change moves exactly
 * what depended on it.
 *
 *	thread   [call]---HOST---[call]--------HOST--------[ sync call  ]
 *	            \LAUNCH                                 ^ SYNC
 *	stream       [kernel]-ORDER-[kernel]------------------'
 *	                                \DEPEND
 *	other stream                     [kernel]       collectives: every start -> every end
 *
 * Dependencies that are not recorded are inferred from times: a call that returned when work ended
 * waited for that work; work that began when work of another stream ended depends on it; a thread
 * that resumed when another went quiet was released by that thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/trace.h"

/* What the time on an edge is. */
enum sim_kind {
#define SIM_KIND(NAME, word, what) SIM_##NAME,
#include "sim/kind.tbl.h"
	SIM_KINDS
};
extern const char *const sim_kind_word[SIM_KINDS];

struct sim_edge {
	uint32_t from, to; /* points */
	int64_t lag;       /* ns */
	uint8_t kind;      /* enum sim_kind */
	bool bound;        /* held its target back in the recording */
};

struct sim_task {
	size_t event; /* index into the trace's events; SIM_NO_EVENT: a mark of a thread, a meeting */
	uint32_t track; /* of the trace */
	uint32_t file;  /* of the trace */
	uint32_t own;   /* edge from its start to its end */
	uint8_t kind; /* SIM_CALL, SIM_COMPUTE, SIM_COMM, SIM_COPY; SIM_HOST: a mark or a meeting */
	bool waited;  /* a call that returned when work of a device ended */
};

#define SIM_NO_EVENT SIZE_MAX

struct sim_graph {
	const struct trace *trace; /* borrowed; sealed. NULL: nothing was recorded, see engine.h */
	const bool *is_comm;       /* by name; NULL: events that carry a comm */
	struct sim_task *task;
	int64_t *time;   /* of points, as recorded; file clocks aligned */
	int64_t *offset; /* by file: to the first one's clock */
	struct sim_edge *edge;
	uint32_t *order; /* points, each behind those it waits for */
	uint32_t *in;    /* points + 1 offsets into by_to */
	uint32_t *by_to; /* edges, by target */
	size_t tasks, edges;
	int64_t begin_ns, end_ns; /* of the window, on the clock of the first file */
	uint64_t steps;           /* of one rank in the window; 0: the trace has none */
	uint64_t meetings;        /* collectives matched across ranks */
};

static inline uint32_t sim_start(uint32_t task)
{
	return 2 * task;
}
static inline uint32_t sim_end(uint32_t task)
{
	return 2 * task + 1;
}

/*
 * Makes the graph of all steps of the trace, or of the whole trace when it has no steps. is_comm: one flag
 * a name, for kernels that communicate. -ENODATA: nothing to replay.
 */
int sim_graph_new(struct sim_graph **out, const struct trace *t, const bool *is_comm);
void sim_graph_free(struct sim_graph *g);

/* Times of all points when the edges have these lags (NULL: their own; SIM_CUT: no edge). */
#define SIM_CUT   INT64_MIN
#define SIM_NEVER (INT64_MAX / 4) /* a lag without end, and the time of points that never come */
void sim_run(const struct sim_graph *g, const int64_t *lag, int64_t *time);
/* From the window's begin to the last end. */
int64_t sim_span(const struct sim_graph *g, const int64_t *time);
