/* SPDX-License-Identifier: Apache-2.0 */
/* level.c - fills, coarsens, cuts and derives the tiles of a track. */
#include "tile/level.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/vec.h"

#define CELLS_FREE   4096u /* up to this many cells a track is never made coarser */
#define CELLS_EVENTS 8u    /* minimum events per used cell */

static uint64_t shift_right(uint64_t v, unsigned by)
{
	return by < 64 ? v >> by : 0;
}

static struct tile_level *base_of(struct levels *l)
{
	return &l->at[l->base / 2];
}

/* The first slot whose index, shifted right by `by`, is not below `index`. */
static size_t find(const struct tile_level *lv, uint64_t index, unsigned by)
{
	return first_where(i, 0, lv->n, shift_right(lv->slot[i].index, by) >= index);
}

static void level_cut(struct levels *l, struct tile_level *lv, size_t n)
{
	while (lv->n > n) {
		struct level_slot *s = &lv->slot[--lv->n];

		*l->bytes -= s->len + sizeof(*s);
		free(s->bytes);
	}
}

/* Stores the packed cells as tile `index` of the level. */
static int put(struct levels *l, struct tile_level *lv, uint64_t index, const struct cell *c)
{
	struct level_slot s = { .index = index };
	size_t at = find(lv, index, 0);

	for (size_t i = 0; i < TILE_CELLS; i++) {
		s.starts += c[i].starts;
		s.cells += cell_used(&c[i]) != 0;
	}
	if (!s.cells)
		return 0;
	if (vec_more(&lv->slot, lv->n, sizeof(*lv->slot)) < 0)
		return -ENOMEM;
	s.bytes = cells_pack(c, &s.len);
	if (!s.bytes)
		return -ENOMEM;
	memmove(&lv->slot[at + 1], &lv->slot[at], (lv->n - at) * sizeof(s));
	lv->slot[at] = s;
	lv->n++;
	*l->bytes += s.len + sizeof(s);
	if (lv == base_of(l)) {
		l->starts += s.starts;
		l->cells += s.cells;
	}
	return 0;
}

static void merge(const struct levels *l, struct cell *to, const struct cell *from,
		  unsigned quarter)
{
	for (size_t i = 0; i < TILE_CELLS; i++) {
		struct cell *c = &to[quarter * (TILE_CELLS / 4) + i / 4];

		if (!cell_used(&from[i]))
			continue;
		if (l->counter)
			cell_add_samples(c, &from[i]);
		else
			cell_add(c, &from[i]);
	}
}

/* --- filling --- */

static int seal_tile(struct levels *l)
{
	int err = l->cell ? put(l, base_of(l), l->tile, l->cell) : 0;

	free(l->cell);
	l->cell = l->now = NULL;
	l->err = l->err ? l->err : err;
	return err;
}

/* The cell of the tile that is being filled. NULL: out of memory. */
static struct cell *cell_of(struct levels *l, uint64_t cell)
{
	if (l->cell && l->tile != cell >> TILE_SHIFT)
		seal_tile(l);
	if (!l->cell) {
		struct tile_level *lv = base_of(l);

		l->cell = calloc(TILE_CELLS, sizeof(*l->cell));
		if (!l->cell) {
			l->err = -ENOMEM;
			return NULL;
		}
		l->tile = cell >> TILE_SHIFT;
		if (lv->n &&
		    /* the tile was stored before a cut, or when the base was finer */
		    lv->slot[lv->n - 1].index == l->tile) {
			cells_unpack(l->cell, lv->slot[lv->n - 1].bytes, lv->slot[lv->n - 1].len);
			l->starts -= lv->slot[lv->n - 1].starts;
			l->cells -= lv->slot[lv->n - 1].cells;
			level_cut(l, lv, lv->n - 1);
		}
	}
	return &l->cell[cell & (TILE_CELLS - 1)];
}

/* Makes the level above the base the new base. */
static int coarsen(struct levels *l)
{
	struct tile_level *old = base_of(l), *lv = old + 1;
	struct cell *c, *sum;
	int err;

	err = seal_tile(l);
	c = malloc(2 * TILE_CELLS * sizeof(*c));
	if (err || !c) {
		free(c);
		return err ? err : -ENOMEM;
	}
	sum = c + TILE_CELLS;
	level_cut(l, lv, 0);
	l->base += 2;
	l->starts = l->cells = l->cell_at = 0;
	for (size_t i = 0; i < old->n && !err;) {
		uint64_t index = old->slot[i].index >> 2;

		memset(sum, 0, TILE_CELLS * sizeof(*sum));
		for (; i < old->n && old->slot[i].index >> 2 == index; i++) {
			cells_unpack(c, old->slot[i].bytes, old->slot[i].len);
			merge(l, sum, c, old->slot[i].index & 3);
		}
		err = put(l, lv, index, sum);
	}
	level_cut(l, old, 0);
	free(old->slot);
	*old = (struct tile_level){ 0 };
	free(c);
	return err;
}

/* Counts base cells in use; makes the track coarser if they hold too few events. */
static void count_cell(struct levels *l, uint64_t cell)
{
	if (l->cell_at == cell + 1)
		return;
	l->cell_at = cell + 1;
	if ((cell & (TILE_CELLS - 1)) != 0 && l->cells <= CELLS_FREE)
		return;
	while (l->base < LEVEL_MAX && l->cells > CELLS_FREE &&
	       (l->cells * CELLS_EVENTS > l->starts || *l->bytes > l->bytes_max) && !l->err)
		l->err = coarsen(l);
}

