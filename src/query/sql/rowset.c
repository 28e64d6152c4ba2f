/* SPDX-License-Identifier: Apache-2.0 */
/* rowset.c - events copied out of their blobs, column by column, and indexed by a number. */
#include "sql/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/vec.h"

size_t rowset_bytes(uint32_t cols, bool id)
{
	size_t bytes = id ? sizeof(uint64_t) : 0;

#define X(bit, NAME, field, type) bytes += cols & EVENT_COL_##NAME ? sizeof(type) : 0;
	EVENT_COLUMNS(X)
#undef X
	return bytes;
}

/* The widest columns come first in EVENT_COLUMNS, so that each begins aligned. */
int rowset_init(struct rowset *r, size_t n, uint32_t cols, bool id)
{
	char *p = malloc((n + 8) * (rowset_bytes(cols, id) + 1));

	memset(r, 0, sizeof(*r));
	if (!p)
		return -ENOMEM;
	r->mem = p;
	r->n = n;
	r->c.n = n;
	if (id) {
		r->id = (uint64_t *)p;
		p += n * sizeof(uint64_t);
	}
#define X(bit, NAME, field, type)                         \
	if (cols & EVENT_COL_##NAME) {                    \
		r->c.field = (type *)(void *)p;           \
		p += (n * sizeof(type) + 7) & ~(size_t)7; \
	}
	EVENT_COLUMNS(X)
#undef X
	return 0;
}

void rowset_fini(struct rowset *r)
{
	free(r->mem);
	memset(r, 0, sizeof(*r));
}

void rowset_put(struct rowset *r, const uint32_t *at, const struct batch *b)
{
#define X(bit, NAME, field, type)                          \
	if (r->c.field) {                                  \
		type *to = (type *)(uintptr_t)r->c.field;  \
		for (size_t i = 0; i < b->n; i++)          \
			to[at[i]] = b->c.field[b->sel[i]]; \
	}
	EVENT_COLUMNS(X)
#undef X
	for (size_t i = 0; r->id && i < b->n; i++)
		r->id[at[i]] = event_id(b->blob, b->sel[i]);
}

/* --- found by a number --- */

struct index {
	struct rowset rows; /* by key */
	/* owned, ascending; the sign bit is flipped, so that signed numbers compare correctly */
	uint64_t *key;
};

static uint64_t key_of(int64_t v)
{
	return (uint64_t)v ^ 1ull << 63;
}

#define DIGIT 11u

/*
 * Radix sort of `perm` (0..n-1) by key, using only the digits that differ; `spare` is of the same
 * size. Returns the array that holds the result.
 */
static uint32_t *sort_keys(const uint64_t *key, uint32_t *perm, uint32_t *spare, size_t n)
{
	uint64_t lo = UINT64_MAX, hi = 0;

	for (size_t i = 0; i < n; i++) {
		perm[i] = (uint32_t)i;
		lo = key[i] < lo ? key[i] : lo;
		hi = key[i] > hi ? key[i] : hi;
	}
	for (unsigned int shift = 0; n && shift < 64 && (hi - lo) >> shift; shift += DIGIT) {
		uint32_t count[1u << DIGIT] = { 0 }, sum = 0, *swap = perm;

		for (size_t i = 0; i < n; i++)
			count[(key[i] - lo) >> shift & ((1u << DIGIT) - 1)]++;
		for (size_t i = 0; i < 1u << DIGIT; i++) {
			uint32_t c = count[i];

			count[i] = sum;
			sum += c;
		}
		for (size_t i = 0; i < n; i++)
			spare[count[(key[perm[i]] - lo) >> shift & ((1u << DIGIT) - 1)]++] =
				perm[i];
		perm = spare;
		spare = swap;
	}
	return perm;
}

/* Reads the keys of all rows, in the store's order. */
static int read_keys(struct batch *b, struct sql_source *src, const struct filter *f,
		     enum col_id by, uint64_t **out, size_t *n, size_t max)
{
	size_t cap = 0;
	int err;

