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
#define FEED_SHIFT 14u        /* id of an event: block << FEED_SHIFT | place */
#define FEED_IDS   (1u << 24) /* no source of ours has a higher id of a name, track or process */

struct store;

struct feed_block {
	uint64_t id;
	uint64_t t0_ns, t1_ns;
	uint32_t process, events;
};

struct feed_process {
	uint32_t id; /* 0: the slot is free */
	uint32_t pid;
	int32_t rank; /* or TRACE_NO_RANK */
	char comm[16];
};

struct feed_track {
	bool known;
	uint32_t process; /* index into feed.process[] */
	uint32_t device;  /* the node's number, or TRACK_HOST */
	uint64_t stream;  /* or the thread's id */
	uint32_t name;
};

struct feed {
	struct feed_block *block;     /* owned; those that refresh() adds stand behind */
	struct feed_process *process; /* owned */
	struct feed_track *track;     /* owned, by the source's id */
	size_t blocks, processes, tracks;
	size_t cap_block, cap_process, cap_track;
	uint64_t lost; /* records of its processes */
	bool imported; /* what is in `a` and `b` of a range is model/trace.h's */

	/* Adds new blocks, names, tracks and processes. */
	int (*refresh)(struct feed *f);
	/* The block's events: start, duration, a, name, corr, track, kind, flags. Good until the next
	 * get(); `keep`: until some further ones, and cheap to ask for again. -ENOENT: gone. */
	int (*get)(struct feed *f, const struct feed_block *b, bool keep,
		   struct event_columns *out);
	/* All of one event. -ENOENT: there is none, or it is gone. */
	int (*event)(struct feed *f, const struct feed_block *b, uint32_t place, struct event *out);
	const char *(*text)(struct feed *f, uint32_t name); /* "?": not known */
	int (*geo)(struct feed *f, uint32_t id, struct geo *out);
	void (*free)(struct feed *f);
};

/* `process`: ids of those that are wanted; n is 0: all. The store is borrowed. */
int feed_store(struct feed **out, struct store *st, const uint32_t *process, size_t n);

/* --- for those that feed --- */
int feed_add_block(struct feed *f, const struct feed_block *b);
struct feed_process *feed_add_process(struct feed *f); /* NULL: no memory */
int feed_set_track(struct feed *f, uint32_t id, const struct feed_track *l);
void feed_fini(struct feed *f);
