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
#define LEVEL_MAX 54u /* at this level one tile covers all of time */

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

/* Called with the pieces, in order, without overlaps. */
struct fill;
typedef void fill_fn(struct fill *f, uint8_t class, uint32_t name, uint64_t from, uint64_t to);

struct fill {
	fill_fn *fn;
	struct running *run; /* owned: a stack, with the earliest end on top */
	size_t n, cap;
	uint64_t at_ns; /* everything before this was passed on */
};

/* The part before at_ns is cut off. 0 or -ENOMEM. */
int fill_add(struct fill *f, uint64_t start, uint64_t end, uint32_t name, uint8_t class);
void fill_until(struct fill *f, uint64_t ns);
void fill_fini(struct fill *f);

struct levels {
	/* must be first: its callback casts to this struct */
	struct fill fill;
	struct tile_level at[LEVEL_MAX / 2 + 1]; /* indexed by L / 2 */
	uint8_t base;
	bool counter;
	struct cell *cell;      /* owned: the tile that is being filled; NULL: none */
	uint64_t tile;          /* index of that tile */
	uint64_t starts, cells; /* sums over all sealed base tiles */
	uint64_t cell_at;       /* the last base cell that was counted, + 1 */
	struct cell *now;       /* borrowed: the last filled cell; NULL: none */
	uint64_t now_from, now_to;
	size_t *bytes; /* borrowed: memory of all tracks, and its limit */
	size_t bytes_max;
	int err; /* error of the first failed allocation */
};

void levels_init(struct levels *l, bool counter, size_t *bytes, size_t bytes_max);
void levels_fini(struct levels *l);

/* Adds an event; `name` is its name + 1. Call it in order of start. */
int levels_add(struct levels *l, uint64_t start, uint64_t end, uint32_t name, uint8_t class);
int levels_sample(struct levels *l, uint64_t at, double value);

/* Call it when no more events are there for now. */
int levels_seal(struct levels *l);

/*
 * Drops everything from `ns` on and a bit before that. Returns from where: events that end later
 * must be added again.
 */
uint64_t levels_cut_at(const struct levels *l, uint64_t ns);
int levels_cut(struct levels *l, uint64_t ns);

/*
 * Cells of a tile at L >= base, after a seal. 1, or 0 if all are empty (*c is untouched). `keep`:
 * the tile will not change. `scratch`: LEVELS_SCRATCH cells.
 */
#define LEVELS_SCRATCH ((LEVEL_MAX / 2 + 1) * TILE_CELLS)
int levels_get(struct levels *l, uint8_t L, uint64_t index, bool keep, struct cell *c,
	       struct cell *scratch);