/* The cell at a time, counted and ready; NULL: out of memory. Usually the same as last time. */
static inline struct cell *cell_at(struct levels *l, uint64_t ns)
{
	uint64_t cell;

	if (l->now && ns >= l->now_from && ns < l->now_to)
		return l->now;
	count_cell(l, ns >> l->base);
	cell = ns >> l->base;
	l->now = cell_of(l, cell);
	l->now_from = cell << l->base;
	l->now_to = (cell + 1) << l->base;
	l->now_to = l->now_to ? l->now_to : UINT64_MAX;
	return l->now;
}

static void on_piece(struct fill *f, uint8_t class, uint32_t name, uint64_t from, uint64_t to)
{
	struct levels *l = (struct levels *)f;

	while (from < to && !l->err) {
		struct cell *c = cell_at(l, from);
		uint64_t end = l->now_to < to ? l->now_to : to;

		if (!c)
			return;
		c->ns[class] += end - from;
		if (!c->name || end - from > c->longest) {
			c->longest = end - from;
			c->name = name;
		}
		from = end;
	}
}

int levels_add(struct levels *l, uint64_t start, uint64_t end, uint32_t name, uint8_t class)
{
	uint64_t cut = l->fill.at_ns;
	struct cell *c;
	int err;

	fill_until(&l->fill, start);
	if (start >= cut) { /* otherwise it was counted before the cut */
		c = cell_at(l, start);
		if (c)
			c->starts++;
		if (c && !c->name)
			c->name = name;
	}
	err = fill_add(&l->fill, start, end, name, class);
	return l->err ? l->err : err;
}

int levels_sample(struct levels *l, uint64_t at, double value)
{
	struct cell *c;

	if (at < l->fill.at_ns)
		return 0;
	l->fill.at_ns = at;
	c = cell_at(l, at);
	if (c)
		cell_sample(c, value);
	return l->err;
}

int levels_seal(struct levels *l)
{
	fill_until(&l->fill, UINT64_MAX);
	seal_tile(l);
	return l->err;
}

void levels_init(struct levels *l, bool counter, size_t *bytes, size_t bytes_max)
{
	memset(l, 0, sizeof(*l));
	l->fill.fn = on_piece;
	l->base = LEVEL_MIN;
	l->counter = counter;
	l->bytes = bytes;
	l->bytes_max = bytes_max;
}

void levels_fini(struct levels *l)
{
	for (size_t i = 0; i <= LEVEL_MAX / 2; i++) {
		level_cut(l, &l->at[i], 0);
		free(l->at[i].slot);
	}
	free(l->cell);
	fill_fini(&l->fill);
}

/* --- cutting --- */

uint64_t levels_cut_at(const struct levels *l, uint64_t ns)
{
	return ns >> l->base << l->base;
}

int levels_cut(struct levels *l, uint64_t ns)
{
	uint64_t cell = ns >> l->base, tile = cell >> TILE_SHIFT;
	struct tile_level *lv = base_of(l);

	ns = levels_cut_at(l, ns);
	l->fill.n = 0;
	l->fill.at_ns = ns;
	l->cell_at = 0;
	l->now = NULL;
	for (unsigned L = l->base + 2; L <= LEVEL_MAX; L += 2)
		level_cut(l, &l->at[L / 2], find(&l->at[L / 2], tile >> (L - l->base), 0));
	level_cut(l, lv, find(lv, tile + 1, 0));
	l->starts = l->cells = 0;
	for (size_t i = 0; i < lv->n; i++) {
		l->starts += lv->slot[i].starts;
		l->cells += lv->slot[i].cells;
	}
	if (!lv->n || lv->slot[lv->n - 1].index != tile || !cell_of(l, cell))
		return l->err;
	memset(&l->cell[cell & (TILE_CELLS - 1)], 0,
	       (TILE_CELLS - (cell & (TILE_CELLS - 1))) * sizeof(*l->cell));
	return l->err;
}

/* --- reading --- */

int levels_get(struct levels *l, uint8_t L, uint64_t index, bool keep, struct cell *c,
	       struct cell *scratch)
{
	unsigned up = L - l->base;
	struct tile_level *lv = &l->at[L / 2];
	size_t at = find(base_of(l), index, up);
	int some = 0;

	if (at == base_of(l)->n || shift_right(base_of(l)->slot[at].index, up) != index)
		return 0;
	at = find(lv, index, 0);
	if (at < lv->n && lv->slot[at].index == index) {
		cells_unpack(c, lv->slot[at].bytes, lv->slot[at].len);
		return 1;
	}
	memset(c, 0, TILE_CELLS * sizeof(*c));
	for (unsigned q = 0; q < 4; q++) {
		int got = levels_get(l, (uint8_t)(L - 2), index << 2 | q, keep, scratch,
				     scratch + TILE_CELLS);

		if (got > 0)
			merge(l, c, scratch, q);
		some |= got;
	}
	if (keep && some > 0)
		put(l, lv, index, c); /* if it fails, the tile is computed again next time */
	return some;
}
