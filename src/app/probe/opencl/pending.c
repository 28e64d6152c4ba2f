/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending.c - the commands of a queue that are not known to be complete.
 *
 *	every thread: cell of the box, by one addition -> fill it -> its event, last
 *	one thread at a time (`harvesting`): box -> list -> asked, released
 *
 * No thread waits. A cell is taken once until the box is empty again. Only the harvesting thread
 * empties it, by resetting the count to 0 when all taken cells have been collected. The list belongs
 * to that thread: it grows with how far the app runs ahead of the device, and the box stays small.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "probe/opencl/layer.h"

static void *map(size_t bytes)
{
	int saved = errno;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	errno = saved;
	return p == MAP_FAILED ? NULL : p;
}

bool pending_make(struct cl_queue *q)
{
	if (!q->box)
		q->box = map(BOX * sizeof(*q->box));
	return q->box != NULL;
}

/* --- who harvests --- */

/* Room for one more; the list begins anew at its front, or grows. */
static bool make_room(struct cl_queue *q)
{
	uint32_t room = q->room ? q->room * 2 : PENDING_MIN;
	struct pending *wider;

	if (q->tail < q->room)
		return true;
	if (q->head >= q->room / 2 && q->head) {
		memmove(q->list, q->list + q->head, (q->tail - q->head) * sizeof(*q->list));
		q->tail -= q->head;
		q->head = 0;
		return true;
	}
	wider = room <= PENDING_MAX ? map(room * sizeof(*wider)) : NULL;
	if (!wider)
		return false;
	q->tail -= q->head;
	if (q->list) {
		memcpy(wider, q->list + q->head, q->tail * sizeof(*wider));
		munmap(q->list, q->room * sizeof(*q->list));
	}
	q->head = 0;
	q->list = wider;
	q->room = room;
	return true;
}

/* All `n` that were taken are collected: from the first cell again, unless one was taken since. */
static bool box_empty(struct cl_queue *q, uint32_t n)
{
	if (q->collected < (n < BOX ? n : BOX) ||
	    !atomic_compare_exchange_strong_explicit(&q->taken, &n, 0, memory_order_release,
						     memory_order_relaxed))
		return false;
	q->collected = 0;
	return true;
}

void pending_collect(struct cl_queue *q)
{
	uint32_t n = atomic_load_explicit(&q->taken, memory_order_relaxed);

	for (; q->collected < n && q->collected < BOX; q->collected++) {
		struct pending *cell = &q->box[q->collected];
		/* Pairs with the release in pending_put(). */
		cl_event e = atomic_load_explicit(&cell->event, memory_order_acquire);

		if (!e || !make_room(q))
			break; /* not filled yet: it and those behind it are for the next time */
		q->list[q->tail++] = *cell;
		atomic_store_explicit(&cell->event, NULL, memory_order_relaxed);
	}
	if (n)
		box_empty(q, n);
	atomic_store_explicit(&q->held, q->tail - q->head, memory_order_relaxed);
}

void pending_drop(struct cl_queue *q, uint32_t skip, uint32_t n, uint64_t done)
{
	uint32_t kept = 0, at = q->head + skip + n;

	for (uint32_t i = n; i-- > 0;) /* what stays moves up to the rest */
		if (!(done >> i & 1) && at - ++kept != q->head + skip + i)
			q->list[at - kept] = q->list[q->head + skip + i];
	if (skip && n > kept)
		memmove(q->list + q->head + n - kept, q->list + q->head, skip * sizeof(*q->list));
	q->head += n - kept;
	if (q->head == q->tail)
		q->head = q->tail = 0;
	atomic_store_explicit(&q->held, q->tail - q->head, memory_order_relaxed);
}

uint32_t pending_left(const struct cl_queue *q)
{
	uint32_t n = atomic_load_explicit(&q->taken, memory_order_relaxed);

	return q->tail - q->head + (n < BOX ? n : BOX) - q->collected;
}

uint32_t pending_holds(struct cl_queue *q, cl_event event)
{
	uint32_t n = 0, end = atomic_load_explicit(&q->taken, memory_order_relaxed);

	for (uint32_t i = q->collected; i < end && i < BOX; i++)
		n += atomic_load_explicit(&q->box[i].event, memory_order_relaxed) == event;
	for (uint32_t i = q->head; i < q->tail; i++)
		n += atomic_load_explicit(&q->list[i].event, memory_order_relaxed) == event;
	return n;
}

/* The queue is gone and all its commands are done. The box stays: a late call must not crash. */
void pending_clear(struct cl_queue *q)
{
	int saved = errno;

	if (q->list)
		munmap(q->list, q->room * sizeof(*q->list));
	madvise(q->box, BOX * sizeof(*q->box), MADV_DONTNEED);
	errno = saved;
	q->list = NULL;
	q->head = q->tail = q->room = q->collected = 0;
	atomic_store_explicit(&q->taken, 0, memory_order_relaxed);
	atomic_store_explicit(&q->held, 0, memory_order_relaxed);
}
