/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roll.c - windows of rollups.
 *
 * The working set decides the cost: a row is one cache line, found through an index of 16-bit row
 * numbers; its sketch is the touched span of cells, 16 bits each until one is full, in an arena
 * that is freed with the window. All memory is mapped once, for the worst case, and is not resident
 * until used.
 *
 * WINDOWS windows are open; a new second replaces the least recently used one, so that neither a
 * late event nor one with a time in the far future can occupy a place. A window whose arena is full
 * is handed out, and continues as another piece.
 */
#include "agg/roll.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agg/pages.h"
#include "model/sample.h"

#define WINDOWS    4u
#define ROWS_LIMIT (UINT16_MAX - EVENT_MAX) /* the index numbers rows by 16 bits */
#define BATCH      32u
#define INDEX_ROOM 4u /* slots a row: a collision is a branch mispredicted */
#define INDEX_MIN  64u
#define CELL_ALIGN 16u  /* cells: a span begins, ends and grows by multiples */
#define CELL_FIRST 64u  /* cells of a new span: an octave, since most kernels vary less */
#define ROW_BYTES  512u /* of the arena, for each of rows_max */
#define ARENA_MIN  16384u

#define KIND_BITS  5u /* of what a row is: its kind, and above it a sample's key */
#define KIND_OF(W) ((W) & (EVENT_MAX - 1u))
#define BIT(KIND)  (1u << EVENT_##KIND)
#define MOMENTS    (BIT(MARK) | BIT(COUNTER) | BIT(FLOW)) /* have no duration to sketch */
#define ROW_GEOS   UINT64_MAX
#define WITH_BYTES (BIT(COPY) | BIT(MEMSET) | BIT(COLLECTIVE) | BIT(ALLOC))

struct row {
	uint64_t key;   /* track, name */
	uint32_t cells; /* offset in the arena */
	uint16_t base;  /* first cell, and how many */
	uint16_t span;
	uint64_t count;
	uint64_t total_ns;
	uint64_t min_ns;
	uint64_t max_ns;
	uint64_t bytes; /* KERNEL: the geometry + 1; ROW_GEOS: several; SAMPLE: its holder */
	uint32_t slot;  /* of the index */
	uint16_t what;  /* kind, sample_key() << KIND_BITS */
	bool wide;      /* cells are 32-bit */
	uint8_t reserved;
};

_Static_assert(sizeof(struct row) == 64, "a row is a cache line");
_Static_assert(EVENT_MAX == 1u << KIND_BITS && KIND_BITS + SAMPLE_KEY_BITS <= 16, "it fits what");

struct win {
	uint64_t start_ns;
	uint64_t used; /* when, in order of use; 0: closed */
	uint32_t rows;
	uint32_t arena_len;
	uint32_t mask, shift; /* of the index */
	struct row *row;
	uint16_t *index; /* row number + 1; 0: free */
	uint8_t *arena;
};

struct roll {
	struct roll_opts opts;
	struct win *cur; /* the last used */
	uint64_t tick;
	uint32_t arena_max;
	struct win win[WINDOWS];
	struct rollup *out; /* the closed window, as its reader wants it */
	uint32_t *out_cell;
	void *map; /* owned: all of the above */
	size_t map_bytes;
};

static inline uint64_t key_of(uint32_t track, uint32_t name)
{
	return (uint64_t)track << 32 | name;
}

static inline uint32_t hash(const struct win *w, uint64_t key, uint32_t what)
{
	return (uint32_t)((key + ((uint64_t)what << 27)) * 0x9e3779b97f4a7c15ull >> w->shift);
}

/* The row of the key, or NULL; *slot: where it is, or would be. */
static inline struct row *row_find(const struct win *w, uint64_t key, uint32_t what, uint32_t *slot)
{
	uint32_t i = hash(w, key, what);
	struct row *row = NULL;

	while (w->index[i]) {
		row = &w->row[w->index[i] - 1];
		if (__builtin_expect(row->key == key && row->what == what, 1))
			break;
		row = NULL;
		i = (i + 1) & w->mask;
	}
	*slot = i;
	return row;
}

