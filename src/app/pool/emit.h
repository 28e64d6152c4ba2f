/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit.h - the app's end of the segment: a thread takes a chunk, fills it, gives it up.
 *
 * abi/segment.h draws the pairs (A, B, E here). Nothing in this file makes a system call, waits, or
 * allocates; it also runs in signal handlers.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/segment.h"

#define aon_likely(x)   __builtin_expect(!!(x), 1)
#define aon_unlikely(x) __builtin_expect(!!(x), 0)

static inline uint64_t aon_tsc(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#else
#error "aon needs a steady per-CPU counter: x86-64 or aarch64"
#endif
}

/* The same in two halves, as x86 has it: to put them together and apart is dearer than a store. */
static inline uint32_t aon_tsc_split(uint32_t *hi)
{
#if defined(__x86_64__)
	uint32_t lo;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(*hi));
	return lo;
#else
	uint64_t v = aon_tsc();

	*hi = (uint32_t)(v >> 32);
	return (uint32_t)v;
#endif
}

/* The process's view of its segment. Offsets and sizes are private copies. */
struct aon_seg {
	struct aon_seg_head *head; /* NULL: no segment */
	_Atomic uint32_t *state;
	uint8_t *chunks;
	uint8_t *heap;
	uint32_t chunk_bytes;
	uint32_t chunk_count;
	uint32_t heap_bytes;
};

/*
 * One thread's end, 64 bytes, private to the process and wiped by fork(), so that a child
 * finds p == end == NULL and takes the slow path instead of its parent's chunk.
 *
 * `busy` guards against a signal handler that emits on the thread it interrupted: it is set
 * before p is read. Only this thread and its handlers touch it, so relaxed atomics and
 * compiler fences are enough.
 */
enum aon_busy { AON_IDLE = 0, AON_EMITTING = 1, AON_UNATTACHED = 2, AON_DEAD = 3 };

struct aon_thread {
	union aon_rec *p;        /* where the next record goes */
	union aon_rec *end;      /* behind the chunk's last unit */
	_Atomic uint32_t *n;     /* the chunk's commit word */
	_Atomic uint32_t *state; /* the chunk's state; NULL: no chunk */
	_Atomic uint32_t busy;   /* enum aon_busy */
	uint32_t tsc_hi;
	uint32_t count; /* units committed in the chunk */
	uint32_t tid;   /* 0: not attached, or wiped by fork() */
	uint32_t seq;   /* of chunks */
	uint32_t skip;  /* emits to lose before looking for a chunk again */
	uint32_t index; /* of this struct among its kind */
	uint32_t next;  /* while it is free: index + 1 of the next free one */
};

_Static_assert(sizeof(struct aon_thread) == 64, "one cache line");

/* Publishes `units` more units, whose bytes are written. */
static inline void aon_commit(struct aon_thread *t, union aon_rec *p, uint32_t units)
{
	t->p = p + units;
	t->count += units;
	/* B: pairs with C. */
	atomic_store_explicit(t->n, t->count, memory_order_release);
}

static inline void aon_lose(const struct aon_seg *s, uint32_t tid, enum aon_loss why, uint64_t n)
{
	if (s->head)
		atomic_fetch_add_explicit(
			(_Atomic uint64_t *)&s->head->lost[tid % AON_LOSS_STRIPES][why], n,
			memory_order_relaxed);
}

/* The thread will not write to its chunk again. */
static inline void aon_chunk_give(struct aon_thread *t)
{
	_Atomic uint32_t *state = t->state;

	t->p = t->end = NULL;
	t->state = NULL;
	/* E: pairs with D. */
	if (state)
		atomic_store_explicit(state, AON_CHUNK_FULL, memory_order_release);
}

static inline bool aon_chunk_claim(const struct aon_seg *s, uint32_t i)
{
	uint32_t want = AON_CHUNK_FREE;

	/* A: pairs with F. It also releases, so that a reader that sees this chunk taken sees the one
	 * before it full. Load before the exchange: most words are not free when it matters. */
	return atomic_load_explicit(&s->state[i], memory_order_relaxed) == AON_CHUNK_FREE &&
	       atomic_compare_exchange_strong_explicit(&s->state[i], &want, AON_CHUNK_OWNED,
						       memory_order_acq_rel, memory_order_relaxed);
}

/*
 * Takes a free chunk for the thread. Returns how many chunks are used now, 0 when there is
 * none free. The thread must hold no chunk.
 */
static inline uint32_t aon_chunk_take(const struct aon_seg *s, struct aon_thread *t, uint64_t tsc)
{
	_Atomic uint32_t *hint = (_Atomic uint32_t *)&s->head->hint;
	_Atomic uint32_t *used = (_Atomic uint32_t *)&s->head->used;
	uint32_t i = atomic_load_explicit(hint, memory_order_relaxed);
	struct aon_chunk_head *c;

	if (atomic_load_explicit(used, memory_order_relaxed) >= s->chunk_count)
		return 0;
	for (uint32_t tries = s->chunk_count;; i++) {
		if (i >= s->chunk_count)
			i = 0;
		if (aon_chunk_claim(s, i))
			break;
		if (--tries == 0)
			return 0;
	}
	atomic_store_explicit(hint, i + 1, memory_order_relaxed);
	c = (struct aon_chunk_head *)(void *)(s->chunks + (size_t)i * s->chunk_bytes);
	/* aond may be listing chunks: it sees the old owner's or ours, and looks again later. */
	__atomic_store_n(&c->tid, t->tid, __ATOMIC_RELAXED);
	__atomic_store_n(&c->seq, t->seq++, __ATOMIC_RELAXED);
	c->tsc_hi = (uint32_t)(tsc >> 32);
	t->tsc_hi = c->tsc_hi;
	t->n = (_Atomic uint32_t *)&c->n;
	t->count = 0;
	t->state = &s->state[i];
	t->end = (union aon_rec *)(void *)((uint8_t *)c + s->chunk_bytes);
	t->p = (union aon_rec *)(void *)(c + 1);
	return atomic_fetch_add_explicit(used, 1, memory_order_relaxed) + 1;
}
