/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roll.c - windows of rollups.
 *
 * The working set decides the cost: a row is one cache line, found through an index of 16-bit
 * row numbers; its sketch is the touched span of cells, 16 bits each until one is full, in an
 * arena that is dropped whole with the window. All memory is mapped once, for the worst case,
 * and costs nothing until used.
 *
 * WINDOWS windows are open; the one unused for longest makes room for a new second, so that
 * neither a late event nor one that claims to be of the far future can hold a place. A window
 * whose arena is full is handed out and goes on as another piece.
 */
#include "agg/roll.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agg/pages.h"

#define WINDOWS    4u
#define ROWS_LIMIT 32000u /* row numbers and twice as many index slots fit 16 bits */
#define CELL_ALIGN 16u    /* cells: a span begins, ends and grows by multiples */
#define ROW_BYTES  512u   /* of the arena, for each of rows_max */
#define ARENA_MIN  16384u

#define BIT(KIND)  (1u << EVENT_##KIND)
#define MOMENTS    (BIT(MARK) | BIT(COUNTER) | BIT(FLOW)) /* have no duration to sketch */
#define WITH_BYTES (BIT(COPY) | BIT(MEMSET) | BIT(COLLECTIVE))

struct row {
	uint32_t lane;
	uint32_t name;
	uint32_t cells; /* offset in the arena */
	uint16_t base;  /* first cell, and how many */
	uint16_t span;
	uint64_t count;
	uint64_t total_ns;
	uint64_t min_ns;
	uint64_t max_ns;
	uint64_t bytes;
	uint16_t slot; /* of the index */
	uint8_t kind;
	bool wide; /* cells are 32-bit */
	uint32_t reserved;
};

_Static_assert(sizeof(struct row) == 64, "a row is a cache line");

struct win {
	uint64_t start_ns;
	uint64_t used; /* when, in order of use; 0: closed */
	uint32_t rows;
	uint32_t arena_len;
	struct row *row;
	uint16_t *index; /* row number + 1; 0: free */
	uint8_t *arena;
};

struct roll {
	struct roll_opts opts;
	struct win *cur; /* the last used */
	uint64_t tick;
	uint32_t index_bits;
	uint32_t arena_max;
	struct win win[WINDOWS];
	struct rollup *out; /* the closed window, as its reader wants it */
	uint32_t *out_cell;
	void *map; /* owned: all of the above */
	size_t map_bytes;
};

static size_t whole_lines(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

static void *carve(uint8_t **at, size_t bytes)
{
	void *here = *at;

	*at += whole_lines(bytes);
	return here;
}

static int map_all(struct roll *r)
{
	size_t rows = r->opts.rows_max + EVENT_MAX;
	size_t row_bytes = rows * sizeof(struct row), out_bytes = rows * sizeof(struct rollup);
	size_t index_bytes = sizeof(uint16_t) << r->index_bits;
	size_t cell_bytes = 2 * (size_t)r->arena_max; /* 16-bit cells double */
	uint8_t *at;

	r->map_bytes = WINDOWS * (whole_lines(row_bytes) + whole_lines(index_bytes) +
				  whole_lines(r->arena_max)) +
		       whole_lines(out_bytes) + whole_lines(cell_bytes);
	at = r->map = pages_new(r->map_bytes);
	if (!at)
		return -ENOMEM;
	for (uint32_t i = 0; i < WINDOWS; i++) {
		r->win[i].row = carve(&at, row_bytes);
		r->win[i].index = carve(&at, index_bytes);
		r->win[i].arena = carve(&at, r->arena_max);
	}
	r->out = carve(&at, out_bytes);
	r->out_cell = carve(&at, cell_bytes);
	return 0;
}

int roll_new(struct roll **out, const struct roll_opts *o)
{
	struct roll *r;
	int err;

	if (o->rows_max > ROWS_LIMIT)
		return -EINVAL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->opts = *o;
	r->cur = &r->win[0];
	r->arena_max = o->rows_max * ROW_BYTES + ARENA_MIN;
	while ((1u << r->index_bits) < 2 * (o->rows_max + EVENT_MAX))
		r->index_bits++;
	err = map_all(r);
	if (err) {
		free(r);
		return err;
	}
	*out = r;
	return 0;
}

void roll_free(struct roll *r)
{
	if (!r)
		return;
	pages_free(r->map, r->map_bytes);
	free(r);
}

/* The row for a reader: cells go to `cell`, 32 bits each. Returns how many. */
static uint32_t row_out(const struct win *w, const struct row *row, struct rollup *out,
			uint32_t *cell)
{
	const uint8_t *from = w->arena + row->cells;

	*out = (struct rollup){
		.lane = row->lane,
		.name = row->name,
		.kind = row->kind,
		.count = row->count,
		.total_ns = row->total_ns,
		.min_ns = row->min_ns,
		.max_ns = row->max_ns,
		.bytes = row->bytes,
		.sketch = { row->span ? cell : NULL, row->base, row->span,
			    row->span ? row->count : 0 },
	};
	if (row->wide)
		memcpy(cell, from, row->span * sizeof(*cell));
	else
		for (uint32_t i = 0; i < row->span; i++)
			cell[i] = ((const uint16_t *)from)[i];
	return row->span;
}

/* Hands the window out and empties it. It stays open. */
static void win_flush(struct roll *r, struct win *w, roll_window_fn *fn, void *arg)
{
	struct window out = { r->opts.process, 0, w->start_ns, r->out };
	uint32_t *cell = r->out_cell;

	if (!w->rows)
		return;
	for (uint32_t i = 0; i < w->rows; i++) {
		w->index[w->row[i].slot] = 0;
		if (w->row[i].count)
			cell += row_out(w, &w->row[i], &r->out[out.rows++], cell);
	}
	w->rows = 0;
	w->arena_len = 0;
	fn(arg, &out);
}

/* Makes the window of `end_ns` the current one. */
__attribute__((noinline)) static struct win *win_open(struct roll *r, uint64_t end_ns,
						      roll_window_fn *fn, void *arg)
{
	uint64_t start = end_ns - end_ns % WINDOW_NS;
	struct win *w = r->win, *oldest = r->win;

	while (w < r->win + WINDOWS && !(w->used && w->start_ns == start)) {
		if (w->used < oldest->used)
			oldest = w;
		w++;
	}
	if (w == r->win + WINDOWS) {
		w = oldest;
		win_flush(r, w, fn, arg);
		w->start_ns = start;
	}
	w->used = ++r->tick;
	r->cur = w;
	return w;
}

static inline uint32_t hash(const struct roll *r, uint32_t lane, uint32_t name, uint32_t kind)
{
	uint64_t key = ((uint64_t)lane << 32 | name) + ((uint64_t)kind << 27);

	return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> (64 - r->index_bits));
}

