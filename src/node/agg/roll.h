/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roll.h - events into windows of one second, per (track, name, kind). One per session.
 *
 * A few windows are open at a time, because threads' chunks arrive one after another. Memory
 * is bounded by rows_max: further names of a window go into a row named "(other)".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/event.h"
#include "model/rollup.h"

struct roll;

struct roll_opts {
	uint32_t process;
	uint32_t rows_max;   /* in one window; cut at 65,503 */
	uint32_t name_other; /* store id of the row that takes the rest */
	bool geos;           /* keep the geometry of kernels */
};

int roll_new(struct roll **out, const struct roll_opts *o);
void roll_free(struct roll *r);

/* Called with each closed window; what it points to is gone when it returns. */
typedef void roll_window_fn(void *arg, const struct window *w);

void roll_add(struct roll *r, const struct event *ev, size_t n, roll_window_fn *fn, void *arg);
/* `count` events that are all like `e`; from a template, not recorded one by one. */
void roll_add_many(struct roll *r, const struct event *e, uint32_t count, roll_window_fn *fn,
		   void *arg);
/* A sample of a thread, in the window in which it was taken. Those of a thread, stack and key are a row. */
struct roll_sample {
	uint64_t start_ns, dur_ns;
	uint32_t track, stack;
	uint32_t key;    /* sample_key() */
	uint32_t holder; /* 0: not known; the row has the last one */
};
void roll_sample(struct roll *r, const struct roll_sample *s, roll_window_fn *fn, void *arg);
/*
 * Of a window that was handed out: rows of samples are moved behind all others, and of these the `max`
 * with most samples stay. The others become a row for each thread and state, `max` at most, with
 * SAMPLE_ROLLED_OTHER as their stack. Returns how many rows are no samples; *other: samples that lost
 * their stack.
 */
uint32_t roll_top(struct window *w, uint32_t max, uint64_t *other);
/* Close windows that ended before `before_ns` (UINT64_MAX: all). */
void roll_close(struct roll *r, uint64_t before_ns, roll_window_fn *fn, void *arg);
