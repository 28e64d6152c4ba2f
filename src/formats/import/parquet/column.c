/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column.c - the pages of a column. Fields by their public numbers:
 *
 *	PageHeader  1 type: 0 data, 2 dictionary, 3 data of version 2  2 its bytes  3 compressed
 *	            5 of data: 1 values  2 encoding  3 encoding of levels
 *	            7 of a dictionary: 1 values  2 encoding
 *	            8 of version 2: 1 values  4 encoding  5, 6 bytes of levels  7 compressed?
 *
 * A page of version 1 has its levels behind a length, inside of what is compressed; one of version 2
 * before it. Levels say which values are there: an optional column stores no NULL.
 */
#include "import/parquet/column.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/vec.h"
#include "import/parquet/thrift.h"
#include "import/unpack.h"

#define PAGE_MAX     (64u << 20)
#define HELD_MAX     (256u << 20)
#define RATIO_MAX    1024u       /* unpacked bytes for each byte of the file */
#define RATIO_FREE   (64u << 20) /* bytes that are not counted for it */
#define HEAD_FIRST   512u
#define HEAD_MAX     (1u << 20)
#define TEXT_INT_MAX 20u

enum { PAGE_DATA = 0, PAGE_INDEX = 1, PAGE_DICTIONARY = 2, PAGE_DATA_2 = 3 };
enum { PLAIN = 0, PLAIN_DICTIONARY = 2, RLE = 3, DELTA = 5, RLE_DICTIONARY = 8 };
enum { CODEC_NONE = 0, CODEC_SNAPPY = 1, CODEC_GZIP = 2, CODEC_ZSTD = 6 };

struct head {
	int64_t type, bytes, packed;
	int64_t values, encoding, level_encoding, level_bytes, repeat_bytes, compressed;
};

int parquet_room(struct parquet_in *in, struct parquet_buf *b, size_t need)
{
	size_t before = b->cap;

	if (need > PAGE_MAX || (need > b->cap && in->held - before + need > HELD_MAX))
		return parquet_bad(in, "its pages need more than %u MiB", HELD_MAX >> 20);
	if (vec_room(&b->p, &b->cap, need, 1) < 0)
		return -ENOMEM;
	in->held += b->cap - before;
	return 0;
}

/* --- heads --- */

static void data_head(struct thrift *t, struct head *h, bool second)
{
	uint8_t type;

	for (int id = 0; thrift_next(t, &id, &type);) {
		if (id == 1)
			thrift_int(t, type, &h->values);
		else if (id == (second ? 4 : 2))
			thrift_int(t, type, &h->encoding);
		else if (id == 3 && !second)
			thrift_int(t, type, &h->level_encoding);
		else if (id == 5 && second)
			thrift_int(t, type, &h->level_bytes);
		else if (id == 6 && second)
			thrift_int(t, type, &h->repeat_bytes);
		else if (id == 7 && second)
			thrift_int(t, type, &h->compressed);
		else
			thrift_skip(t, type);
	}
}

static bool parse_head(struct thrift *t, struct head *h)
{
	uint8_t type;

	*h = (struct head){ .type = -1, .compressed = 1, .level_encoding = RLE };
	for (int id = 0; thrift_next(t, &id, &type);) {
		if (id == 1)
			thrift_int(t, type, &h->type);
		else if (id == 2)
			thrift_int(t, type, &h->bytes);
		else if (id == 3)
			thrift_int(t, type, &h->packed);
		else if ((id == 5 || id == 7 || id == 8) && thrift_struct(t, type))
			data_head(t, h, id == 8);
		else if (id != 5 && id != 7 && id != 8)
			thrift_skip(t, type);
	}
	return !t->bad;
}

/* A head's length is known only when it was read: a longer window is tried as long as it helps. */
static int read_head(struct parquet_in *in, struct parquet_column *c, struct head *h)
{
	for (size_t want = HEAD_FIRST;; want *= 8) {
		uint64_t left = c->end - c->at;
		size_t n = want < left ? want : (size_t)left;
		struct thrift t;
		int err = parquet_room(in, &c->page, n);

		err = err ? err : parquet_read_at(in, c->at, c->page.p, n);
		if (err)
			return err;
		t = (struct thrift){ c->page.p, c->page.p + n, false };
		if (parse_head(&t, h)) {
			c->at += (uint64_t)(t.p - c->page.p);
			return 0;
		}
		if (n == left || want >= HEAD_MAX)
			return parquet_bad(in, "column %s: no page at byte %llu", c->name,
					   (unsigned long long)c->at);
	}
}

