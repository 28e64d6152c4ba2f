/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sketch.h - a mergeable histogram with a bound on the relative error of every quantile.
 *
 * Log-linear: SKETCH_SUB cells per octave, so a cell is 1/64 wide relative to its lower edge
 * and its middle is within 1/128 (0.79 %) of any value in it. Values below 64 are exact.
 * Only the span of cells that was touched is held; two sketches merge by adding cells.
 */
#pragma once

#include <stdint.h>

#define SKETCH_SUB_BITS 6u
#define SKETCH_SUB      (1u << SKETCH_SUB_BITS)
#define SKETCH_CELLS    (SKETCH_SUB * (64u - SKETCH_SUB_BITS + 1u)) /* any u64 has a cell */

struct sketch {
	uint32_t *cell; /* owned: `span` counts from cell index `base` on; NULL: empty */
	uint32_t base;
	uint32_t span;
	uint64_t count;
};

static inline uint32_t sketch_index(uint64_t v)
{
	uint32_t top;

	if (v < SKETCH_SUB)
		return (uint32_t)v;
	top = 63u - (uint32_t)__builtin_clzll(v);
	return ((top - SKETCH_SUB_BITS + 1u) << SKETCH_SUB_BITS) |
	       ((uint32_t)(v >> (top - SKETCH_SUB_BITS)) & (SKETCH_SUB - 1u));
}

/* The value that stands for a cell: its middle. */
uint64_t sketch_value(uint32_t index);

void sketch_fini(struct sketch *s);
int sketch_add(struct sketch *s, uint64_t v, uint32_t weight); /* 0 or -ENOMEM */
int sketch_add_cell(struct sketch *s, uint32_t index, uint32_t weight);
int sketch_merge(struct sketch *into, const struct sketch *from);

/* The value below which a share q (0..1) of the weight lies; 0 if empty. */
uint64_t sketch_quantile(const struct sketch *s, double q);
