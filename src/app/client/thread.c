/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.c - a thread's end of the pool: where it lives, how a thread gets and returns one.
 *
 * Slabs of 64-byte ends, recycled through a stack of free indexes with a tag against ABA.
 * fork() wipes everything: the child's threads start with empty tables, and the child recognizes
 * itself by the word `mark`, which reads 0 there.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/client.h"

#define SLAB_ENDS  1024u
#define SLABS_MAX  64u
#define MARK_OURS  1u
#define MARK_RESET 2u
#define SWEEP      64u
#define KEYS_FREE  32u /* of a larger key glibc allocates memory: nothing for a signal handler */

struct root { /* one page, wiped by fork() */
	_Atomic uint32_t mark;
	_Atomic uint32_t fresh; /* ends never used yet */
	_Atomic uint32_t swept; /* where the next sweep begins */
	_Atomic uint64_t free;  /* tag << 32 | index + 1 of the top; low half 0: none */
	_Atomic(struct aon_thread *) slab[SLABS_MAX];
};

static struct root *root;
static pthread_key_t exit_key;
static bool keyless; /* libaon came late, the small keys were gone */

static struct aon_thread *at(uint32_t index)
{
	struct aon_thread *slab =
		atomic_load_explicit(&root->slab[index / SLAB_ENDS], memory_order_acquire);

	return &slab[index % SLAB_ENDS];
}

static void push_free(struct aon_thread *t)
{
	uint64_t top = atomic_load_explicit(&root->free, memory_order_relaxed);

	do {
		/* Atomic: a thread that lost the race for this end may still read it. */
		__atomic_store_n(&t->next, (uint32_t)top, __ATOMIC_RELAXED);
	} while (!atomic_compare_exchange_weak_explicit(
		&root->free, &top, ((top >> 32) + 1) << 32 | (t->index + 1), memory_order_release,
		memory_order_relaxed));
}

static struct aon_thread *pop_free(void)
{
	uint64_t top = atomic_load_explicit(&root->free, memory_order_acquire);

	while ((uint32_t)top) {
		struct aon_thread *t = at((uint32_t)top - 1);
		uint32_t next = __atomic_load_n(&t->next, __ATOMIC_RELAXED);

		if (atomic_compare_exchange_weak_explicit(
			    &root->free, &top, ((top >> 32) + 1) << 32 | next, memory_order_acquire,
			    memory_order_acquire))
			return t;
	}
	return NULL;
}

/* An end that nobody had before; makes its slab if it is the first to need it. */
static struct aon_thread *take_fresh(void)
{
	uint32_t index = atomic_fetch_add_explicit(&root->fresh, 1, memory_order_relaxed);
	struct aon_thread *slab = NULL, *mine;
	uint32_t s = index / SLAB_ENDS;

	if (s >= SLABS_MAX) {
		atomic_store_explicit(&root->fresh, SLABS_MAX * SLAB_ENDS, memory_order_relaxed);
		return NULL;
	}
	if (!atomic_load_explicit(&root->slab[s], memory_order_acquire)) {
		mine = link_private(SLAB_ENDS * sizeof(*mine), true);
		if (!mine)
			return NULL;
		/* Losing the race leaves an untouched mapping behind: no memory, once a slab. */
		atomic_compare_exchange_strong_explicit(&root->slab[s], &slab, mine,
							memory_order_acq_rel, memory_order_acquire);
	}
	mine = at(index);
	mine->index = index;
	return mine;
}

static void thread_exit(void *arg)
{
	struct aon_thread *t = arg;
	int type;

	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type); /* for the rest of the call */
	aon_self = (struct aon_thread *)(uintptr_t)&aon_dead;
	atomic_signal_fence(memory_order_seq_cst);
	if (t->tid == 0) /* of a parent process */
		return;
	aon_chunk_give(t);
	t->tid = 0;
	push_free(t);
}

/*
 * Without a TLS key there is no notice when a thread exits. The ends of threads that are gone are
 * found by asking the kernel, a few at a time. A thread id that was reused is checked again later.
 */
void thread_sweep(void)
{
	uint32_t fresh = atomic_load_explicit(&root->fresh, memory_order_relaxed);
	uint32_t from = atomic_fetch_add_explicit(&root->swept, SWEEP, memory_order_relaxed);
	long pid;

	if (!keyless || client_quiet())
		return;
	pid = syscall(SYS_getpid);
	for (uint32_t i = 0; i < SWEEP && i < fresh; i++) {
		uint32_t index = (from + i) % fresh, tid;
		struct aon_thread *t;

		if (!atomic_load_explicit(&root->slab[index / SLAB_ENDS], memory_order_acquire))
			continue;
		t = at(index);
		tid = __atomic_load_n(&t->tid, __ATOMIC_RELAXED);
		if (tid && syscall(SYS_tgkill, pid, tid, 0) < 0 && errno == ESRCH &&
		    __atomic_compare_exchange_n(&t->tid, &tid, 0, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED)) {
			aon_chunk_give(t);
			push_free(t);
		}
	}
}

bool thread_setup(void)
{
	root = link_private(AON_PAGE, true);
	if (!root || pthread_key_create(&exit_key, thread_exit))
		return false;
	keyless = exit_key >= KEYS_FREE;
	thread_mark();
	return true;
}

bool thread_wiped(void)
{
	return root && atomic_load_explicit(&root->mark, memory_order_acquire) != MARK_OURS;
}

void thread_mark(void)
{
	atomic_store_explicit(&root->mark, MARK_OURS, memory_order_release);
}

/* True for the one caller that is to reset the child's state. */
bool thread_claim_reset(void)
{
	uint32_t zero = 0;

	return atomic_compare_exchange_strong_explicit(&root->mark, &zero, MARK_RESET,
						       memory_order_acq_rel, memory_order_relaxed);
}

/*
 * A signal handler may attach the thread that is attaching: the one that comes second to
 * setting aon_self gives its end back.
 */
bool thread_attach(void)
{
	struct aon_thread *none = (struct aon_thread *)(uintptr_t)&aon_unattached;
	struct aon_thread *t = pop_free();

	if (!t && keyless) {
		thread_sweep();
		t = pop_free();
	}
	if (!t)
		t = take_fresh();
	if (!t)
		return false;
	t->p = t->end = NULL;
	t->state = NULL;
	t->seq = 0;
	t->skip = 0;
	t->tid = (uint32_t)syscall(SYS_gettid);
	atomic_store_explicit(&t->busy, AON_IDLE, memory_order_relaxed);
	if (!__atomic_compare_exchange_n(&aon_self, &none, t, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED)) {
		t->tid = 0;
		push_free(t);
		return true;
	}
	if (!keyless)
		pthread_setspecific(exit_key, t);
	return true;
}
