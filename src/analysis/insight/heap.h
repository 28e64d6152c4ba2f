/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.h - memory held by the allocator of each device, step by step. Pure: an insight in.
 *
 * It uses the counters of base/memory.tbl.h, which the probe for PyTorch writes and imported traces
 * contain.
 */
#pragma once

#include "base/counters.h"
#include "insight/insight.h"

#define HEAP_NONE UINT64_MAX /* unknown */

/* The state at the end of a step; without steps, at the end of a part of the time. */
struct heap_point {
	uint64_t step; /* its number, or HEAP_NONE */
	uint64_t ns;   /* of the last reading */
	uint64_t high; /* highest allocation in it that was read */
	uint64_t v[MEMORIES];
};

struct heap {
	uint32_t process, device; /* index into t->device[]; TRACK_HOST: the host's */
	uint64_t readings;
	struct heap_point *point; /* owned, in the order of time */
	size_t points;
	uint64_t peak;      /* most that was ever allocated, */
	size_t peak_at;     /* and the first point with that value */
	bool grows;         /* growth is known: enough steps after the warm-up */
	double growth;      /* bytes a step, a line through the last three quarters */
	uint64_t retries;   /* while it was looked at; */
	uint64_t ooms;      /* HEAP_NONE: unknown */
	double unused;      /* unused share of the reserved memory, at the end; below 0: unknown */
	double unused_most; /* and where it was highest, after the warm-up */
};

struct heaps {
	struct heap *h; /* owned, by process and device */
	size_t n;
};

int heaps_new(struct heaps **out, const struct insight *in);
void heaps_free(struct heaps *hs); /* NULL is allowed */
