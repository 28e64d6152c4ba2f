/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.h - CUDA graphs as templates: expands launches into their kernels.
 *
 * A probe records some launches of a graph node by node, and all others as one event. From the
 * first this learns how long each node takes; for each of the others it estimates the kernels, for
 * the rollups only: the flight recorder holds nothing but what was recorded. One per session.
 *
 * Memory is bounded: GRAPH_NODES nodes; graphs that were not launched lately make room.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/event.h"

#define GRAPH_NODES  65536u
#define GRAPH_GRAPHS 2048u

struct graphs;

int graphs_new(struct graphs **out);
void graphs_free(struct graphs *g); /* NULL is allowed */

/* `count` executions of dur_ns each, that ended with the launch. */
typedef void graphs_fn(void *arg, const struct event *e, uint32_t count);

/* Learns from the nodes in `ev`; calls fn with the kernels of each launch that is one event. */
void graphs_take(struct graphs *g, const struct event *ev, size_t n, graphs_fn *fn, void *arg);

/* Launches that are one event and whose graph was not known. */
uint64_t graphs_unknown(const struct graphs *g);

/* Is there anything in `e` for graphs_take()? */
static inline int graphs_wants(const struct event *e)
{
	return e->kind == EVENT_GRAPH ||
	       (e->b >> 32 && e->kind >= EVENT_KERNEL && e->kind <= EVENT_MEMSET);
}