	err = batch_open(b, src, f, col_defs[by].needs);
	while (err == 0 && (err = batch_next(b)) > 0) {
		err = *n + b->n > max ? -E2BIG : 0;
		if (err == 0 && *n + b->n > cap) {
			cap = cap / 4 + cap + 16 * b->n;
			err = vec_resize(out, cap, sizeof(**out));
		}
		for (size_t i = 0; err == 0 && i < b->n; i++)
			(*out)[(*n)++] = key_of(by == COL_TS ? (int64_t)b->c.start_ns[b->sel[i]]
							     : b->c.corr[b->sel[i]]);
	}
	return err;
}

/* Reads the rows into their places. */
static int read_rows(struct batch *b, struct sql_source *src, const struct filter *f,
		     struct rowset *rows, const uint32_t *place, uint32_t cols)
{
	size_t at = 0;
	int err;

	err = batch_open(b, src, f, cols);
	while (err == 0 && (err = batch_next(b)) > 0) {
		/* rows may be evicted meanwhile, but none may be added */
		err = at + b->n > rows->n ? -EAGAIN : 0;
		if (err == 0)
			rowset_put(rows, place + at, b);
		at += b->n;
	}
	return err < 0 ? err : at == rows->n ? 0 : -EAGAIN;
}

/* Sorts the keys into x->key; *place is where each row goes. */
static int order_keys(struct index *x, const uint64_t *key, size_t n, uint32_t **place)
{
	uint32_t *a = malloc(n * sizeof(*a) + 1), *b = malloc(n * sizeof(*b) + 1), *perm;

	x->key = malloc(n * sizeof(*x->key) + 1);
	if (!a || !b || !x->key) {
		free(a);
		free(b);
		return -ENOMEM;
	}
	perm = sort_keys(key, a, b, n);
	*place = perm == a ? b : a;
	for (size_t i = 0; i < n; i++) {
		x->key[i] = key[perm[i]];
		(*place)[perm[i]] = (uint32_t)i;
	}
	free(perm);
	return 0;
}

/* extra bytes per row while the index is built */
#define INDEX_ROW 24u

int index_new(struct index **out, struct sql_source *src, uint32_t kinds, enum col_id by,
	      uint32_t cols, bool id)
{
	size_t max = 2 * src->memory_bytes / (rowset_bytes(cols, id) + INDEX_ROW), n = 0;
	struct filter f = { .kinds = kinds };
	struct index *x = calloc(1, sizeof(*x));
	struct batch *b = calloc(1, sizeof(*b));
	uint64_t *key = NULL;
	uint32_t *place = NULL;
	int err = x && b ? 0 : -ENOMEM;

	if (err == 0)
		err = read_keys(b, src, &f, by, &key, &n, max < UINT32_MAX ? max : UINT32_MAX);
	if (err == 0)
		err = order_keys(x, key, n, &place);
	free(key);
	if (err == 0)
		err = rowset_init(&x->rows, n, cols, id);
	if (err == 0)
		err = read_rows(b, src, &f, &x->rows, place, cols);
	if (b)
		batch_close(b);
	free(b);
	free(place);
	if (err < 0)
		index_free(x);
	else
		*out = x;
	return err;
}

void index_free(struct index *x)
{
	if (!x)
		return;
	rowset_fini(&x->rows);
	free(x->key);
	free(x);
}

static size_t first_from(const struct index *x, uint64_t key)
{
	return first_where(i, 0, x->rows.n, x->key[i] >= key);
}

const struct rowset *index_find(const struct index *x, int64_t lo, int64_t hi, size_t *first,
				size_t *end)
{
	*first = first_from(x, key_of(lo));
	*end = hi == INT64_MAX ? x->rows.n : first_from(x, key_of(hi + 1));
	return &x->rows;
}
