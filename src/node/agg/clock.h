/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - converts TSC ticks to nanoseconds of CLOCK_MONOTONIC.
 *
 * The conversion is a line through two samples, updated about once a second so that it follows
 * NTP's slewing. A new line begins where the old one ends, so that time never runs backwards.
 * Records are read up to a second after they were written: the previous slope is kept for them.
 */
#pragma once

#include <stdint.h>

struct clock_map {
	uint64_t tsc0;
	uint64_t ns0;
	uint64_t mult;    /* ns = ns0 + ((tsc - tsc0) * mult >> 32), 128-bit in between */
	uint64_t hz;      /* ticks a second, as measured */
	uint64_t before;  /* `mult` of ticks before tsc0 */
	uint64_t seen_ns; /* what the clock said at tsc0; ns0 is what the line said */
};

static inline uint64_t clock_map_ns(const struct clock_map *c, uint64_t tsc)
{
	int64_t d = (int64_t)(tsc - c->tsc0);
	__int128 ns = (__int128)d * (__int128)(d < 0 ? c->before : c->mult);

	return c->ns0 + (uint64_t)(int64_t)(ns >> 32);
}

/* Two moments make a line, which goes on from the second. -ERANGE: these cannot be a clock's. */
int clock_map_init(struct clock_map *c, uint64_t tsc_a, uint64_t ns_a, uint64_t tsc_b,
		   uint64_t ns_b);
/*
 * Move on to a later moment: bends the line, never steps back. -ERANGE: the TSC is not steady,
 * and the line is as before. A moment within 0.1 s of the last says too little and is passed over.
 */
int clock_map_update(struct clock_map *c, uint64_t tsc, uint64_t ns);
