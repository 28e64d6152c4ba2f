/* SPDX-License-Identifier: Apache-2.0 */
/* window.h - for a store that is too large to load: the newest steps that fit. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct store;
struct store_filter;
struct trace;

/*
 * Runs up to this many events are loaded completely. Of larger runs this many are loaded where the
 * newest steps are enough.
 */
#define WINDOW_WHOLE 600000u
#define WINDOW_PART  300000u

/*
 * Loads the events of a part of a store, sealed, with names as stored. -EFBIG: more than `most`;
 * -ETIMEDOUT: not done at `until_ns` (CLOCK_MONOTONIC; 0: no limit).
 */
int read_part(struct trace **out, struct store *st, const char *path,
	      const struct store_filter *part, size_t most, uint64_t until_ns);

/*
 * The same for the newest `most` events, cut at the borders of steps. `events`: about how many the
 * part has. *part, whose times must be set, becomes the range that was loaded.
 */
int read_window(struct trace **out, struct store *st, const char *path, struct store_filter *part,
		double events, size_t most, uint64_t until_ns);