static void index_put(struct win *w, uint32_t row, uint32_t slot)
{
	w->index[slot] = (uint16_t)(row + 1);
	w->row[row].slot = slot;
}

/* Grows with the rows, so that it is no larger in the cache than it need be. */
static void index_size(struct win *w, uint32_t slots)
{
	uint32_t slot;

	w->mask = slots - 1;
	w->shift = 64 - (uint32_t)__builtin_ctz(slots);
	memset(w->index, 0, slots * sizeof(*w->index));
	for (uint32_t i = 0; i < w->rows; i++) {
		const struct row *row = &w->row[i];

		row_find(w, row->key, row->what, &slot);
		index_put(w, i, slot);
	}
}

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

static size_t index_slots(size_t rows)
{
	size_t slots = INDEX_MIN;

	while (slots < INDEX_ROOM * rows)
		slots *= 2;
	return slots;
}

static int map_all(struct roll *r)
{
	size_t rows = r->opts.rows_max + EVENT_MAX;
	size_t row_bytes = rows * sizeof(struct row), out_bytes = rows * sizeof(struct rollup);
	size_t index_bytes = index_slots(rows) * sizeof(uint16_t);
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
		index_size(&r->win[i], INDEX_MIN);
	}
	r->out = carve(&at, out_bytes);
	r->out_cell = carve(&at, cell_bytes);
	return 0;
}

