/* SPDX-License-Identifier: Apache-2.0 */
/* rollup.h - one name on one track in one window: counts, sums, a sketch. Data only. */
#pragma once

#include <stdint.h>

#include "base/sketch.h"

#define WINDOW_NS 1000000000ull

struct rollup {
	uint32_t track;
	uint32_t name;
	uint32_t kind; /* enum event_kind */
	uint32_t reserved;
	uint64_t count;
	uint64_t total_ns; /* COUNTER: sum of values is not kept; see min and max */
	uint64_t min_ns;   /* COUNTER: least and greatest value, an int64_t; doubles are rounded */
	uint64_t max_ns;
	uint64_t bytes;   /* COPY, MEMSET, COLLECTIVE, ALLOC; STEP: weighted time, see below */
	uint32_t geo;     /* KERNEL: of all its calls; ROLLUP_NO_GEO: several. Not stored */
	uint32_t verdict; /* KERNEL, COPY: what limits it, rollup_verdict(); 0: not known */
	struct sketch sketch;
};

/* Names of the rows of steps in windows of which nothing was recorded: unsampled by chance, or
 * because nothing is recorded at all. Rows of recorded steps have their weighted time as bytes. */
#define STEPS_UNSAMPLED "[aon] steps left out by chance"
#define STEPS_UNSEEN    "[aon] steps not looked into"

#define ROLLUP_NO_GEO UINT32_MAX

/* What limits a kernel (enum roof_limit), how that is known (enum work_how), and how close it comes
 * to its roofline bound in percent: more digits are not worth their bytes. */
static inline uint32_t rollup_verdict(uint32_t limit, uint32_t how, double fraction)
{
	uint32_t percent = fraction < 4 ? (uint32_t)(fraction * 100 + 0.5) : 400;

	return limit | how << 4 | percent << 8;
}

static inline uint32_t rollup_limit(uint32_t verdict)
{
	return verdict & 15;
}

static inline uint32_t rollup_how(uint32_t verdict)
{
	return verdict >> 4 & 15;
}

static inline double rollup_fraction(uint32_t verdict)
{
	return (double)(verdict >> 8) / 100;
}

/* All rollups of one process in [start_ns, start_ns + WINDOW_NS). Rows of the same window may
 * come in several pieces (late events): a reader adds them up. */
struct window {
	uint32_t process;
	uint32_t rows;
	uint64_t start_ns;
	struct rollup *row;
};
