/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - memory held by torch's caching allocators, read once a step.
 *
 * Torch keeps the numbers in C++ classes whose layout differs between versions; the one stable way
 * is the Python function. The end of a step may be on any thread without Python's lock, so it
 * leaves a request for Python's main thread (Py_AddPendingCall()), which reads them between two of
 * its instructions. Where the main thread is busy elsewhere for good, the next optimizer's hook
 * reads them. Of steps shorter than SPACE_NS only some are read.
 */
#include <stddef.h>

#include <aon/provider.h>

#include "abi/record.h"
#include "base/clock.h"
#include "probe/torch/torch.h"

#define SPACE_NS  2000000u   /* at least, between two questions: it takes some 10 us */
#define ABSENT_NS 100000000u /* while no device is in use */
#define AGAIN     64u        /* of so many, one says also what did not change */
#define DEVICES   16u
#define NO_STREAM UINT64_MAX
#define ON_TRACK  AON_REC_(AON_K_COUNTER, AON_F_TRACK)
#define ON_THREAD AON_REC_(AON_K_COUNTER, 0)

static const char *const memory_name[MEMORIES] = {
#define MEMORY(ID, name) [MEMORY_##ID] = name,
#include "base/memory.tbl.h"
};

static struct {
	void *ask;               /* Python's, for good; NULL: nobody is asked */
	_Atomic uint32_t queued; /* in Python's list */
	_Atomic uint32_t due;    /* a step has ended since the last question */
	_Atomic uint64_t step;   /* that ended; 0: the program numbers its own */
	_Atomic uint64_t next_ns;
} mem;

static struct {
	uint32_t samples;
	int64_t last[MEMORIES];
} device[DEVICES];

static uint32_t name_of(enum memory_of which)
{
	static _Atomic uint32_t id[MEMORIES];
	uint32_t known = atomic_load_explicit(&id[which], memory_order_relaxed);

	if (!known) {
		known = aon_name(memory_name[which]);
		atomic_store_explicit(&id[which], known, memory_order_relaxed);
	}
	return known;
}

void memory_put(uint32_t track, enum memory_of which, int64_t value, uint64_t step)
{
	if (aon_wants(AON_WANT_COUNTER))
		aon_emit_(track ? ON_TRACK : ON_THREAD, name_of(which), track, (uint64_t)value,
			  step);
}

/* With Python's lock. */
static void ask(void)
{
	void *answer;

	if (!mem.ask || !atomic_exchange_explicit(&mem.due, 0, memory_order_relaxed))
		return;
	answer = py.call_with(mem.ask, NULL);
	if (!answer) {
		py.clear();
		mem.ask = NULL;
		return;
	}
	atomic_store_explicit(&mem.next_ns,
			      clock_mono_ns() + (py.is_true(answer) == 1 ? SPACE_NS : ABSENT_NS),
			      memory_order_relaxed);
	py.dec_ref(answer);
}

static int pending(void *unused)
{
	(void)unused;
	atomic_store_explicit(&mem.queued, 0, memory_order_relaxed);
	ask();
	return 0;
}

void memory_step(uint64_t number)
{
	cpu_step(number);
	site_step(number);
	if (!mem.ask || !aon_wants(AON_WANT_COUNTER) ||
	    clock_mono_ns() < atomic_load_explicit(&mem.next_ns, memory_order_relaxed))
		return;
	atomic_store_explicit(&mem.step, number, memory_order_relaxed);
	atomic_store_explicit(&mem.due, 1, memory_order_relaxed);
	if (!atomic_exchange_explicit(&mem.queued, 1, memory_order_relaxed) &&
	    py.add_pending(pending, NULL))
		atomic_store_explicit(&mem.queued, 0, memory_order_relaxed);
}

/* The main thread has not come by for a whole step. */
void memory_hook(void)
{
	if (atomic_load_explicit(&mem.due, memory_order_relaxed))
		ask();
}

void memory_forked(void)
{
	atomic_store_explicit(&mem.queued, 0, memory_order_relaxed);
	atomic_store_explicit(&mem.due, 0, memory_order_relaxed);
	site_forked();
}

AON_API int aon_torch_memory_ask(void *callable);
AON_API void aon_torch_memory(uint32_t index, int64_t allocated, int64_t reserved, int64_t peak,
			      int64_t split, int64_t retries, int64_t ooms);

/* A reference to `callable` becomes ours: it calls aon_torch_memory(), and is true if it did. */
AON_API int aon_torch_memory_ask(void *callable)
{
	if (!python_find(&py))
		return -1;
	mem.ask = callable;
	return 0;
}

AON_API void aon_torch_memory(uint32_t index, int64_t allocated, int64_t reserved, int64_t peak,
			      int64_t split, int64_t retries, int64_t ooms)
{
	const int64_t now[MEMORIES] = {
		[MEMORY_ALLOCATED] = allocated, [MEMORY_RESERVED] = reserved, [MEMORY_PEAK] = peak,
		[MEMORY_SPLIT] = split,         [MEMORY_RETRIES] = retries,   [MEMORY_OOMS] = ooms,
	};
	uint64_t step = atomic_load_explicit(&mem.step, memory_order_relaxed);
	uint32_t track;
	bool all;

	if (index >= DEVICES)
		return;
	track = aon_track(index, 0, NO_STREAM, NULL);
	all = device[index].samples++ % AGAIN == 0;
	for (enum memory_of k = 0; k < MEMORIES && track; k++) {
		if (k == MEMORY_HIGHEST)
			continue; /* not said of a device */
		if (all || k == MEMORY_ALLOCATED || now[k] != device[index].last[k])
			memory_put(track, k, now[k], step);
		device[index].last[k] = now[k];
	}
}