/* --- bytes --- */

static int unpack(struct parquet_in *in, const struct parquet_column *c, uint8_t *out, size_t len,
		  struct unpack_in from)
{
	int err;

	in->unpacked += len;
	if (in->unpacked > RATIO_FREE && in->unpacked - RATIO_FREE > in->size * RATIO_MAX)
		return parquet_bad(in, "unpacks to more than %u times its size", RATIO_MAX);
	switch (c->codec) {
	case CODEC_SNAPPY:
		err = unpack_snappy(out, len, from);
		break;
	case CODEC_GZIP:
		err = unpack_zlib(out, len, from);
		break;
	case CODEC_ZSTD:
		err = unpack_zstd(out, len, from);
		break;
	default:
		return parquet_bad(in,
				   "column %s: compressed in a way that aon does not read (codec "
				   "%u; it reads snappy, gzip and zstd)",
				   c->name, c->codec);
	}
	return err != -EBADMSG ? err
			       : parquet_bad(in,
					     "column %s: a page that does not decompress at "
					     "byte %llu",
					     c->name, (unsigned long long)c->at);
}

/* The page's bytes into `to`: the first `bare` are not compressed. */
static int read_page(struct parquet_in *in, struct parquet_column *c, const struct head *h,
		     size_t bare, struct parquet_buf *to)
{
	struct parquet_buf raw = { NULL, 0, 0 };
	size_t packed = (size_t)h->packed, len = (size_t)h->bytes;
	bool plain = c->codec == CODEC_NONE || !h->compressed;
	int err;

	if (plain && packed != len)
		return parquet_bad(in, "column %s: a page of two lengths at byte %llu", c->name,
				   (unsigned long long)c->at);
	err = parquet_room(in, to, len + 1);
	to->len = len;
	if (err || plain)
		return err ? err : parquet_read_at(in, c->at, to->p, len);
	err = parquet_room(in, &raw, packed + 1);
	err = err ? err : parquet_read_at(in, c->at, raw.p, packed);
	if (!err && bare)
		memcpy(to->p, raw.p, bare);
	/* Of NULLs alone nothing is left to compress. */
	if (!err && (len > bare || packed > bare))
		err = unpack(in, c, to->p + bare, len - bare,
			     (struct unpack_in){ raw.p + bare, packed - bare });
	in->held -= raw.cap;
	free(raw.p);
	return err;
}

/* --- dictionaries --- */

static size_t width_of(uint8_t type)
{
	switch (type) {
	case TYPE_INT32:
	case TYPE_FLOAT:
		return 4;
	case TYPE_INT64:
	case TYPE_DOUBLE:
		return 8;
	default:
		return 0;
	}
}

static uint32_t le32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

static int find_texts(struct parquet_in *in, struct parquet_column *c)
{
	size_t before = c->texts_cap, at = 0;

	if (in->held + c->dicts * sizeof(*c->text) > HELD_MAX)
		return parquet_bad(in, "column %s: too large a dictionary", c->name);
	if (vec_room(&c->text, &c->texts_cap, c->dicts, sizeof(*c->text)) < 0)
		return -ENOMEM;
	in->held += (c->texts_cap - before) * sizeof(*c->text);
	for (size_t i = 0; i < c->dicts; i++) {
		if (c->dict.len - at < 4 || le32(c->dict.p + at) > c->dict.len - at - 4)
			return parquet_bad(in, "column %s: a dictionary that ends early", c->name);
		c->text[i] = (uint32_t)at;
		at += 4 + le32(c->dict.p + at);
	}
	return 0;
}

static int read_dictionary(struct parquet_in *in, struct parquet_column *c, const struct head *h)
{
	size_t width = width_of(c->type);
	int err = read_page(in, c, h, 0, &c->dict);

	if (err)
		return err;
	if ((h->encoding != PLAIN && h->encoding != PLAIN_DICTIONARY) || h->values < 0 ||
	    (!width && c->type != TYPE_BYTE_ARRAY) ||
	    (uint64_t)h->values > c->dict.len / (width ? width : 4))
		return parquet_bad(in, "column %s: no usable dictionary at byte %llu", c->name,
				   (unsigned long long)c->at);
	c->dicts = (size_t)h->values;
	return width ? 0 : find_texts(in, c);
}

/* --- data --- */

