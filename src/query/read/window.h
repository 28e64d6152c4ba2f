/* SPDX-License-Identifier: Apache-2.0 */
/* window.h - for a store that is too large to load: the newest steps that fit. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct store;
struct store_filter;
struct trace;

/*
 * Runs up to this many events are loaded completely; of larger ones, so many events are loaded
 * where the whole run is not needed.
 */
#define WINDOW_WHOLE 600000u
#define WINDOW_PART  300000u

/*
 * The events of a part of a store, sealed and with names as written, unless they are more than `most`
 * (-EFBIG) or it takes longer than `until_ns` (CLOCK_MONOTONIC; 0: any time): -ETIMEDOUT.
 */
int read_part(struct trace **out, struct store *st, const char *path,
	      const struct store_filter *part, size_t most, uint64_t until_ns);

/* The same of the newest `most`, cut where steps begin and end if there are some. `events`: how many
 * the part has, about. *part becomes what was loaded; its times must be given. */
int read_window(struct trace **out, struct store *st, const char *path, struct store_filter *part,
		double events, size_t most, uint64_t until_ns);
