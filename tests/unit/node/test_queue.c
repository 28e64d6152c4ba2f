/* SPDX-License-Identifier: Apache-2.0 */
/* The queue between the threads: its order, its budget, and what it refuses first. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "daemon/stream/queue.h"
#include "t.h"

static struct item *sized(uint32_t bytes)
{
	struct item *it = item_new(ITEM_COMMIT, 0);

	it->bytes = bytes;
	return it;
}

static void drop_all(struct queue *q)
{
	struct item *it = queue_take(q, 1), *next;

	for (; it; it = next) {
		next = it->next;
		queue_done(q, it);
	}
}

/* With `held` of 400 bytes queued: is one of `bytes` taken? */
static const struct {
	const char *name;
	uint32_t held, bytes;
	enum queue_share share;
	int want;
} cases[] = {
	/* clang-format off */
	{ "events have three quarters",               0, 300, QUEUE_EVENTS, 0        },
	{ "and no more",                              0, 301, QUEUE_EVENTS, -ENOBUFS },
	{ "the rest has all",                         0, 400, QUEUE_REST,   0        },
	{ "and no more",                              0, 401, QUEUE_REST,   -ENOBUFS },
	{ "when events are refused",                300,   1, QUEUE_EVENTS, -ENOBUFS },
	{ "the rest is still taken",                300, 100, QUEUE_REST,   0        },
	{ "until that is full, too",                400,   1, QUEUE_REST,   -ENOBUFS },
	{ "over the budget by what must be pushed", 900,   1, QUEUE_REST,   -ENOBUFS },
	/* clang-format on */
};

static void test_budget(void)
{
	for (size_t i = 0; i < T_LEN(cases); i++) {
		struct item *it = sized(cases[i].bytes);
		struct queue q;
		int err;

		queue_init(&q, 400);
		if (cases[i].held)
			queue_push(&q, sized(cases[i].held));
		err = queue_offer(&q, it, cases[i].share);
		T_OK(err == cases[i].want, "%s", cases[i].name);
		if (err)
			free(it);
		drop_all(&q);
		T_OK(atomic_load(&q.bytes) == 0, "what is done costs nothing");
		queue_fini(&q);
	}
}

/* A budget counts what the writer holds, not only what waits. */
static void test_in_hand(void)
{
	struct item *taken, *it = sized(10);
	struct queue q;

	queue_init(&q, 400);
	queue_push(&q, sized(400));
	taken = queue_take(&q, 0);
	T_OK(queue_offer(&q, it, QUEUE_REST) == -ENOBUFS, "what the writer holds is counted");
	queue_done(&q, taken);
	T_OK(queue_offer(&q, it, QUEUE_REST) == 0, "until it is done");
	queue_fini(&q);
}

static void test_timeout(void)
{
	struct queue q;

	queue_init(&q, 400);
	T_OK(queue_take(&q, 1) == NULL, "a moment that has passed is not waited for");
	queue_fini(&q);
}

static void test_window(void)
{
	uint32_t a[2] = { 1, 2 }, b[3] = { 3, 4, 5 };
	struct rollup row[3] = { { .name = 7, .sketch = { a, 10, 2, 3 } },
				 { .name = 8 },
				 { .name = 9, .sketch = { b, 20, 3, 12 } } };
	struct window w = { .process = 4, .rows = 3, .start_ns = 5, .row = row };
	struct item *it = item_window(&w);

	memset(a, 0, sizeof(a));
	memset(b, 0, sizeof(b));
	T_OK(it && it->window.process == 4 && it->window.row[2].name == 9 &&
		     it->window.row[0].sketch.cell[1] == 2 &&
		     it->window.row[2].sketch.cell[2] == 5 && !it->window.row[1].sketch.span,
	     "a window is copied with its cells");
	T_OK(it && it->bytes >= 3 * sizeof(row[0]) + 5 * sizeof(a[0]), "and costs what it takes");
	free(it);
}

/* --- two threads --- */

#define ITEMS 200000u

static void *producer(void *arg)
{
	struct queue *q = arg;

	for (uint32_t i = 1; i <= ITEMS; i++) {
		struct item *it = sized(16);

		it->seq = i;
		while (queue_offer(q, it, QUEUE_REST) < 0)
			sched_yield();
	}
	return NULL;
}

static void test_threads(void)
{
	uint64_t next = 1;
	pthread_t t;
	struct queue q;

	queue_init(&q, 16 * 64);
	pthread_create(&t, NULL, producer, &q);
	while (next <= ITEMS) {
		struct item *it = queue_take(&q, 0), *after;

		for (; it; it = after) {
			after = it->next;
			if (it->seq != next)
				break;
			next++;
			queue_done(&q, it);
		}
		if (it)
			break;
	}
	pthread_join(t, NULL);
	T_OK(next == ITEMS + 1, "everything comes once and in order");
	T_OK(atomic_load(&q.bytes) == 0, "and the budget is whole again");
	queue_fini(&q);
}

int main(void)
{
	test_budget();
	test_in_hand();
	test_timeout();
	test_window();
	test_threads();
	return t_done();
}
