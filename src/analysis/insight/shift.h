/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shift.h - detects where a series changes its level, value by value, in constant memory.
 *
 *	struct shifts s = { .n = 0 };
 *	for (...) if (shifts_add(&s, v, &c)) ...;
 *	if (shifts_end(&s, &c)) ...;
 *
 * A change: of SHIFT_WIDTH values before and as many after, nearly all pairs are ordered the same
 * way, and the medians differ by 5 %. Ranks, not means: single slow values do not count, and a
 * series that jumps between two levels all the time is at neither.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SHIFT_WIDTH 20u

struct shift {
	uint64_t at;            /* number of the first value of the new level */
	uint64_t before, after; /* medians of SHIFT_WIDTH */
};

struct shifts {
	uint64_t ring[2 * SHIFT_WIDTH]; /* the last ones, by number % 2 SHIFT_WIDTH */
	uint64_t n;
	uint64_t clear; /* values before this are of the last change */
	uint32_t score; /* of `best`; 0: there is none */
	struct shift best;
};

/* True: *out is a change, of some values ago. */
bool shifts_add(struct shifts *s, uint64_t v, struct shift *out);
bool shifts_end(struct shifts *s, struct shift *out); /* no more come */
