/* SPDX-License-Identifier: Apache-2.0 */
/*
 * times.h - CUPTI's times on the host's clock; part of decode.c, because every record needs it.
 *
 * CUPTI uses the wall clock, unless another tool gave it a clock of its own. The wall clock may be
 * set, and a device's clock may drift away from it; both are noticed.
 */
#pragma once

#include "base/clock.h"
#include "pool/emit.h"
#include "probe/cuda/cuda.h"
#include "probe/cuda/record.h"

#define CLOCK_STEP_NS   1000000ll
#define RUNAWAY_NS      100000000u
#define CLOCK_FORGET_NS 300000000000ull /* no record is older than five minutes */

/*
 * The clock was set not long ago: is the record of before or after? Of the two offsets, the one
 * that puts it closest to now, but not into the future.
 */
static inline void unstep(const struct cuda *c, uint64_t start, uint64_t end, struct aon_act *a)
{
	uint64_t other = end + (uint64_t)c->before_step;

	if (other <= c->now_ns && (a->end_ns > c->now_ns || other > a->end_ns)) {
		a->start_ns = start + (uint64_t)c->before_step;
		a->end_ns = other;
	}
}

/* The stride of the record at `at`; 0 where the walk must end. */
static inline uint32_t step(const uint16_t stride[CK_MAX], const uint8_t *at, size_t left)
{
	uint32_t kind, n;

	if (left < sizeof(kind))
		return 0;
	kind = get32(at, 0);
	n = kind < CK_MAX ? stride[kind] : 0;
	return n <= left ? n : 0;
}

/* When the last work of the rest of the buffer ended; the field is where it is in all of these. */
static inline uint64_t last_end(const struct cuda *c, const uint8_t *at)
{
	uint64_t last = 0;
	uint32_t n;

	for (; (n = step(c->stride, at, (size_t)(c->end - at))); at += n) {
		uint32_t kind = get32(at, 0);

		if (kind == CK_CONCURRENT_KERNEL || kind == CK_MEMCPY || kind == CK_MEMCPY2 ||
		    kind == CK_MEMSET)
			last = get64(at, K_END) > last ? get64(at, K_END) : last;
	}
	return last;
}

/*
 * A device's clock, which CUPTI converts to its own, may drift. Work cannot end after its record
 * came, nor begin before its launch: work that does, by more than two clocks of a healthy node
 * could differ, is shifted, together with all that follows.
 */
static inline void restrain(struct cuda *c, const uint8_t *r, uint32_t device, struct aon_act *a)
{
	int64_t *ahead = &c->ahead[device % CUDA_DEVICES], by = 0;
	uint32_t i = a->corr / CUDA_TIMED % CUDA_TIMED;
	uint64_t launch = 0, end;

	/* F: pairs with E. */
	if (a->corr % CUDA_TIMED == 0 && !a->group &&
	    atomic_load_explicit(&c->timed[i].corr, memory_order_acquire) == a->corr)
		launch = atomic_load_explicit(&c->timed[i].ns, memory_order_relaxed);
	a->start_ns -= (uint64_t)*ahead;
	a->end_ns -= (uint64_t)*ahead;
	if (aon_unlikely(a->end_ns > c->now_ns + RUNAWAY_NS)) {
		end = dev_clock_host(&c->clock, last_end(c, r)) - (uint64_t)*ahead;
		by = (int64_t)((end > a->end_ns ? end : a->end_ns) - c->now_ns);
	} else if (aon_unlikely(a->start_ns + RUNAWAY_NS < launch)) {
		by = -(int64_t)(launch - a->start_ns);
	}
	*ahead += by;
	a->start_ns -= (uint64_t)by;
	a->end_ns -= (uint64_t)by;
}

/* Both times, on the host's clock. False: CUPTI had none, which is counted. */
static inline bool times(struct cuda *c, uint64_t start, uint64_t end, struct aon_act *a)
{
	if (aon_unlikely(!start || !end || end < start)) {
		aon_lost(AON_LOST_UNTIMED, 1);
		atomic_fetch_add_explicit(&c->untimed, 1, memory_order_relaxed);
		return false;
	}
	a->start_ns = dev_clock_host(&c->clock, start);
	a->end_ns = dev_clock_host(&c->clock, end);
	if (aon_unlikely(c->step_ns))
		unstep(c, start, end, a);
	return true;
}

/* Beside other subscribers only the newer call answers; without an answer the clock is the wall's. */
static inline int cupti_now(const struct cuda *c, uint64_t *ns)
{
	if (c->multi && c->api.GetTimestamp_v2 && !c->api.GetTimestamp_v2(c->sub, ns) && *ns)
		return 0;
	if (!c->api.GetTimestamp || (!c->api.GetTimestamp(ns) && *ns))
		return !*ns;
	*ns = clock_wall_ns();
	return !*ns;
}

/*
 * Samples both clocks, with every buffer: CUPTI's is the wall clock, unless another tool gave it
 * its own, and may be set at any time. The turn is held.
 */
static inline void clock_look(struct cuda *c)
{
	int64_t was = c->clock.offset, by;
	bool known = c->clock.known;
	uint64_t before = clock_mono_ns(), theirs = 0;

	c->now_ns = before;
	if (cupti_now(c, &theirs))
		return;
	c->now_ns = clock_mono_ns();
	dev_clock_sample(&c->clock, theirs, before, c->now_ns);
	by = c->clock.offset - was;
	if (known && (by > CLOCK_STEP_NS || by < -CLOCK_STEP_NS)) {
		c->before_step = was;
		c->step_ns = c->now_ns;
	} else if (c->step_ns && c->now_ns - c->step_ns > CLOCK_FORGET_NS) {
		c->step_ns = 0;
	}
}
