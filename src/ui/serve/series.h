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

struct series_graph_span {
	uint64_t from_ns, width_ns; /* CLOCK_MONOTONIC */
	uint32_t n;
};

struct cell_sum {
	double min, max, sum; /* sum: value times ns. Of a mask, `max` holds the bits */
	double ns;            /* time covered by measurements; 0: none */
};

struct series_graph {
	const struct metric *metric; /* NULL: this series was not requested */
	struct cell_sum *cell;       /* owned: span.n cells */
	double value;                /* the latest; NAN: none */
	/* gauge: the value is known up to here; counter: when it last rose */
	uint64_t since_ns;
	uint64_t seen_ns;    /* the last tick at which it had a value */
	uint64_t between_ns; /* counter: shortest time between two rises; 0: not known */
};

/* an interval that reaches into the first cell began at most this long before it */
#define SERIES_BEFORE_NS 240000000000ull

bool metric_is_mask(const struct metric *m);
/* 0 or -ENOMEM. */
int series_graph_new(struct series_graph *c, const struct metric *m,
		     const struct series_graph_span *span);
void series_graph_fini(struct series_graph *c);
/* Blocks are passed in time order; changes `first` to `end` belong to this series. */
void series_graph_block(struct series_graph *c, const struct series_graph_span *span,
			const struct telemetry_block *b, uint32_t first, uint32_t end);
/* Call it after the last block. */
void series_graph_end(struct series_graph *c, const struct series_graph_span *span);
/* Cells that differ from the previous one: [cell, min, mean, max], or [cell] if it has no data. */
void series_graph_json(struct json *j, const char *key, const struct series_graph *c,
		       const struct series_graph_span *span);
