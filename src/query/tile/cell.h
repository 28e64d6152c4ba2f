/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cell.h - a tile's 512 cells: for each 2^L ns, how long each class was active, exactly.
 *
 * Every instant belongs to one class at most, so the parts of a cell sum to no more than its width,
 * and four tiles sum to the one above them. A counter's cell reuses the same words: ns[0] is the
 * bits of its min, ns[1] of its max, ns[2] of their sum.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TILE_CELLS   512u
#define TILE_SHIFT   9u
#define TILE_CLASSES 8u

struct cell {
	uint64_t ns[TILE_CLASSES];
	uint64_t longest; /* duration of the longest piece of one event */
	uint32_t name;    /* name of that event, + 1; 0: none */
	uint32_t starts;  /* events that begin in the cell */
};

enum { CELL_MIN, CELL_MAX, CELL_SUM };

/* Whether the cell has any data. */
static inline int cell_used(const struct cell *c)
{
	return c->name != 0 || c->starts != 0;
}

void cell_add(struct cell *to, const struct cell *c);
void cell_sample(struct cell *to, double value); /* of a counter */
void cell_add_samples(struct cell *to, const struct cell *c);

/* Packs TILE_CELLS cells; the caller frees the result. NULL: out of memory. */
uint8_t *cells_pack(const struct cell *c, uint32_t *len);
void cells_unpack(struct cell *c, const uint8_t *bytes, size_t len);