/* Values begin at c->p. */
static int begin_values(struct parquet_in *in, struct parquet_column *c)
{
	size_t have = (size_t)(c->page_end - c->p);
	bool good = true;

	c->bit = 0;
	switch (c->encoding) {
	case PLAIN:
		break;
	case PLAIN_DICTIONARY:
	case RLE_DICTIONARY:
		c->encoding = RLE_DICTIONARY;
		/* A page of NULLs alone may lack even the width. */
		if (have)
			c->index = (struct hybrid){ c->p + 1, c->page_end, *c->p, 0,
						    false,    0,           0,     NULL };
		else
			c->index = (struct hybrid){ c->p, c->page_end, 0, 0, false, 0, 0, NULL };
		good = c->index.bits <= 32;
		break;
	case RLE:
		good = c->type == TYPE_BOOLEAN && have >= 4 && le32(c->p) <= have - 4;
		if (good)
			c->index =
				(struct hybrid){ c->p + 4, c->p + 4 + le32(c->p), 1, 0, false, 0, 0,
						 NULL };
		break;
	case DELTA:
		good = (c->type == TYPE_INT32 || c->type == TYPE_INT64) &&
		       delta_begin(&c->delta, c->p, c->page_end);
		break;
	default:
		return parquet_bad(in,
				   "column %s: encoded in a way that aon does not read (encoding "
				   "%u)",
				   c->name, c->encoding);
	}
	return good ? 0
		    : parquet_bad(in, "column %s: a page without values before byte %llu", c->name,
				  (unsigned long long)c->at);
}

/* The levels of a page of version 1: a length, then runs. */
static bool split_levels(struct parquet_column *c, const struct head *h)
{
	size_t len;

	if (!c->optional)
		return true;
	if (h->level_encoding != RLE || c->page.len < 4)
		return false;
	len = le32(c->p);
	if (len > c->page.len - 4)
		return false;
	c->levels.p = c->p + 4;
	c->levels.end = c->p += 4 + len;
	return true;
}

static int begin_data(struct parquet_in *in, struct parquet_column *c, const struct head *h)
{
	size_t bare = 0;
	bool good;
	int err;

	if (h->values < 0 || (uint64_t)h->values > c->left || h->level_bytes < 0 ||
	    h->repeat_bytes < 0 || h->level_bytes > h->bytes || h->level_bytes > h->packed ||
	    h->repeat_bytes)
		return parquet_bad(in, "column %s: no usable page at byte %llu", c->name,
				   (unsigned long long)c->at);
	if (h->type == PAGE_DATA_2)
		bare = (size_t)h->level_bytes;
	err = h->values ? read_page(in, c, h, bare, &c->page) : 0;
	if (err || !h->values)
		return err;
	c->p = c->page.p;
	c->page_end = c->p + c->page.len;
	c->levels = (struct hybrid){ c->p, c->p + bare, 1, 0, false, 0, 0, NULL };
	good = h->type == PAGE_DATA_2 || split_levels(c, h);
	if (!good)
		return parquet_bad(in, "column %s: levels that do not fit at byte %llu", c->name,
				   (unsigned long long)c->at);
	if (h->type == PAGE_DATA_2)
		c->p += bare;
	c->encoding = (uint8_t)h->encoding;
	c->in_page = (uint64_t)h->values;
	c->left -= c->in_page;
	return begin_values(in, c);
}

static int next_page(struct parquet_in *in, struct parquet_column *c)
{
	struct head h;
	int err = 0;

	while (!err && !c->in_page) {
		if (c->at >= c->end || !c->left)
			return parquet_bad(in, "column %s: ends before its last row", c->name);
		err = read_head(in, c, &h);
		if (err)
			return err;
		if (h.bytes < 0 || h.packed < 0 || (uint64_t)h.packed > c->end - c->at ||
		    h.bytes >= PAGE_MAX || h.packed >= PAGE_MAX)
			return parquet_bad(in, "column %s: a page of %lld bytes at byte %llu",
					   c->name, (long long)h.bytes, (unsigned long long)c->at);
		if (h.type == PAGE_DICTIONARY)
			err = read_dictionary(in, c, &h);
		else if (h.type == PAGE_DATA || h.type == PAGE_DATA_2)
			err = begin_data(in, c, &h);
		c->at += (uint64_t)h.packed;
	}
	return err;
}

/* --- values --- */

static void set_real(struct import_cell *cell, double v)
{
	if (isnan(v))
		return;
	cell->type = CELL_REAL;
	cell->d = v;
	cell->i = v >= -9e18 && v <= 9e18 ? (int64_t)v : 0;
}

