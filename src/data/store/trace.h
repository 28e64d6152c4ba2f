/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h - a store's contents as a trace: one file for all that aon recorded, and one per imported
 * trace.
 *
 * Data that a store has no place for is kept as events, which store_trace() converts back: a
 * collective's details as a MARK before its event, a device's size as COUNTERs on its own track.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct store;
struct store_filter;
struct trace;

#define INTO_COMM   "[comm] "         /* then name, group, dtype, rank, size, bytes in and out */
#define INTO_SMS    "[device] SMs"    /* a: how many */
#define INTO_MEMORY "[device] memory" /* a: bytes */

/*
 * Called with each batch of events; a negative result ends the walk and becomes that of
 * store_trace().
 */
typedef int store_trace_fn(void *arg, const struct trace *t);

/*
 * Adds the whole store to the trace; `path` names the part that aon recorded. fn NULL: not called.
 */
int store_trace(struct trace *t, struct store *st, const char *path, store_trace_fn *go_on,
		void *arg);

/* The same of what passes the filter (all of its kinds). NULL: everything. */
int store_trace_part(struct trace *t, struct store *st, const char *path,
		     const struct store_filter *part, store_trace_fn *go_on, void *arg);

/*
 * The same without its events: they are not kept, but `fn` gets each of them, when all tracks and names
 * are in the trace. A result below 0 ends the walk. Only a few columns are decoded.
 */
struct work;
typedef int store_work_fn(void *arg, const struct work *w);
/* A step, before all work; only for processes with unsampled steps. weight: how many steps it stands
 * for; 0: it is unsampled itself. */
typedef int store_step_fn(void *arg, uint32_t process, uint64_t start_ns, uint64_t dur_ns,
			  uint32_t weight);
/*
 * `part`: NULL, or what starts in its time. `cut`: times in order, at which the recording is cut
 * into stretches: fn gets them in the order of time, and NULL after each stretch.
 */
int store_trace_work(struct trace *t, struct store *st, const char *path,
		     const struct store_filter *part, const uint64_t *cut, size_t cuts,
		     store_work_fn *fn, store_step_fn *step, void *arg);

/*
 * The same stretch by stretch of time (model/trace.h), for insight/stretch.h: all but the events and,
 * of them, the steps are in the trace when it is open; `fn` gets each counter. Names of other
 * stretches may come with any of them. What `go_on` returns below 0 becomes store_feed_add()'s.
 */
struct event;
struct store_feed;
typedef int store_counter_fn(void *arg, const struct event *e);

int store_feed_open(struct store_feed **out, struct trace *t, struct store *st, const char *path,
		    const struct store_filter *part);
int store_feed_counters(struct store_feed *f, store_counter_fn *fn, void *arg);
/* Adds the events of the stretch; the caller cleared the trace. */
int store_feed_add(struct store_feed *f, uint64_t lo_ns, uint64_t hi_ns, store_trace_fn *go_on,
		   void *arg);
void store_feed_close(struct store_feed *f); /* NULL is allowed */
