/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.c - rollups, sorted by (track, kind, name), as one zstd frame of varints.
 *
 *	body: raw length varint, then the frame (or the raw bytes, where that is not longer)
 *	raw:  column after column, a number a row:
 *	      track - last, kind, name - last (folded), count, min, max - min,
 *	      total - count * min (folded), bytes, cells that are not 0;
 *	      then for each row's cells: index - last, count - 1;
 *	      a row's first index is folded against the cell of its min;
 *	      then, if any row has one, a verdict a row.
 */
#include "store/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/order.h"
#include "base/varint.h"
#include "base/vec.h"

#define NUMBERS 9u /* a row, before its cells */
#define RAW_MAX (SEAL_BODY_MAX - 64u)

struct window_codec {
	ZSTD_CCtx *zip;   /* owned */
	ZSTD_DCtx *unzip; /* owned */
	struct rows raw;
	const struct rollup **order; /* owned; order_cap */
	size_t order_cap;
	struct rollup *row; /* owned; row_cap */
	size_t row_cap;
	uint32_t *cell; /* owned; cell_cap */
	size_t cell_cap;
};

int window_codec_new(struct window_codec **out)
{
	struct window_codec *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	*out = c;
	return 0;
}

void window_codec_free(struct window_codec *c)
{
	if (!c)
		return;
	ZSTD_freeCCtx(c->zip);
	ZSTD_freeDCtx(c->unzip);
	rows_fini(&c->raw);
	free(c->order);
	free(c->row);
	free(c->cell);
	free(c);
}

static int compare(const void *a, const void *b)
{
	const struct rollup *x = *(const struct rollup *const *)a;
	const struct rollup *y = *(const struct rollup *const *)b;

	return cmp_num(x->track, y->track) ?: cmp_num(x->kind, y->kind) ?:
	       cmp_num(x->name, y->name);
}

static uint64_t number(const struct rollup *r, const struct rollup *last, unsigned int col)
{
	uint64_t cells = 0;

	switch (col) {
	case 0:
		return r->track - last->track;
	case 1:
		return r->kind;
	case 2:
		return zigzag((uint64_t)r->name - last->name);
	case 3:
		return r->count;
	case 4:
		return r->min_ns;
	case 5:
		return r->max_ns - r->min_ns;
	case 6:
		return zigzag(r->total_ns - r->count * r->min_ns);
	case 7:
		return r->bytes;
	default:
		for (uint32_t i = 0; i < r->sketch.span; i++)
			cells += r->sketch.cell[i] != 0;
		return cells;
	}
}

static uint8_t *put_cells(uint8_t *p, const struct rollup *r)
{
	uint32_t last = sketch_index(r->min_ns);
	bool first = true;

	for (uint32_t i = 0; i < r->sketch.span; i++) {
		uint32_t at = r->sketch.base + i;

		if (!r->sketch.cell[i])
			continue;
		p = varint_put(p, first ? zigzag((uint64_t)at - last) : at - last);
		p = varint_put(p, r->sketch.cell[i] - 1);
		last = at;
		first = false;
	}
	return p;
}

static int put_raw(struct window_codec *c, const struct window *w)
{
	static const struct rollup none;
	const struct rollup *last;
	size_t cells = 0;
	bool judged = false;
	uint8_t *p;
	int err;

	for (uint32_t i = 0; i < w->rows; i++)
		cells += w->row[i].sketch.span;
	if (w->rows > WINDOW_ROWS_MAX || cells > WINDOW_CELLS_MAX)
		return -E2BIG;
	c->raw.len = 0;
	err = rows_reserve(&c->raw, (w->rows * (NUMBERS + 1) + 2 * cells) * VARINT_MAX + 1);
	if (err < 0)
		return err;
	p = c->raw.data;
	for (unsigned int col = 0; col < NUMBERS; col++) {
		last = &none;
		for (uint32_t i = 0; i < w->rows; i++) {
			p = varint_put(p, number(c->order[i], last, col));
			last = c->order[i];
		}
	}
	for (uint32_t i = 0; i < w->rows; i++)
		p = put_cells(p, c->order[i]);
	for (uint32_t i = 0; i < w->rows; i++)
		judged |= w->row[i].verdict != 0;
	for (uint32_t i = 0; judged && i < w->rows; i++)
		p = varint_put(p, c->order[i]->verdict);
	c->raw.len = (size_t)(p - c->raw.data);
	return c->raw.len > RAW_MAX ? -E2BIG : 0;
}