static inline bool row_is(const struct row *row, uint32_t lane, uint32_t name, uint32_t kind)
{
	return row->lane == lane && row->name == name && row->kind == kind;
}

/* The row of the key, or NULL and the free slot where it would be. */
static inline struct row *row_find(const struct roll *r, const struct win *w, uint32_t lane,
				   uint32_t name, uint32_t kind, uint32_t *slot)
{
	uint32_t mask = (1u << r->index_bits) - 1, i = hash(r, lane, name, kind);

	for (; w->index[i]; i = (i + 1) & mask) {
		struct row *row = &w->row[w->index[i] - 1];

		if (__builtin_expect(row_is(row, lane, name, kind), 1))
			return row;
	}
	*slot = i;
	return NULL;
}

__attribute__((noinline)) static struct row *row_new(const struct roll *r, struct win *w,
						     uint32_t lane, uint32_t name, uint32_t kind,
						     uint32_t slot)
{
	struct row *row;

	assert(kind < EVENT_MAX);
	if (w->rows >= r->opts.rows_max) {
		lane = 0;
		name = r->opts.name_other;
		row = row_find(r, w, lane, name, kind, &slot);
		if (row)
			return row;
	}
	row = &w->row[w->rows++];
	*row = (struct row){
		.lane = lane,
		.name = name,
		.kind = (uint8_t)kind,
		.slot = (uint16_t)slot,
		.min_ns = UINT64_MAX,
	};
	w->index[slot] = (uint16_t)w->rows;
	return row;
}

static inline struct row *row_get(const struct roll *r, struct win *w, const struct event *e)
{
	uint32_t slot;
	struct row *row = row_find(r, w, e->lane, e->name, e->kind, &slot);

	if (__builtin_expect(!row, 0))
		row = row_new(r, w, e->lane, e->name, e->kind, slot);
	return row;
}

/* Widens [*base, *end) to hold `cell`, by half of itself at least: moving costs arena. */
static void span_for(const struct row *row, uint32_t cell, uint32_t *base, uint32_t *end)
{
	uint32_t more = (row->span / 2) & ~(CELL_ALIGN - 1), low = cell & ~(CELL_ALIGN - 1);

	*base = row->span ? row->base : low;
	*end = *base + row->span;
	if (low < *base)
		*base = *base > low + more ? low : *base > more ? *base - more : 0;
	if (low + CELL_ALIGN > *end)
		*end = low + CELL_ALIGN > *end + more ? low + CELL_ALIGN : *end + more;
	if (*end > SKETCH_CELLS)
		*end = SKETCH_CELLS;
}

