/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.c - the line that follows CLOCK_MONOTONIC.
 *
 * The line may not step. Its error against the clock is corrected over the next second, or over the
 * time since the last sample if that is longer, at no more than 1,000 ppm, on top of the rate that
 * was measured between the two samples.
 */
#include "agg/clock.h"

#include <errno.h>

#define S_NS      1000000000ull
#define NEAR_NS   (S_NS / 10)
#define JITTER_NS 1000000ull /* a moment is two reads of two clocks: one may have been late */
#define HZ_MIN    1000000ull
#define HZ_MAX    100000000000ull
#define PER_MILLE 1000ull /* twice what NTP slews */

typedef unsigned __int128 u128;

static uint64_t rate(uint64_t ticks, uint64_t ns)
{
	u128 hz = (u128)ticks * S_NS / ns;

	return hz > HZ_MAX ? UINT64_MAX : (uint64_t)hz;
}

static uint64_t slope(uint64_t hz)
{
	return (uint64_t)(((u128)S_NS << 32) / hz);
}

int clock_map_init(struct clock_map *c, uint64_t tsc_a, uint64_t ns_a, uint64_t tsc_b,
		   uint64_t ns_b)
{
	uint64_t hz, mult;

	if ((int64_t)(tsc_b - tsc_a) <= 0 || (int64_t)(ns_b - ns_a) <= 0)
		return -ERANGE;
	hz = rate(tsc_b - tsc_a, ns_b - ns_a);
	if (hz < HZ_MIN || hz > HZ_MAX)
		return -ERANGE;
	mult = (uint64_t)(((u128)(ns_b - ns_a) << 32) / (tsc_b - tsc_a));
	*c = (struct clock_map){ tsc_b, ns_b, mult, hz, mult, ns_b };
	return 0;
}

int clock_map_update(struct clock_map *c, uint64_t tsc, uint64_t ns)
{
	uint64_t ticks = tsc - c->tsc0, dns = ns - c->seen_ns, hz, allowed, mult, at;
	int64_t error, bend, most;

	if ((int64_t)ticks <= 0 || (int64_t)dns < 0)
		return -ERANGE;
	if (dns < NEAR_NS && ticks < c->hz)
		return 0;
	if (dns == 0)
		return -ERANGE;
	hz = rate(ticks, dns);
	allowed = c->hz / PER_MILLE + (uint64_t)((u128)c->hz * JITTER_NS / dns);
	if (hz < HZ_MIN || hz > HZ_MAX || (hz > c->hz ? hz - c->hz : c->hz - hz) > allowed)
		return -ERANGE;

	at = clock_map_ns(c, tsc);
	hz = c->hz / 2 + hz / 2;
	mult = slope(hz);
	most = (int64_t)(mult / PER_MILLE);
	error = (int64_t)(ns - at);
	bend = (int64_t)((__int128)error * (1ll << 32) / (int64_t)(ticks > hz ? ticks : hz));
	bend = bend > most ? most : bend < -most ? -most : bend;
	*c = (struct clock_map){ tsc, at, mult + (uint64_t)bend, hz, c->mult, ns };
	return 0;
}