/* Allocates the compressor when first used: readers never need it. */
static int get_zip(struct window_codec *c)
{
	if (c->zip)
		return 0;
	c->zip = ZSTD_createCCtx();
	if (!c->zip)
		return -ENOMEM;
	ZSTD_CCtx_setParameter(c->zip, ZSTD_c_compressionLevel, 1);
	ZSTD_CCtx_setParameter(c->zip, ZSTD_c_contentSizeFlag, 0);
	ZSTD_CCtx_setParameter(c->zip, ZSTD_c_hashLog, 12);
	return 0;
}

static int put_body(struct window_codec *c, struct rows *out, uint8_t **end)
{
	uint8_t *p;
	size_t n;
	int err;

	out->len = 0;
	err = rows_reserve(out, sizeof(struct seal) + VARINT_MAX + c->raw.len + 1);
	if (err < 0)
		return err;
	p = varint_put(out->data + sizeof(struct seal), c->raw.len);
	n = ZSTD_compress2(c->zip, p, c->raw.len, c->raw.data, c->raw.len);
	if (ZSTD_isError(n) || n == c->raw.len) {
		memcpy(p, c->raw.data, c->raw.len);
		n = c->raw.len;
	}
	*end = p + n;
	return 0;
}

int window_pack(struct window_codec *c, const struct window *w, struct rows *out)
{
	struct seal s = { .type = SEAL_WINDOW,
			  .owner = w->process,
			  .count = w->rows,
			  .t0_ns = w->start_ns,
			  .t1_ns = w->start_ns + WINDOW_NS };
	uint8_t *end;
	int err = vec_room(&c->order, &c->order_cap, w->rows + 1, sizeof(*c->order));

	err = err ? err : get_zip(c);
	if (err < 0)
		return err;
	for (uint32_t i = 0; i < w->rows; i++)
		c->order[i] = &w->row[i];
	qsort(c->order, w->rows, sizeof(*c->order), compare);
	err = put_raw(c, w);
	if (err == 0)
		err = put_body(c, out, &end);
	if (err < 0)
		return err;
	s.len = (uint32_t)(end - out->data - (ptrdiff_t)sizeof(s));
	seal_close(&s, out->data + sizeof(s));
	memcpy(out->data, &s, sizeof(s));
	out->len = sizeof(s) + s.len;
	return 0;
}

static int get_raw(struct window_codec *c, const uint8_t *body, size_t len)
{
	struct varint_in in = { body, body + len, false };
	uint64_t raw = varint_get(&in);
	size_t stored = (size_t)(in.end - in.p);
	int err;

	if (in.bad || raw > RAW_MAX || stored > raw)
		return -EBADMSG;
	if (!c->unzip)
		c->unzip = ZSTD_createDCtx();
	c->raw.len = 0;
	err = c->unzip ? rows_reserve(&c->raw, raw + 1) : -ENOMEM;
	if (err < 0)
		return err;
	if (stored == raw)
		memcpy(c->raw.data, in.p, raw);
	else if (ZSTD_decompressDCtx(c->unzip, c->raw.data, raw, in.p, stored) != raw)
		return -EBADMSG;
	c->raw.len = raw;
	return 0;
}

static void set_number(struct rollup *r, const struct rollup *last, unsigned int col, uint64_t v)
{
	switch (col) {
	case 0:
		r->track = last->track + (uint32_t)v;
		break;
	case 1:
		r->kind = (uint32_t)v;
		break;
	case 2:
		r->name = last->name + (uint32_t)unzigzag(v);
		break;
	case 3:
		r->count = v;
		break;
	case 4:
		r->min_ns = v;
		break;
	case 5:
		r->max_ns = r->min_ns + v;
		break;
	case 6:
		r->total_ns = r->count * r->min_ns + unzigzag(v);
		break;
	case 7:
		r->bytes = v;
		break;
	default:
		r->reserved = v > SKETCH_CELLS ? UINT32_MAX : (uint32_t)v;
	}
}

