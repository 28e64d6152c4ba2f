/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inline.h - the fast path of an emit, for libaon and for the probes that ship with it.
 *
 * Probes whose calls are as short as an emit inline it: no call, no register to save. Everything
 * else is left to aon_emit_(), which starts from the beginning.
 */
#pragma once

#include <aon/aon.h>

#include "pool/emit.h"

#define AON_TLS __thread __attribute__((tls_model("initial-exec")))

/* The number in the symbol is raised with any change of the struct: a probe built for another
 * struct than the process's libaon then does not load. */
extern AON_API AON_TLS struct aon_thread *aon_self __asm__("aon_self_1");

static inline void aon_fence(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

static inline void aon_set_busy(struct aon_thread *t, uint32_t v)
{
	aon_fence();
	atomic_store_explicit(&t->busy, v, memory_order_relaxed);
	aon_fence();
}

/* All but the stamp: no register is kept for these across it. */
static inline void aon_fill(union aon_rec *p, uint32_t kind, uint32_t name, uint32_t x, uint64_t a,
			    uint64_t b)
{
	p->half[1] = kind;
	p->half[2] = name;
	p->half[3] = x;
	p->word[2] = a;
	p->word[3] = b;
	/* aond's core has read these lines last: ask for the ones to come before they are needed. */
	__builtin_prefetch(p + 8, 1);
}

static inline void aon_stamp(struct aon_thread *t, union aon_rec *p, uint32_t tsc)
{
	p->half[0] = tsc;
	aon_commit(t, p, 1);
}

/*
 * This thread's end. Load it first of all: the CPU takes no stamp before earlier loads are done, so
 * the longest chain of loads decides the cost of a short call, not its instructions. This is one.
 */
static inline struct aon_thread *aon_here(void)
{
	struct aon_thread *t = aon_self;

	__asm__ volatile("" : "+r"(t));
	return t;
}

/* Like aon_emit_(), on the fast path only. False: nothing was done, call aon_emit_(). */
static inline __attribute__((always_inline)) bool aon_emit_straight(struct aon_thread *t,
								    uint32_t kind, uint32_t name,
								    uint32_t x, uint64_t a,
								    uint64_t b)
{
	union aon_rec *p;
	uint32_t lo, hi;

	if (aon_unlikely(atomic_load_explicit(&t->busy, memory_order_relaxed)))
		return false;
	aon_set_busy(t, AON_EMITTING);
	p = t->p;
	if (aon_unlikely(p == t->end))
		goto idle;
	aon_fill(p, kind, name, x, a, b);
	lo = aon_tsc_split(&hi);
	if (aon_unlikely(hi != t->tsc_hi))
		goto idle;
	aon_stamp(t, p, lo);
	aon_set_busy(t, AON_IDLE);
	return true;
idle:
	aon_set_busy(t, AON_IDLE);
	return false;
}
