/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h - what a process did when a sample was taken: the part of its step, and whether one of its GPUs
 * worked. For the rollups of samples: a raw sample is joined with all other events by its reader.
 *
 * Kernels, ranges and steps are known when they end. So their times are kept for a few seconds, those
 * that touch as one, until the windows of samples close. What ends later than that is not seen: a
 * sample in it is of an idle GPU, or of the part that its stack tells.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names/part.h"

#define PLACE_SPANS 8192u /* of a process: beyond it the older half is forgotten */
#define PLACE_STEPS 64u

struct place_span {
	uint64_t from_ns, to_ns;
	uint32_t track; /* of the thread; 0: work of a GPU */
	uint32_t part;  /* enum host_part, of a range */
};

/* All 0 at first. */
struct places {
	struct place_span *span; /* owned */
	size_t n, cap;
	uint64_t blind_ns; /* what was before is forgotten in part */
	struct place_step {
		uint64_t from_ns, to_ns;
	} step[PLACE_STEPS]; /* the last ones, by their number modulo */
	uint64_t steps;
};

/* A sample. */
struct placed {
	uint64_t ns;
	uint32_t track;
	uint32_t of;    /* the caller's */
	uint8_t part;   /* that its stack tells, then the one it is; HOST_PARTS: not known */
	uint8_t gpu;    /* enum sample_gpu */
	uint64_t in_ns; /* of this file: where the innermost range begins */
};

void places_fini(struct places *p);
void places_work(struct places *p, uint64_t from_ns, uint64_t to_ns);
void places_range(struct places *p, uint32_t track, uint64_t from_ns, uint64_t to_ns,
		  enum host_part part);
void places_step(struct places *p, uint64_t from_ns, uint64_t to_ns);
/* Places n samples, and sorts them by time. `has_gpu`: the process uses one. */
void places_find(const struct places *p, struct placed *s, size_t n, bool has_gpu);
/* What ended before is not asked for any more. */
void places_forget(struct places *p, uint64_t before_ns);