/* The cells of one row, r->reserved of them, to `cell`, which has `room`. Returns the span. */
static int64_t get_cells(struct varint_in *in, struct rollup *r, uint32_t *cell, size_t room)
{
	uint64_t first, at;

	if (r->reserved == 0)
		return 0;
	if (r->reserved > SKETCH_CELLS)
		return -EBADMSG;
	first = at = sketch_index(r->min_ns) + unzigzag(varint_get(in));
	for (uint32_t i = 0; i < r->reserved; i++) {
		uint64_t step = i ? varint_get(in) : 0, n;

		n = varint_get(in) + 1;
		if (in->bad || first >= SKETCH_CELLS || step > SKETCH_CELLS || (i && !step) ||
		    at + step >= SKETCH_CELLS || at + step - first >= room || n - 1 >= UINT32_MAX)
			return -EBADMSG;
		memset(cell + (at - first) + 1, 0, i ? (step - 1) * sizeof(*cell) : 0);
		at += step;
		cell[at - first] = (uint32_t)n;
		r->sketch.count += n;
	}
	r->sketch.base = (uint32_t)first;
	r->sketch.span = (uint32_t)(at - first + 1);
	r->sketch.cell = cell;
	return r->sketch.span;
}

static int get_sketches(struct window_codec *c, struct varint_in *in, uint32_t rows)
{
	size_t used = 0, room;
	int64_t span;

	for (uint32_t i = 0; i < rows; i++) {
		/* Most sketches are narrow, so the array grows by need, up to the limit. */
		room = WINDOW_CELLS_MAX - used;
		room = room < SKETCH_CELLS ? room : SKETCH_CELLS;
		if (vec_room(&c->cell, &c->cell_cap, used + room, sizeof(*c->cell)) < 0)
			return -ENOMEM;
		span = get_cells(in, &c->row[i], c->cell + used, room);
		if (span < 0)
			return (int)span;
		used += (size_t)span;
	}
	/* Growing moved the array: set the pointers now that it is done. */
	used = 0;
	for (uint32_t i = 0; i < rows; i++) {
		c->row[i].reserved = 0;
		c->row[i].geo = ROLLUP_NO_GEO;
		c->row[i].sketch.cell = c->row[i].sketch.span ? c->cell + used : NULL;
		used += c->row[i].sketch.span;
	}
	return 0;
}

int window_unpack(struct window_codec *c, const void *data, size_t len, struct window *out)
{
	static const struct rollup none;
	struct varint_in in;
	struct seal s;
	int err;

	err = seal_check(&s, data, len);
	if (err < 0)
		return err == -EPROTO ? err : -EBADMSG;
	if (s.type != SEAL_WINDOW || s.count > WINDOW_ROWS_MAX)
		return -EBADMSG;
	err = get_raw(c, (const uint8_t *)data + sizeof(s), s.len);
	/* A row takes a byte a number at least: bounds what is allocated for a lie. */
	if (err == 0 && s.count > c->raw.len / NUMBERS)
		err = -EBADMSG;
	if (err < 0)
		return err;
	if (vec_room(&c->row, &c->row_cap, s.count + 1, sizeof(*c->row)) < 0)
		return -ENOMEM;
	in = (struct varint_in){ c->raw.data, c->raw.data + c->raw.len, false };
	memset(c->row, 0, s.count * sizeof(*c->row));
	for (unsigned int col = 0; col < NUMBERS; col++)
		for (uint32_t i = 0; i < s.count; i++)
			set_number(&c->row[i], i ? &c->row[i - 1] : &none, col, varint_get(&in));
	err = in.bad ? -EBADMSG : get_sketches(c, &in, s.count);
	if (err < 0)
		return err;
	for (uint32_t i = 0; in.p != in.end && !in.bad && i < s.count; i++)
		c->row[i].verdict = (uint32_t)varint_get(&in);
	if (in.bad || in.p != in.end)
		return -EBADMSG;
	*out = (struct window){
		.process = s.owner, .rows = s.count, .start_ns = s.t0_ns, .row = c->row
	};
	return 0;
}
