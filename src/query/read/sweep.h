/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.h - a store's breakdown directly from its columns, stretch after stretch of time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct insight;
struct store;
struct store_filter;
struct trace;

#define SWEEP_STRETCH 1000000u /* events at a time, about: sixteen bytes each */

/*
 * Fills *t with all but events, and *out as in insight/sweep.h. part NULL: the whole. queues:
 * launches matter, so -EOPNOTSUPP if there are some. -ERANGE, -ENOMEM.
 */
int read_sweep(struct trace *t, struct store *st, const char *path, const struct store_filter *part,
	       bool queues, size_t stretch, struct insight **out);
