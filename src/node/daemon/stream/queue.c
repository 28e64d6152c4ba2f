/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - a list under a lock, and a count of bytes that both ends may read without the lock. */
#include "daemon/stream/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Room for malloc's own bookkeeping, so that the budget is about real memory. */
#define ITEM_OVERHEAD 32u

struct item *item_new(enum item_type type, size_t extra)
{
	struct item *it = calloc(1, sizeof(*it) + extra);

	if (!it)
		return NULL;
	it->type = type;
	it->bytes = (uint32_t)(sizeof(*it) + extra + ITEM_OVERHEAD);
	return it;
}

struct item *item_process(const struct process *p)
{
	struct item *it = item_new(ITEM_PROCESS, sizeof(*p));

	if (!it)
		return NULL;
	it->id = p->id;
	*item_proc(it) = *p;
	return it;
}

struct item *item_window(const struct window *w)
{
	size_t rows = w->rows * sizeof(w->row[0]), cells = 0;
	struct item *it;
	uint32_t *cell;

	for (uint32_t i = 0; i < w->rows; i++)
		cells += w->row[i].sketch.span;
	it = item_new(ITEM_WINDOW, rows + cells * sizeof(*cell));
	if (!it)
		return NULL;
	it->window = *w;
	it->window.row = item_tail(it);
	memcpy(it->window.row, w->row, rows);
	cell = (uint32_t *)(void *)((char *)item_tail(it) + rows);
	for (uint32_t i = 0; i < w->rows; i++) {
		struct sketch *s = &it->window.row[i].sketch;

		if (s->span)
			memcpy(cell, s->cell, s->span * sizeof(*cell));
		s->cell = cell;
		cell += s->span;
	}
	return it;
}

struct item *item_steps(const struct store_steps *b)
{
	struct item *it = item_new(ITEM_STEPS, b->len);

	if (!it)
		return NULL;
	it->steps = *b;
	it->steps.bytes = memcpy(item_tail(it), b->bytes, b->len);
	return it;
}

struct item *item_blob(uint32_t process, const struct blob *b)
{
	struct item *it = item_new(ITEM_BLOB, 0);

	if (!it)
		return NULL;
	it->id = process;
	it->blob = *b;
	it->bytes += b->cap > b->len ? b->cap : b->len;
	return it;
}

static void item_free(struct item *it)
{
	if (it->type == ITEM_BLOB)
		blob_fini(&it->blob);
	free(it);
}

void queue_init(struct queue *q, uint64_t max_bytes)
{
	pthread_condattr_t attr;

	memset(q, 0, sizeof(*q));
	pthread_mutex_init(&q->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&q->some, &attr);
	pthread_condattr_destroy(&attr);
	q->tail = &q->head;
	atomic_store_explicit(&q->max_bytes, max_bytes, memory_order_relaxed);
}

void queue_fini(struct queue *q)
{
	struct item *it;

	while ((it = q->head)) {
		q->head = it->next;
		item_free(it);
	}
	pthread_cond_destroy(&q->some);
	pthread_mutex_destroy(&q->lock);
}

static bool queue_has_room(const struct queue *q, size_t bytes, enum queue_share share)
{
	uint64_t max = atomic_load_explicit(&q->max_bytes, memory_order_relaxed) / 4 * share;

	return atomic_load_explicit(&q->bytes, memory_order_relaxed) + bytes <= max;
}

void queue_push(struct queue *q, struct item *it)
{
	it->next = NULL;
	atomic_fetch_add_explicit(&q->bytes, it->bytes, memory_order_relaxed);
	pthread_mutex_lock(&q->lock);
	*q->tail = it;
	q->tail = &it->next;
	q->unsaid += it->bytes;
	if (it->type >= ITEM_COMMIT || q->unsaid >= QUEUE_WAKE_BYTES) {
		q->unsaid = 0;
		pthread_cond_signal(&q->some);
	}
	pthread_mutex_unlock(&q->lock);
}

int queue_offer(struct queue *q, struct item *it, enum queue_share share)
{
	if (!queue_has_room(q, it->bytes, share))
		return -ENOBUFS;
	queue_push(q, it);
	return 0;
}

struct item *queue_take(struct queue *q, uint64_t until_ns)
{
	struct timespec ts = { .tv_sec = (time_t)(until_ns / 1000000000u),
			       .tv_nsec = (long)(until_ns % 1000000000u) };
	struct item *it;
	int err = 0;

	pthread_mutex_lock(&q->lock);
	while (!q->head && !err)
		err = until_ns ? pthread_cond_timedwait(&q->some, &q->lock, &ts)
			       : pthread_cond_wait(&q->some, &q->lock);
	it = q->head;
	q->head = NULL;
	q->tail = &q->head;
	pthread_mutex_unlock(&q->lock);
	return it;
}

void queue_done(struct queue *q, struct item *it)
{
	atomic_fetch_sub_explicit(&q->bytes, it->bytes, memory_order_relaxed);
	item_free(it);
}
