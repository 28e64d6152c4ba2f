/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h - the source of a timeline's events: a store; in tests also a trace.
 *
 * Both deliver blocks of up to FEED_BLOCK events, with the first start and the last end of each,
 * one block at a time. An event's id is that of aon sql: its block's and its place in the block.
 * Ids of names, tracks and processes are the source's own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/columns.h"
#include "model/event.h"
#include "model/process.h"

#define FEED_BLOCK 10000u
#define FEED_SHIFT 14u        /* id of an event: block << FEED_SHIFT | index */
#define FEED_IDS   (1u << 24) /* ids of names, tracks and processes are below this */

struct store;

struct feed_block {
	uint64_t id;
	uint64_t t0_ns, t1_ns;
	uint32_t process, events;
};

struct feed_process {
	uint32_t id; /* 0: unused */
	uint32_t pid;
	int32_t rank; /* TRACE_NO_RANK: none */
	char comm[16];
};

struct feed_track {
	bool known;
	uint32_t process; /* index into feed.process[] */
	uint32_t device;  /* the node's number, or TRACK_HOST */
	uint64_t stream;  /* for a thread: its id */
	uint32_t name;
};

struct feed {
	struct feed_block *block;     /* owned; refresh() appends */
	struct feed_process *process; /* owned */
	struct feed_track *track;     /* owned, by the source's id */
	size_t blocks, processes, tracks;
	size_t cap_block, cap_process, cap_track;
	uint64_t lost; /* lost records of its processes */
	bool imported; /* `a` and `b` of a range mean what model/trace.h says */

	/* Adds new blocks, names, tracks and processes. */
	int (*refresh)(struct feed *f);
	/*
	 * The events of a block: start, duration, a, name, corr, track, kind, flags. Valid until
	 * the next get(); with `keep`, for a few more calls, and cheap to get again. -ENOENT:
	 * evicted.
	 */
	int (*get)(struct feed *f, const struct feed_block *b, bool keep,
		   struct event_columns *out);
	/* One complete event. -ENOENT: it does not exist, or was evicted. */
	int (*event)(struct feed *f, const struct feed_block *b, uint32_t place, struct event *out);
	const char *(*text)(struct feed *f, uint32_t name); /* "?": not known */
	int (*geo)(struct feed *f, uint32_t id, struct geo *out);
	void (*free)(struct feed *f);
};

/* `process`: ids of the requested processes; n 0: all. The store is borrowed. */
int feed_store(struct feed **out, struct store *st, const uint32_t *process, size_t n);

/* --- for implementations --- */
int feed_add_block(struct feed *f, const struct feed_block *b);
struct feed_process *feed_add_process(struct feed *f); /* NULL: no memory */
int feed_set_track(struct feed *f, uint32_t id, const struct feed_track *l);
void feed_fini(struct feed *f);
