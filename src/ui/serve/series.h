/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series.h - a series of telemetry, reduced to as many cells as the client has pixels: min, mean
 * and max of each.
 *
 * A gauge keeps its values, which hold until they change. A counter gives its rate per second: a
 * rise is spread over the time since the last one, if that is the time between two polls. A mask
 * gives every bit that was set in a cell. A cell without measurements is empty.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "model/telemetry.h"

struct graph_span {
	uint64_t from_ns, width_ns; /* CLOCK_MONOTONIC */
	uint32_t n;
};

struct cell_sum {
	double min, max, sum; /* sum: value times ns; of a mask `max` has its bits */
	double ns;            /* how much of the cell is known; 0: nothing */
};

struct graph {
	const struct metric *metric; /* NULL: not asked for */
	struct cell_sum *cell;       /* owned: span.n */
	double value;                /* the last; NAN: none */
	uint64_t since_ns;           /* a gauge: known up to; a counter: it last rose */
	uint64_t seen_ns;            /* the last tick that it was there at */
	uint64_t between_ns;         /* a counter: least time between two rises; 0: not known */
};

#define SERIES_BEFORE_NS 240000000000ull /* how long before a cell what is in it may have begun */

bool metric_is_mask(const struct metric *m);
/* 0 or -ENOMEM. */
int graph_new(struct graph *c, const struct metric *m, const struct graph_span *span);
void graph_fini(struct graph *c);
/* Blocks come in the order of time; changes `first` to `end` of the block are of this series. */
void graph_block(struct graph *c, const struct graph_span *span, const struct telemetry_block *b,
		 uint32_t first, uint32_t end);
/* After the last block. */
void graph_end(struct graph *c, const struct graph_span *span);
/* Cells that differ from the one before: [cell, least, mean, most], or [cell] where there is nothing. */
void graph_json(struct json *j, const char *key, const struct graph *c,
		const struct graph_span *span);