int roll_new(struct roll **out, const struct roll_opts *o)
{
	struct roll *r;
	int err;

	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->opts = *o;
	r->opts.rows_max = o->rows_max < ROWS_LIMIT ? o->rows_max : ROWS_LIMIT;
	r->cur = &r->win[0];
	r->arena_max = r->opts.rows_max * ROW_BYTES + ARENA_MIN;
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

static uint32_t row_cell(const struct win *w, const struct row *row, uint32_t i)
{
	const uint8_t *at = w->arena + row->cells;

	return row->wide ? ((const uint32_t *)at)[i] : ((const uint16_t *)at)[i];
}

/* The row for a reader: the cells from its first to its last value, 32 bits each, go to
 * `cell`. Returns how many. */
static uint32_t row_out(const struct win *w, const struct row *row, struct rollup *out,
			uint32_t *cell)
{
	uint32_t from = 0, to = row->span, kind = KIND_OF(row->what);

	while (from < to && !row_cell(w, row, from))
		from++;
	while (from < to && !row_cell(w, row, to - 1))
		to--;
	for (uint32_t i = from; i < to; i++)
		cell[i - from] = row_cell(w, row, i);
	*out = (struct rollup){
		.track = (uint32_t)(row->key >> 32),
		.name = (uint32_t)row->key,
		.kind = kind,
		.count = row->count,
		.total_ns = row->total_ns,
		.min_ns = row->min_ns,
		.max_ns = row->max_ns,
		.bytes = kind == EVENT_KERNEL   ? 0
			 : kind == EVENT_SAMPLE ? sample_rolled(row->what >> KIND_BITS, row->bytes)
						: row->bytes,
		.geo = kind == EVENT_KERNEL && row->bytes && row->bytes != ROW_GEOS
			       ? (uint32_t)(row->bytes - 1)
			       : ROLLUP_NO_GEO,
	};
	if (from < to)
		out->sketch = (struct sketch){ cell, row->base + from, to - from, row->count };
	return to - from;
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

__attribute__((noinline)) static struct row *row_new(const struct roll *r, struct win *w,
						     uint64_t key, uint32_t what, uint32_t slot)
{
	struct row *row;

	assert(what < EVENT_MAX || KIND_OF(what) == EVENT_SAMPLE);
	if (w->rows >= r->opts.rows_max) { /* a row for each kind */
		what = KIND_OF(what);
		key = what == EVENT_SAMPLE ? key_of(0, SAMPLE_ROLLED_OTHER)
					   : key_of(0, r->opts.name_other);
		row = row_find(w, key, what, &slot);
		if (row)
			return row;
	}
	if (INDEX_ROOM * (w->rows + 1) > w->mask + 1) {
		index_size(w, 2 * (w->mask + 1));
		row_find(w, key, what, &slot);
	}
	row = &w->row[w->rows];
	*row = (struct row){ .key = key, .what = (uint16_t)what, .min_ns = UINT64_MAX };
	index_put(w, w->rows++, slot);
	return row;
}

static inline struct row *row_get(const struct roll *r, struct win *w, const struct event *e)
{
	uint64_t key = key_of(e->track, e->name);
	uint32_t slot;
	struct row *row = row_find(w, key, e->kind, &slot);

	return __builtin_expect(row != NULL, 1) ? row : row_new(r, w, key, e->kind, slot);
}

/* The span that also holds `cell`: larger by half at least, because moving costs arena. */
static void span_for(const struct row *row, uint32_t cell, uint32_t *base, uint32_t *end)
{
	uint32_t more = (row->span / 2) & ~(CELL_ALIGN - 1), low = cell & ~(CELL_ALIGN - 1);

	if (!row->span) {
		/* The first value, with room on both sides. */
		*base = cell < CELL_FIRST / 2 ? 0 : (cell - CELL_FIRST / 2) & ~(CELL_ALIGN - 1);
		*end = *base + CELL_FIRST;
	} else {
		*base = row->base;
		*end = *base + row->span;
	}
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

/* Counts `n` in the row's sketch. False: the arena is full and nothing was counted. */
static inline bool row_sketch(const struct roll *r, struct win *w, struct row *row, uint32_t cell,
			      uint32_t n)
{
	uint16_t *narrow;
	uint32_t *wide;

	if (__builtin_expect(cell - row->base >= row->span, 0) &&
	    !regrow(r, w, row, cell, row->wide))
		return false;
	narrow = (uint16_t *)(w->arena + row->cells) + (cell - row->base);
	if (__builtin_expect(!row->wide && *narrow + n <= UINT16_MAX, 1)) {
		*narrow = (uint16_t)(*narrow + n);
		return true;
	}
	if (!row->wide && !regrow(r, w, row, cell, true))
		return false;
	wide = (uint32_t *)(w->arena + row->cells) + (cell - row->base);
	*wide = n < UINT32_MAX - *wide ? *wide + n : UINT32_MAX;
	return true;
}

static void add(uint64_t *to, uint64_t n)
{
	if (__builtin_expect(__builtin_add_overflow(*to, n, to), 0))
		*to = UINT64_MAX;
}

/* A counter's value as an integer: what a rollup keeps. NaN is 0. */
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

/* min_ns and max_ns hold a counter's values, signed; 0 for other moments. */
static void row_moment(struct row *row, const struct event *e)
{
	int64_t v = e->kind == EVENT_COUNTER ? value_of(e) : 0;

	if (!row->count || v < (int64_t)row->min_ns)
		row->min_ns = (uint64_t)v;
	if (!row->count || v > (int64_t)row->max_ns)
		row->max_ns = (uint64_t)v;
	row->count++;
}

/* Of a step that was recorded: its time, as often as it counts. */
static inline void row_step(struct row *row, const struct event *e)
{
	if (!(e->flags & EVENT_UNSAMPLED))
		add(&row->bytes, e->dur_ns * (e->b ? e->b : 1));
}

/* A name is launched with one geometry, or is nobody's to judge. */
static inline void row_geo(struct row *row, uint64_t geo)
{
	uint64_t is = (uint64_t)(uint32_t)geo + 1;

	if (__builtin_expect(row->bytes != is, 0))
		row->bytes = row->bytes ? ROW_GEOS : is;
}

static inline bool row_add(const struct roll *r, struct win *w, struct row *row, uint32_t cell,
			   const struct event *e)
{
	uint32_t kind = 1u << e->kind;

	if (__builtin_expect(kind & MOMENTS, 0)) {
		row_moment(row, e);
		return true;
	}
	if (__builtin_expect(!row_sketch(r, w, row, cell, 1), 0))
		return false;
	row->count++;
	add(&row->total_ns, e->dur_ns);
	row->min_ns = e->dur_ns < row->min_ns ? e->dur_ns : row->min_ns;
	row->max_ns = e->dur_ns > row->max_ns ? e->dur_ns : row->max_ns;
	if (kind & WITH_BYTES)
		add(&row->bytes, e->a);
	else if (kind & BIT(KERNEL) && r->opts.geos)
		row_geo(row, e->a);
	else if (kind & BIT(STEP))
		row_step(row, e);
	return true;
}

/* May wrap when it is a lie: then it is a lie about another window. */
static inline uint64_t end_of(const struct event *e)
{
	return e->start_ns + e->dur_ns;
}

/*
 * Adds the first of `ev` that end in one window; returns how many. First all rows are found,
 * then all are counted up, so that the caches' misses of a few events overlap.
 */
static size_t add_some(struct roll *r, const struct event *ev, size_t n, roll_window_fn *fn,
		       void *arg)
{
	struct win *w = r->cur;
	struct row *row[BATCH];
	uint32_t cell[BATCH];
	size_t k, i;

	if (end_of(ev) - w->start_ns >= WINDOW_NS || !w->used)
		w = win_open(r, end_of(ev), fn, arg);
	for (k = 0; k < n && k < BATCH && end_of(&ev[k]) - w->start_ns < WINDOW_NS; k++) {
		row[k] = row_get(r, w, &ev[k]);
		cell[k] = sketch_index(ev[k].dur_ns);
		__builtin_prefetch(w->arena + row[k]->cells +
				   (cell[k] - row[k]->base) * sizeof(uint16_t));
	}
	for (i = 0; i < k; i++) {
		if (__builtin_expect(!row_add(r, w, row[i], cell[i], &ev[i]), 0)) {
			win_flush(r, w, fn, arg);
			break;
		}
	}
	return i;
}

void roll_add(struct roll *r, const struct event *ev, size_t n, roll_window_fn *fn, void *arg)
{
	while (n) {
		size_t done = add_some(r, ev, n, fn, arg);

		ev += done;
		n -= done;
	}
}

void roll_add_many(struct roll *r, const struct event *e, uint32_t count, roll_window_fn *fn,
		   void *arg)
{
	struct win *w = r->cur;
	struct row *row;
	uint64_t sum;

	if (end_of(e) - w->start_ns >= WINDOW_NS || !w->used)
		w = win_open(r, end_of(e), fn, arg);
	row = row_get(r, w, e);
	if (1u << e->kind & MOMENTS) {
		row_moment(row, e);
		row->count += count - 1;
		return;
	}
	if (!row_sketch(r, w, row, sketch_index(e->dur_ns), count)) {
		win_flush(r, w, fn, arg);
		row = row_get(r, w, e);
		row_sketch(r, w, row, sketch_index(e->dur_ns), count);
	}
	row->count += count;
	add(&row->total_ns, __builtin_mul_overflow(e->dur_ns, count, &sum) ? UINT64_MAX : sum);
	row->min_ns = e->dur_ns < row->min_ns ? e->dur_ns : row->min_ns;
	row->max_ns = e->dur_ns > row->max_ns ? e->dur_ns : row->max_ns;
	if (e->kind == EVENT_KERNEL && r->opts.geos)
		row_geo(row, e->a);
	if (1u << e->kind & WITH_BYTES)
		add(&row->bytes, __builtin_mul_overflow(e->a, count, &sum) ? UINT64_MAX : sum);
}

void roll_sample(struct roll *r, const struct roll_sample *s, roll_window_fn *fn, void *arg)
{
	uint64_t key = key_of(s->track, s->stack + 1);
	uint32_t what = EVENT_SAMPLE | s->key << KIND_BITS, slot;
	struct win *w = r->cur;
	struct row *row;

	assert(s->key < 1u << SAMPLE_KEY_BITS);
	if (s->start_ns - w->start_ns >= WINDOW_NS || !w->used)
		w = win_open(r, s->start_ns, fn, arg);
	row = row_find(w, key, what, &slot);
	if (!row)
		row = row_new(r, w, key, what, slot);
	row->count++;
	add(&row->total_ns, s->dur_ns);
	row->min_ns = s->dur_ns < row->min_ns ? s->dur_ns : row->min_ns;
	row->max_ns = s->dur_ns > row->max_ns ? s->dur_ns : row->max_ns;
	if (s->holder)
		row->bytes = s->holder;
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