/* The number that a text begins with, as SQLite reads a text where a number is wanted. */
static int64_t number_of(const char *s, size_t len)
{
	char text[TEXT_INT_MAX];
	bool minus = len && *s == '-';

	len = len < sizeof(text) ? len : sizeof(text) - 1;
	memcpy(text, s, len);
	text[len] = '\0';
	if (text[minus] < '0' || text[minus] > '9')
		return 0;
	return minus ? -(int64_t)num_front(text + 1, NULL) : (int64_t)num_front(text, NULL);
}

static void set_text(struct import_cell *cell, const uint8_t *p, size_t len)
{
	cell->type = CELL_TEXT;
	cell->s = (const char *)p;
	cell->len = len;
	cell->i = number_of(cell->s, len);
}

static void set_int(const struct parquet_column *c, struct import_cell *cell, int64_t v)
{
	cell->type = CELL_INT;
	cell->i = c->type == TYPE_INT32 ? c->is_unsigned ? (int64_t)(uint32_t)v : (int32_t)v : v;
}

/* A value of fixed width at p. */
static void set_fixed(const struct parquet_column *c, struct import_cell *cell, const uint8_t *p)
{
	int64_t v = 0;
	double d;
	float f;

	memcpy(&v, p, width_of(c->type));
	if (c->type == TYPE_DOUBLE) {
		memcpy(&d, p, sizeof(d));
		set_real(cell, d);
	} else if (c->type == TYPE_FLOAT) {
		memcpy(&f, p, sizeof(f));
		set_real(cell, (double)f);
	} else {
		set_int(c, cell, v);
	}
}

static bool plain(struct parquet_column *c, struct import_cell *cell)
{
	size_t have = (size_t)(c->page_end - c->p), width = width_of(c->type);

	if (c->type == TYPE_BOOLEAN) {
		if (!have)
			return false;
		*cell = (struct import_cell){ .type = CELL_INT, .i = *c->p >> c->bit & 1 };
		c->bit = (c->bit + 1) & 7;
		c->p += !c->bit;
		return true;
	}
	if (width) {
		if (have < width)
			return false;
		set_fixed(c, cell, c->p);
		c->p += width;
		return true;
	}
	if (have < 4 || le32(c->p) > have - 4)
		return false;
	set_text(cell, c->p + 4, le32(c->p));
	c->p += 4 + le32(c->p);
	return true;
}

static bool of_dictionary(struct parquet_column *c, struct import_cell *cell)
{
	size_t width = width_of(c->type);
	uint32_t i;

	if (!hybrid_next(&c->index, &i) || i >= c->dicts)
		return false;
	if (width)
		set_fixed(c, cell, c->dict.p + width * i);
	else
		set_text(cell, c->dict.p + c->text[i] + 4, le32(c->dict.p + c->text[i]));
	return true;
}

static bool value(struct parquet_column *c, struct import_cell *cell)
{
	uint32_t bit;
	int64_t v;

	switch (c->encoding) {
	case PLAIN:
		return plain(c, cell);
	case RLE_DICTIONARY:
		return of_dictionary(c, cell);
	case RLE:
		if (!hybrid_next(&c->index, &bit))
			return false;
		*cell = (struct import_cell){ .type = CELL_INT, .i = bit };
		return true;
	default:
		if (!delta_next(&c->delta, &v))
			return false;
		set_int(c, cell, v);
		return true;
	}
}

int column_next(struct parquet_in *in, struct parquet_column *c, struct import_cell *cell)
{
	uint32_t there = 1;
	int err = c->in_page ? 0 : next_page(in, c);

	if (err)
		return err;
	c->in_page--;
	*cell = (struct import_cell){ .type = CELL_NULL };
	if ((c->optional && !hybrid_next(&c->levels, &there)) || (there && !value(c, cell)))
		return parquet_bad(in, "column %s: a page ends %llu values early, before byte %llu",
				   c->name, (unsigned long long)c->in_page + 1,
				   (unsigned long long)c->at);
	return 0;
}

void column_begin(struct parquet_column *c, uint64_t at, uint64_t len, uint64_t values,
		  uint8_t codec)
{
	c->at = at;
	c->end = at + len;
	c->left = values;
	c->codec = codec;
	c->in_page = 0;
	c->dicts = 0;
}

void column_fini(struct parquet_column *c)
{
	free(c->dict.p);
	free(c->page.p);
	free(c->text);
	*c = (struct parquet_column){ .type = 0 };
}
