/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h - the queue from the drain thread to the writer thread: in order, with a limit in bytes.
 *
 * The order matters: a process's account comes after every batch that it counts and before the
 * commit that makes both durable.
 *
 * The drain thread never waits: above the limit queue_offer() refuses. Small items that have a
 * bound of their own (accounts, commits) are always accepted.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/process.h"
#include "model/rollup.h"
#include "model/telemetry.h"
#include "store/blob.h"
#include "store/store.h"

enum item_type {
	ITEM_PROCESS,   /* item_proc(): its row and account */
	ITEM_BLOB,      /* blob of process `id` */
	ITEM_WINDOW,    /* window */
	ITEM_STEPS,     /* steps */
	ITEM_TELEMETRY, /* telemetry; wake: it is whole */
	ITEM_COMMIT,    /* seq, at_ns, wake */
	ITEM_AUDIT,     /* item_tail(): a line of `seq` bytes */
	ITEM_STOP,
};

struct item {
	struct item *next;
	enum item_type type;
	uint32_t id;
	uint32_t bytes; /* what it costs the budget */
	uint64_t at_ns; /* COMMIT: the drain thread's clock */
	uint64_t seq;
	bool wake; /* COMMIT: somebody waits for it */
	union {
		struct blob blob;                 /* owned */
		struct window window;             /* rows and cells lie behind this struct */
		struct store_steps steps;         /* so do its bytes */
		struct telemetry_block telemetry; /* and ticks and changes */
	};
};

/* What may follow an item: a process, or a window's rows and cells. */
#define item_tail(it) ((void *)((it) + 1))
#define item_proc(it) ((struct process *)item_tail(it))

struct item *item_new(enum item_type type, size_t extra); /* NULL: no memory */
struct item *item_process(const struct process *p);
struct item *item_window(const struct window *w);     /* a deep copy */
struct item *item_steps(const struct store_steps *b); /* the same */
/* Owns the blob's data from here on, if it returns not NULL. */
struct item *item_blob(uint32_t process, const struct blob *b);

/* A writer that sleeps is woken for this many bytes, or for a commit: not for each batch. */
#define QUEUE_WAKE_BYTES (512u << 10)

struct queue {
	pthread_mutex_t lock; /* guards head, tail, unsaid; held for a few stores */
	pthread_cond_t some;
	struct item *head, **tail;
	uint64_t unsaid;        /* bytes queued since the writer was last woken */
	_Atomic uint64_t bytes; /* queued, or in the writer's hands */
	_Atomic uint64_t max_bytes;
};

void queue_init(struct queue *q, uint64_t max_bytes);
void queue_fini(struct queue *q);

/* Shares of the budget, in quarters: what may be refused, in the order in which it is. */
enum queue_share { QUEUE_EVENTS = 3, QUEUE_REST = 4 };

/* Owns `it` from here on, unless it returns -ENOBUFS. */
int queue_offer(struct queue *q, struct item *it, enum queue_share share);
void queue_push(struct queue *q, struct item *it);

/* All there is, oldest first; waits until there is something or `until_ns` of CLOCK_MONOTONIC
 * has passed (0: for ever), then NULL. Each is given back with queue_done(). */
struct item *queue_take(struct queue *q, uint64_t until_ns);
void queue_done(struct queue *q, struct item *it);
