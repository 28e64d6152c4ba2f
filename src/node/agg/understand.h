/* SPDX-License-Identifier: Apache-2.0 */
/*
 * understand.h - records in, events out. One per session, used by the drain thread.
 *
 * It trusts nothing: kind, length, name and track of a record are checked; a failure is counted by
 * reason in lost[]. It pairs pushes with pops, starts with ends, step begins with step ends. Memory
 * is bounded: open ranges per track, tracks and started ranges per session.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/segment.h"
#include "agg/clock.h"
#include "model/event.h"
#include "model/process.h"

struct understand_text {
	uint64_t ns;   /* when it was sent */
	uint32_t tid;  /* by which thread */
	uint32_t type; /* enum aon_text, or one that is not known */
	uint32_t off, len, total;
	const void *bytes;
};

/* What the session's heap holds, asked for once an id (then cached). Each returns the store's
 * id, or 0 when the heap has no such entry. */
struct understand_ops {
	uint32_t (*name)(void *arg, uint32_t heap_id);
	uint32_t (*geo)(void *arg, uint32_t heap_id);
	uint32_t (*track)(void *arg, uint32_t heap_track); /* a stream: 16-bit track id */
	uint32_t (*thread)(void *arg, uint32_t tid);       /* the host track of a thread */
	/* A piece of a long text; NULL: nobody reads them. It is checked to lie in the text. */
	void (*text)(void *arg, const struct understand_text *piece);
};

/* What a heap entry says, as the model has it. */
static inline struct geo understand_geo(const struct aon_geo *g)
{
	return (struct geo){ .grid = { g->grid[0], g->grid[1], g->grid[2] },
			     .block = { g->block[0], g->block[1], g->block[2] },
			     .regs = g->regs,
			     .smem_static = g->smem_static,
			     .smem_dynamic = g->smem_dynamic };
}

struct understand;

int understand_new(struct understand **out, const struct understand_ops *ops, void *arg,
		   uint32_t heap_bytes);
void understand_free(struct understand *u);

/*
 * Understand `units` units at `rec`: a private copy of what thread `tid` committed.
 * Writes at most `units` events to `out`. Returns how many. *records gets the number of
 * records seen; lost[] grows by those that gave no event now or later. A record that opens a
 * range gives an event only when it closes; understand_open() counts these. At every moment
 *	sum of *records = sum of event_records() + sum of lost[] + understand_open()
 * A record whose length is 0 or beyond the run is the run's last, whatever follows it.
 */
size_t understand_records(struct understand *u, const struct clock_map *clk, uint32_t tid,
			  uint32_t tsc_hi, const union aon_rec *rec, size_t units,
			  struct event *out, uint64_t *records, uint64_t lost[AON_LOSS_MAX]);

/* Records whose range or step is still open: in flight. */
uint64_t understand_open(const struct understand *u);

/* Whether a range is open whose name (the store's id) `is` accepts. */
bool understand_any_open(const struct understand *u, bool (*is)(void *arg, uint32_t name),
			 void *arg);

/* The session ends: every open range becomes an event with EVENT_OPEN, running to end_ns.
 * Call until it returns 0. */
size_t understand_close(struct understand *u, uint64_t end_ns, struct event *out, size_t max,
			uint64_t lost[AON_LOSS_MAX]);
