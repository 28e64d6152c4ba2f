/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - a device's clock relative to CLOCK_MONOTONIC, from moments known on both.
 *
 * A device time that was taken between two host times bounds the offset from both sides. Bounds
 * of many samples are intersected, so the tightest wins; with time they widen by what two clocks
 * may drift apart. A sample outside of them means that a clock was set: it starts anew. The
 * offset in use stays the same while the bounds allow it, so that neighbours keep their order.
 *
 * The first bracket may be wide: a driver compiles during its first call. If the bounds allow that
 * the device uses one of the host's clocks (`likely`), that clock is assumed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_DRIFT 5000 /* one part in so many: NTP slews by up to 500 ppm, quartz by 50 */

struct dev_clock {
	int64_t lo, hi; /* host minus device */
	int64_t offset; /* between them */
	int64_t likely; /* a guess at it */
	uint64_t at_ns; /* of the last sample, host */
	bool known;
};

static inline void dev_clock_sample(struct dev_clock *c, uint64_t dev_ns, uint64_t before_ns,
				    uint64_t after_ns)
{
	int64_t lo = (int64_t)(before_ns - dev_ns), hi = (int64_t)(after_ns - dev_ns);
	int64_t age = (int64_t)(after_ns - c->at_ns), slack = (age < 0 ? 0 : age) / CLOCK_DRIFT;

	if (after_ns < before_ns)
		return;
	if (c->known && age >= 0 && lo <= c->hi + slack && hi >= c->lo - slack) {
		lo = lo > c->lo - slack ? lo : c->lo - slack;
		hi = hi < c->hi + slack ? hi : c->hi + slack;
	} else if (c->known && age < 0) {
		return; /* read later than a newer one: it adds nothing */
	}
	if (!c->known || c->offset < lo || c->offset > hi)
		c->offset = c->likely >= lo && c->likely <= hi ? c->likely : lo + (hi - lo) / 2;
	c->lo = lo;
	c->hi = hi;
	c->at_ns = after_ns;
	c->known = true;
}

static inline uint64_t dev_clock_host(const struct dev_clock *c, uint64_t dev_ns)
{
	return dev_ns + (uint64_t)c->offset;
}
