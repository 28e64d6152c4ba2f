/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stretch.h - analyses a whole store in little memory: it reads one stretch of time after the
 * other, each event once, and adds up (insight/stretch.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct insight;
struct store;
struct store_filter;
struct trace;

#define STRETCH_EVENTS \
	250000u /* events in memory at a time, about: 48 bytes each, twice while they are sorted */

/* Called after each stretch, while its events are in memory; a negative result ends the walk. */
typedef int stretch_fn(void *arg, struct insight *in);

struct stretch_opts {
	const struct store_filter *part; /* NULL: the whole */
	size_t events;                   /* events of a stretch, about; 0: STRETCH_EVENTS */
	uint64_t until_ns;               /* CLOCK_MONOTONIC; 0: no limit */
	stretch_fn *each;                /* NULL: nobody looks */
	void *arg;
};

/*
 * Fills *t with everything except events, and *out with their analysis (insight.parted is set).
 * -ETIMEDOUT, -ENOMEM, or an error of the store.
 */
int read_stretches(struct trace *t, struct store *st, const char *path,
		   const struct stretch_opts *o, struct insight **out);
