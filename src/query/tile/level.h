/* SPDX-License-Identifier: Apache-2.0 */
/*
 * level.h - one track's tiles at every level of detail.
 *
 * Events come in order of their start and fill the cells of the base level; higher levels are
 * computed on demand from the level below, and kept. The base level is the finest that has eight
 * events in a used cell: it begins fine and is coarsened while the track fills, so that a burst in
 * a quiet hour costs no more than the burst.
 *
 * An instant at which several events run belongs to the one that began last: for ranges, the
 * innermost.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tile/cell.h"

#define LEVEL_MIN 8u
#define LEVEL_MAX 54u /* one tile is all the time there is */

struct level_slot {
	uint64_t index;
	uint8_t *bytes; /* owned; cells_pack() */
	uint32_t len;
	uint32_t starts, cells;
};

struct tile_level {
	struct level_slot *slot; /* owned, by index */
	size_t n;
};

struct running {
	uint64_t end_ns;
	uint32_t name;
	uint8_t class;
};

/* Receives the pieces, in order; they do not overlap. */
struct fill;
typedef void fill_fn(struct fill *f, uint8_t class, uint32_t name, uint64_t from, uint64_t to);

struct fill {
	fill_fn *fn;
	struct running *run; /* owned: ends fall towards its top */
	size_t n, cap;
	uint64_t at_ns; /* everything before it was handed on */
};

/* What begins before at_ns is cut. 0 or -ENOMEM. */
int fill_add(struct fill *f, uint64_t start, uint64_t end, uint32_t name, uint8_t class);
void fill_until(struct fill *f, uint64_t ns);
void fill_fini(struct fill *f);

struct levels {
	struct fill fill;                        /* first, so that its function finds the rest */
	struct tile_level at[LEVEL_MAX / 2 + 1]; /* by L / 2 */
	uint8_t base;
	bool counter;
	struct cell *cell;      /* owned: of the tile that is being filled; NULL: none is */
	uint64_t tile;          /* its index */
	uint64_t starts, cells; /* in all base tiles that are sealed */
	uint64_t cell_at;       /* last base cell that was counted, + 1 */
	struct cell *now;       /* borrowed: the cell that was filled last; NULL: none */
	uint64_t now_from, now_to;
	size_t *bytes; /* borrowed: the memory of all tracks, and its limit */
	size_t bytes_max;
	int err; /* of the first allocation that failed */
};

void levels_init(struct levels *l, bool counter, size_t *bytes, size_t bytes_max);
void levels_fini(struct levels *l);

/* An event; name is + 1. In order of start. */
int levels_add(struct levels *l, uint64_t start, uint64_t end, uint32_t name, uint8_t class);
int levels_sample(struct levels *l, uint64_t at, double value);

/* All events were added, for now. */
int levels_seal(struct levels *l);

/* Drops all from `ns` on and some before, and returns how far back: events that end after that must
 * be added again. */
uint64_t levels_cut_at(const struct levels *l, uint64_t ns);
int levels_cut(struct levels *l, uint64_t ns);

/*
 * The cells of a tile at L >= base, sealed. 1, or 0: all are empty, then *c is not touched.
 * `keep`: that tile will not change. `scratch`: LEVELS_SCRATCH cells.
 */
#define LEVELS_SCRATCH ((LEVEL_MAX / 2 + 1) * TILE_CELLS)
int levels_get(struct levels *l, uint8_t L, uint64_t index, bool keep, struct cell *c,
	       struct cell *scratch);
