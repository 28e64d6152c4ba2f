/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unions.h - how long at least one interval of a set was active, for up to 32 sets at once.
 *
 * Intervals come in order of their start, so a set is described by the end of its last one. If one
 * set contains another, the difference of both is what only the larger has: exposed communication,
 * which runs while no kernel computes, is (comm or compute) - compute.
 */
#pragma once

#include <stdint.h>

/* Adds an interval to the sets whose bits are in `of`: until[] has the end of each, sum[] its length. */
static inline void unions_add(uint64_t *until, uint64_t *sum, uint32_t of, uint64_t start,
			      uint64_t end)
{
	for (; of; of &= of - 1) {
		uint32_t u = (uint32_t)__builtin_ctz(of);
		uint64_t from = start > until[u] ? start : until[u];

		if (end <= from)
			continue;
		sum[u] += end - from;
		until[u] = end;
	}
}
