/* SPDX-License-Identifier: Apache-2.0 */
/*
 * breakdown.h - where a GPU's time went, by unions of intervals, exact to the nanosecond.
 *
 *	span    from the first start to the last end of GPU activity
 *	busy    something ran; idle = span - busy
 *	compute kernels that are not communication ran; comm: kernels that are
 *	memory  copies or memsets ran
 *	overlap comm and compute ran at once; exposed comm = comm - overlap
 *	exposed copy = busy - (compute or comm ran)
 *
 * unseen  idle while steps were unsampled: counts neither as span nor as idle
 *
 * GPU work counts whether or not its launch was recorded; `attributed` counts kernels whose launch
 * was.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/unions.h"
#include "model/trace.h"
#include "names/class.h"

struct breakdown {
	uint64_t first_ns, last_ns;
	uint64_t span_ns, busy_ns, idle_ns;
	uint64_t compute_ns, comm_ns, memory_ns;
	uint64_t overlap_ns, exposed_comm_ns, exposed_copy_ns;
	uint64_t kernels, attributed, copies, memsets;
	uint64_t gaps; /* number of idle gaps */
	uint64_t unseen_ns;
};

/* --- unions that grow by intervals in order of their start --- */

enum part { PART_BUSY, PART_COMPUTE, PART_COMM, PART_KERNEL, PART_MEMORY, PARTS };

#define OF_COMPUTE (1u << PART_BUSY | 1u << PART_COMPUTE | 1u << PART_KERNEL)
#define OF_COMM    (1u << PART_BUSY | 1u << PART_COMM | 1u << PART_KERNEL)
#define OF_MEMORY  (1u << PART_BUSY | 1u << PART_MEMORY)

struct unions {
	uint64_t until[PARTS], sum[PARTS]; /* base/unions.h */
};

/* What a stream or a device did so far. */
struct sum {
	struct unions u;
	struct breakdown b;
	bool begun;
};

/* Fills the times of *b but span and idle. */
void unions_take(const struct unions *u, struct breakdown *b);
/* Fills all times of *b, whose first_ns and last_ns are set. */
void breakdown_end(struct breakdown *b, const struct unions *u);

static inline uint64_t end_of(uint64_t start_ns, uint64_t dur_ns)
{
	return start_ns + dur_ns < start_ns ? UINT64_MAX : start_ns + dur_ns;
}

static inline uint64_t event_end(const struct event *e)
{
	return end_of(e->start_ns, e->dur_ns);
}

/* Work of a GPU: not what it waited for, nor annotations projected onto it. */
static inline bool kind_is_gpu(uint32_t kind)
{
	return kind == EVENT_KERNEL || kind == EVENT_COPY || kind == EVENT_MEMSET ||
	       kind == EVENT_COLLECTIVE || kind == EVENT_GRAPH;
}

static inline bool event_is_gpu(const struct event *e)
{
	return kind_is_gpu(e->kind);
}

enum kclass event_class(struct names *n, const struct trace *t, size_t event);
enum kclass work_class(struct names *n, uint32_t kind, uint32_t name, bool comm);

/* OF_* */
static inline uint32_t class_parts(enum kclass c)
{
	if (c == CLASS_COMM)
		return OF_COMM;
	return c == CLASS_COPY || c == CLASS_MEMSET ? OF_MEMORY : OF_COMPUTE;
}

/* Adds work, in order of its start. Returns how long nothing ran before. */
static inline uint64_t sum_add(struct sum *s, enum kclass c, bool kernel, uint64_t start,
			       uint64_t end)
{
	struct breakdown *b = &s->b;
	uint64_t gap;

	if (!s->begun)
		b->first_ns = b->last_ns = start;
	s->begun = true;
	gap = start > b->last_ns ? start - b->last_ns : 0;
	b->gaps += gap > 0;
	b->last_ns = end > b->last_ns ? end : b->last_ns;
	unions_add(s->u.until, s->u.sum, class_parts(c), start, end);
	b->kernels += kernel;
	b->copies += c == CLASS_COPY && !kernel;
	b->memsets += c == CLASS_MEMSET && !kernel;
	return gap;
}

/* --- the GPU events of several streams, in order of their start --- */

struct sort_key;

struct merge_track {
	size_t at, end;
	uint64_t start_ns;           /* of the event at `at` */
	const struct sort_key *work; /* of sweep.c, which has no events */
};

struct merge {
	const struct trace *t;     /* borrowed */
	struct merge_track *track; /* owned: a heap by the start of the next event */
	size_t tracks;
};

#define MERGE_END SIZE_MAX

int merge_init(struct merge *m, const struct trace *t, const uint32_t *track, size_t tracks);
size_t merge_next(struct merge *m); /* index into t->event[], or MERGE_END */
void merge_fini(struct merge *m);
void merge_sift(struct merge *m, size_t i); /* after the start of track[i] grew */

/* --- the sweep --- */

/* What lies before a piece of work; it may be empty. */
struct gap {
	uint64_t start_ns, end_ns;
	size_t after;      /* the event that ended it, */
	enum kclass class; /* and its class */
};

typedef void gap_fn(void *arg, const struct gap *g);

/* Continues with *s, which is all zero at first; breakdown_end() then gives the totals. `launch` as
 * in struct insight, or NULL; fn is called for each piece of work, in order, with the gap before it. */
int breakdown_tracks(struct sum *s, const struct trace *t, struct names *n, const uint32_t *launch,
		     const uint32_t *track, size_t tracks, gap_fn *fn, void *arg);