/* Moves the row's cells to a span that also holds `cell`, `wide` or not. False: no room. */
__attribute__((noinline)) static bool regrow(const struct roll *r, struct win *w, struct row *row,
					     uint32_t cell, bool wide)
{
	uint8_t *to = w->arena + w->arena_len, *from = w->arena + row->cells;
	uint32_t base, end, bytes;

	span_for(row, cell, &base, &end);
	bytes = (end - base) * (wide ? sizeof(uint32_t) : sizeof(uint16_t));
	if (bytes > r->arena_max - w->arena_len)
		return false;
	memset(to, 0, bytes);
	for (uint32_t i = 0; i < row->span; i++) {
		uint32_t n = row->wide ? ((uint32_t *)from)[i] : ((uint16_t *)from)[i];

		if (wide)
			((uint32_t *)to)[row->base - base + i] = n;
		else
			((uint16_t *)to)[row->base - base + i] = (uint16_t)n;
	}
	row->cells = w->arena_len;
	row->base = (uint16_t)base;
	row->span = (uint16_t)(end - base);
	row->wide = wide;
	w->arena_len += bytes;
	return true;
}

/* Counts one value in the row's sketch. False: the arena is full and nothing was counted. */
static inline bool row_sketch(const struct roll *r, struct win *w, struct row *row, uint64_t v)
{
	uint32_t cell = sketch_index(v), at = cell - row->base;
	uint16_t *narrow;
	uint32_t *wide;

	if (__builtin_expect(at >= row->span, 0)) {
		if (!regrow(r, w, row, cell, row->wide))
			return false;
		at = cell - row->base;
	}
	narrow = (uint16_t *)(w->arena + row->cells) + at;
	if (__builtin_expect(!row->wide && *narrow < UINT16_MAX, 1)) {
		++*narrow;
		return true;
	}
	if (!row->wide && !regrow(r, w, row, cell, true))
		return false;
	wide = (uint32_t *)(w->arena + row->cells) + at;
	*wide += *wide < UINT32_MAX;
	return true;
}

static void add(uint64_t *to, uint64_t n)
{
	if (__builtin_expect(__builtin_add_overflow(*to, n, to), 0))
		*to = UINT64_MAX;
}

/* A counter's value as an integer: what a rollup keeps of it. NaN is 0. */
static int64_t value_of(const struct event *e)
{
	double f;

	if (!(e->flags & EVENT_FLOAT))
		return (int64_t)e->a;
	memcpy(&f, &e->a, sizeof(f));
	if (f >= 0x1p63)
		return INT64_MAX;
	if (f <= -0x1p63)
		return INT64_MIN;
	return f == f ? (int64_t)(f < 0 ? f - 0.5 : f + 0.5) : 0;
}

/* min_ns and max_ns hold a counter's values, signed. */
static void row_value(struct row *row, const struct event *e)
{
	int64_t v = value_of(e);

	if (!row->count || v < (int64_t)row->min_ns)
		row->min_ns = (uint64_t)v;
	if (!row->count || v > (int64_t)row->max_ns)
		row->max_ns = (uint64_t)v;
}

static inline bool row_add(const struct roll *r, struct win *w, struct row *row,
			   const struct event *e)
{
	uint32_t kind = 1u << e->kind;

	if (__builtin_expect(kind & MOMENTS, 0)) {
		if (e->kind == EVENT_COUNTER)
			row_value(row, e);
		else
			row->min_ns = 0;
		row->count++;
		return true;
	}
	if (!row_sketch(r, w, row, e->dur_ns))
		return false;
	row->count++;
	add(&row->total_ns, e->dur_ns);
	row->min_ns = e->dur_ns < row->min_ns ? e->dur_ns : row->min_ns;
	row->max_ns = e->dur_ns > row->max_ns ? e->dur_ns : row->max_ns;
	if (kind & WITH_BYTES)
		add(&row->bytes, e->a);
	return true;
}

void roll_add(struct roll *r, const struct event *ev, size_t n, roll_window_fn *fn, void *arg)
{
	for (const struct event *e = ev; e < ev + n; e++) {
		struct win *w = r->cur;
		uint64_t end;

		if (__builtin_add_overflow(e->start_ns, e->dur_ns, &end))
			end = UINT64_MAX;
		if (__builtin_expect(end - w->start_ns >= WINDOW_NS || !w->used, 0))
			w = win_open(r, end, fn, arg);
		if (__builtin_expect(!row_add(r, w, row_get(r, w, e), e), 0)) {
			bool fits;

			win_flush(r, w, fn, arg);
			fits = row_add(r, w, row_get(r, w, e), e);
			assert(fits);
			(void)fits;
		}
	}
}

void roll_close(struct roll *r, uint64_t before_ns, roll_window_fn *fn, void *arg)
{
	struct win *first;

	do {
		first = NULL;
		for (struct win *w = r->win; w < r->win + WINDOWS; w++) {
			bool ended =
				before_ns == UINT64_MAX ||
				(before_ns >= WINDOW_NS && w->start_ns <= before_ns - WINDOW_NS);

			if (w->used && ended && (!first || w->start_ns < first->start_ns))
				first = w;
		}
		if (first) {
			win_flush(r, first, fn, arg);
			first->used = 0;
		}
	} while (first);
}
