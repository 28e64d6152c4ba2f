/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.h - a store's breakdown directly from its columns, stretch after stretch of time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct insight;
struct store;
struct store_filter;
struct trace;

#define SWEEP_STRETCH 1000000u /* events at a time, about: 16 bytes each */

/*
 * Fills *t with everything except events, and *out as in insight/sweep.h. part NULL: the whole
 * store. queues: launches are needed; -EOPNOTSUPP if there are any. -ERANGE, -ENOMEM.
 */
int read_sweep(struct trace *t, struct store *st, const char *path, const struct store_filter *part,
	       bool queues, size_t stretch, struct insight **out);
