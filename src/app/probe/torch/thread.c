/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.c - the open ranges of each thread.
 *
 * The states are static: a thread takes a free one at its first event and gives it back when it
 * ends. A page that fork() wipes tells a child from its parent.
 */
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <aon/provider.h>

#include "probe/torch/torch.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define THREADS 256u

static struct torch_thread threads[THREADS];
static __thread __attribute__((tls_model("initial-exec"))) struct torch_thread *self;
static pthread_key_t key;
static _Atomic uint32_t *alive; /* 1 in the process that started us, 0 in its children */

static void begin_thread(struct torch_thread *t)
{
	*t = (struct torch_thread){ .used = 1, .tid = (uint32_t)syscall(SYS_gettid) };
	t->act.size = sizeof(t->act);
	t->act.kind = AON_ACT_OP;
}

static void give_back(void *arg)
{
	struct torch_thread *t = arg;

	self = NULL;
	atomic_store_explicit(&t->used, 0, memory_order_release);
}

bool thread_init(void)
{
	void *page;

	if (alive)
		return true;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || madvise(page, 4096, MADV_WIPEONFORK) < 0 ||
	    pthread_key_create(&key, give_back))
		return false;
	alive = page;
	atomic_store_explicit(alive, 1, memory_order_relaxed);
	return true;
}

bool thread_is_child(void)
{
	return !atomic_load_explicit(alive, memory_order_relaxed);
}

bool thread_forked(void)
{
	uint32_t was = 0;

	if (!thread_is_child() ||
	    !atomic_compare_exchange_strong_explicit(alive, &was, 1, memory_order_relaxed,
						     memory_order_relaxed))
		return false;
	/* One thread came with us; the others' states are free again. */
	for (uint32_t i = 0; i < THREADS; i++)
		atomic_store_explicit(&threads[i].used, &threads[i] == self, memory_order_relaxed);
	if (self)
		begin_thread(self);
	return true;
}

__attribute__((cold, noinline)) static struct torch_thread *take(void)
{
	for (uint32_t i = 0; i < THREADS; i++) {
		uint32_t was = 0;

		if (atomic_load_explicit(&threads[i].used, memory_order_relaxed) ||
		    !atomic_compare_exchange_strong_explicit(
			    &threads[i].used, &was, 1, memory_order_acquire, memory_order_relaxed))
			continue;
		self = &threads[i];
		begin_thread(self);
		pthread_setspecific(key, self);
		return self;
	}
	return NULL;
}

struct torch_thread *thread_self(void)
{
	return __builtin_expect(self != NULL, 1) ? self : take();
}

uint32_t thread_track(struct torch_thread *t)
{
	if (!t->track)
		t->track = aon_track_thread(t->tid);
	return t->track;
}
