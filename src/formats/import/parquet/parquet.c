/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet.c - the footer of a Parquet file, and its rows. Fields by their public numbers:
 *
 *	FileMetaData    2 schema  4 row groups
 *	SchemaElement   1 type  3 repetition: 0 required, 1 optional  4 name  5 children
 *	                6 converted type: 11 to 14 unsigned
 *	RowGroup        1 column chunks  3 rows
 *	ColumnChunk     1 another file  3 ColumnMetaData: 4 codec  5 values  7 bytes  9 first data
 *	                page  11 dictionary
 *
 * The file ends in its footer, the footer's length, and "PAR1". Row groups are parsed when their turn
 * comes.
 */
#include "import/parquet/parquet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/parquet/column.h"
#include "import/parquet/thrift.h"

#define FOOTER_MAX  (64u << 20)
#define DEPTH_MAX   32u
#define ROWS_A_BYTE 64u /* of the file: a row that names a time takes more than a bit */
#define ROWS_FREE   65536u

struct parquet {
	struct parquet_in in;
	uint8_t *footer; /* owned */
	struct thrift schema, groups;
	uint32_t elements, group_count;
	uint64_t rows; /* of all groups */
	/* What was selected. */
	struct parquet_column col[PARQUET_COLS];
	int leaf[PARQUET_COLS]; /* its place among the columns of the file; -1: not there */
	size_t cols;
	/* Where the rows are. */
	struct thrift group;
	uint32_t groups_left;
	uint64_t rows_left; /* of the group */
	bool broken;
};

int parquet_bad(struct parquet_in *in, const char *fmt, ...)
{
	va_list ap;

	if (!*in->why) {
		va_start(ap, fmt);
		vsnprintf(in->why, sizeof(in->why), fmt, ap);
		va_end(ap);
	}
	return -EBADMSG;
}

int parquet_read_at(struct parquet_in *in, uint64_t at, void *buf, size_t len)
{
	size_t got = 0;

	if (at > in->size || len > in->size - at)
		return parquet_bad(in, "ends at byte %llu, before byte %llu that it points to",
				   (unsigned long long)in->size, (unsigned long long)(at + len));
	if (in->mem) {
		memcpy(buf, in->mem + at, len);
		return 0;
	}
	while (got < len) {
		ssize_t n = pread(in->fd, (char *)buf + got, len - got, (off_t)(at + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return parquet_bad(in, "cannot be read at byte %llu: %s",
					   (unsigned long long)(at + got),
					   n ? strerror(errno) : "it has become shorter");
		got += (size_t)n;
	}
	return 0;
}

/* --- the footer --- */

struct element {
	const char *name;
	size_t name_len;
	int64_t type, repetition, children, converted;
};

static bool next_element(struct thrift *t, struct element *e)
{
	uint8_t type;

	*e = (struct element){ .name = "", .type = -1, .converted = -1 };
	for (int id = 0; thrift_next(t, &id, &type);) {
		if (id == 1)
			thrift_int(t, type, &e->type);
		else if (id == 3)
			thrift_int(t, type, &e->repetition);
		else if (id == 4)
			thrift_text(t, type, &e->name, &e->name_len);
		else if (id == 5)
			thrift_int(t, type, &e->children);
		else if (id == 6)
			thrift_int(t, type, &e->converted);
		else
			thrift_skip(t, type);
	}
	return !t->bad;
}

static bool group_rows(struct thrift *t, uint64_t *rows)
{
	uint8_t type;
	int64_t n = -1;

	for (int id = 0; thrift_next(t, &id, &type);)
		if (id == 3)
			thrift_int(t, type, &n);
		else
			thrift_skip(t, type);
	if (t->bad || n < 0 || n > INT64_MAX / 2)
		return false;
	*rows = (uint64_t)n;
	return true;
}

static int sum_rows(struct parquet *q)
{
	struct thrift t = q->groups;

	for (uint32_t i = 0; i < q->group_count; i++) {
		uint64_t rows;

		if (!group_rows(&t, &rows) || q->rows > UINT64_MAX / 2 - rows)
			return parquet_bad(&q->in, "row group %u of its footer is damaged", i);
		q->rows += rows;
	}
	if (q->rows > ROWS_FREE && (q->rows - ROWS_FREE) / ROWS_A_BYTE > q->in.size)
		return parquet_bad(&q->in, "says that it has %llu rows in %llu bytes",
				   (unsigned long long)q->rows, (unsigned long long)q->in.size);
	return 0;
}

static int parse_footer(struct parquet *q, size_t len)
{
	struct thrift t = { q->footer, q->footer + len, false };
	bool schema = false;
	uint8_t type;

	for (int id = 0; thrift_next(&t, &id, &type);) {
		struct thrift list = t;

		if (id == 2 && thrift_list(&list, type, THRIFT_STRUCT, &q->elements)) {
			q->schema = list;
			schema = true;
		} else if (id == 4 && thrift_list(&list, type, THRIFT_STRUCT, &q->group_count)) {
			q->groups = list;
		}
		thrift_skip(&t, type);
	}
	if (t.bad || !schema)
		return parquet_bad(&q->in, "its footer is damaged");
	return sum_rows(q);
}

static int read_footer(struct parquet *q)
{
	uint8_t head[4], tail[8];
	uint32_t len;
	int err;

	if (q->in.size < 12)
		return parquet_bad(&q->in, "too short for a parquet file");
	err = parquet_read_at(&q->in, 0, head, 4);
	err = err ? err : parquet_read_at(&q->in, q->in.size - 8, tail, 8);
	if (err)
		return err;
	if (memcmp(head, "PAR1", 4))
		return parquet_bad(&q->in, "not a parquet file");
	if (!memcmp(tail + 4, "PARE", 4))
		return parquet_bad(&q->in, "an encrypted parquet file");
	if (memcmp(tail + 4, "PAR1", 4))
		return parquet_bad(&q->in, "a parquet file that is cut short: no footer");
	memcpy(&len, tail, 4);
	if (len > q->in.size - 12 || len > FOOTER_MAX)
		return parquet_bad(&q->in, "a footer of %u bytes in a file of %llu", len,
				   (unsigned long long)q->in.size);
	q->footer = malloc((size_t)len + 1);
	if (!q->footer)
		return -ENOMEM;
	err = parquet_read_at(&q->in, q->in.size - 8 - len, q->footer, len);
	return err ? err : parse_footer(q, len);
}

static int open_in(struct parquet **out, const struct parquet_in *in, char *why, size_t cap)
{
	struct parquet *q = calloc(1, sizeof(*q));
	int err;

	if (!q) {
		if (in->fd >= 0)
			close(in->fd);
		snprintf(why, cap, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	q->in = *in;
	err = read_footer(q);
	if (err) {
		snprintf(why, cap, "%s", *q->in.why ? q->in.why : strerror(-err));
		parquet_close(q);
		return err;
	}
	*out = q;
	return 0;
}

int parquet_open(struct parquet **out, const char *path, char *why, size_t cap)
{
	struct parquet_in in = { .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
	struct stat sb;
	int err = 0;

	if (in.fd < 0 || fstat(in.fd, &sb) < 0)
		err = -errno;
	else if (!S_ISREG(sb.st_mode))
		err = -EINVAL;
	if (err) {
		snprintf(why, cap, "%s", strerror(-err));
		if (in.fd >= 0)
			close(in.fd);
		return err;
	}
	in.size = (uint64_t)sb.st_size;
	return open_in(out, &in, why, cap);
}

int parquet_open_bytes(struct parquet **out, const void *bytes, size_t len, char *why, size_t cap)
{
	struct parquet_in in = { .fd = -1, .mem = bytes, .size = len };

	return open_in(out, &in, why, cap);
}

void parquet_close(struct parquet *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < PARQUET_COLS; i++)
		column_fini(&q->col[i]);
	if (q->in.fd >= 0)
		close(q->in.fd);
	free(q->footer);
	free(q);
}

uint64_t parquet_size(const struct parquet *q)
{
	return q->in.size;
}

uint64_t parquet_rows(const struct parquet *q)
{
	return q->rows;
}

const char *parquet_why(const struct parquet *q)
{
	return q->in.why;
}

/* --- columns --- */

static int take(struct parquet *q, size_t i, const struct element *e, int leaf, bool flat)
{
	struct parquet_column *c = &q->col[i];

	if (!flat || e->repetition > 1 || e->type < TYPE_BOOLEAN || e->type > TYPE_BYTE_ARRAY ||
	    e->type == TYPE_INT96)
		return parquet_bad(&q->in, "column %.*s: of a type that aon does not read",
				   (int)e->name_len, e->name);
	c->type = (uint8_t)e->type;
	c->optional = e->repetition == 1;
	c->is_unsigned = e->converted >= 11 && e->converted <= 14;
	q->leaf[i] = leaf;
	return 0;
}

/* The first element is the root. Leaves below others are numbered with the rest, but not flat. */
static int find_columns(struct parquet *q)
{
	struct thrift t = q->schema;
	int64_t children[DEPTH_MAX] = { 0 };
	unsigned depth = 0;
	int leaf = 0, err = 0;

	for (uint32_t i = 0; i < q->elements && !err; i++) {
		struct element e;

		if (!next_element(&t, &e) || e.children < 0)
			return parquet_bad(&q->in, "its schema is damaged");
		while (depth && !children[depth])
			depth--;
		if (i && depth)
			children[depth]--;
		for (size_t k = 0; k < q->cols && !err; k++)
			if (i && depth <= 1 && strlen(q->col[k].name) == e.name_len &&
			    !memcmp(q->col[k].name, e.name, e.name_len))
				err = take(q, k, &e, leaf, !e.children);
		leaf += i && !e.children;
		if (e.children || !i) {
			if (depth + 1 >= DEPTH_MAX)
				return parquet_bad(&q->in, "its schema is too deep");
			children[++depth] = e.children;
		}
	}
	return err;
}

int parquet_select(struct parquet *q, const char *const *col, size_t n, bool *have)
{
	int err;

	n = n < PARQUET_COLS ? n : PARQUET_COLS;
	for (size_t i = 0; i < n; i++) {
		snprintf(q->col[i].name, sizeof(q->col[i].name), "%s", col[i]);
		q->leaf[i] = -1;
	}
	q->cols = n;
	q->group = q->groups;
	q->groups_left = q->group_count;
	q->rows_left = 0;
	q->in.unpacked = 0;
	err = find_columns(q);
	q->broken = err != 0;
	for (size_t i = 0; i < n; i++)
		have[i] = q->leaf[i] >= 0;
	return err;
}

/* --- rows --- */

struct chunk {
	int64_t codec, values, bytes, data, dictionary;
	bool elsewhere;
};

static void chunk_data(struct thrift *t, struct chunk *c)
{
	uint8_t type;

	for (int id = 0; thrift_next(t, &id, &type);) {
		int64_t *to = id == 4    ? &c->codec
			      : id == 5  ? &c->values
			      : id == 7  ? &c->bytes
			      : id == 9  ? &c->data
			      : id == 11 ? &c->dictionary
					 : NULL;

		if (to)
			thrift_int(t, type, to);
		else
			thrift_skip(t, type);
	}
}

static void next_chunk(struct thrift *t, struct chunk *c)
{
	uint8_t type;

	*c = (struct chunk){ .codec = -1, .values = -1 };
	for (int id = 0; thrift_next(t, &id, &type);) {
		c->elsewhere |= id == 1;
		if (id == 3 && thrift_struct(t, type))
			chunk_data(t, c);
		else if (id != 3)
			thrift_skip(t, type);
	}
}

/* A chunk begins with its dictionary, if it has one. */
static int begin_chunk(struct parquet *q, struct parquet_column *col, const struct chunk *c)
{
	int64_t at = c->dictionary > 0 && c->dictionary < c->data ? c->dictionary : c->data;

	if (c->elsewhere || c->codec < 0 || c->codec > UINT8_MAX || c->values < 0 || at < 4 ||
	    c->bytes < 0 || (uint64_t)at > q->in.size ||
	    (uint64_t)c->bytes > q->in.size - (uint64_t)at || (uint64_t)c->values != q->rows_left)
		return parquet_bad(&q->in,
				   "column %s: a chunk of %lld values and %lld bytes at "
				   "byte %lld does not fit",
				   col->name, (long long)c->values, (long long)c->bytes,
				   (long long)at);
	column_begin(col, (uint64_t)at, (uint64_t)c->bytes, (uint64_t)c->values, (uint8_t)c->codec);
	return 0;
}

static int begin_chunks(struct parquet *q, struct thrift t, uint32_t n, unsigned *found)
{
	int err = 0;

	for (uint32_t i = 0; i < n && !err && !t.bad; i++) {
		struct chunk c;

		next_chunk(&t, &c);
		for (size_t k = 0; k < q->cols && !err && !t.bad; k++)
			if (q->leaf[k] == (int)i) {
				err = begin_chunk(q, &q->col[k], &c);
				++*found;
			}
	}
	return err;
}

static int next_group(struct parquet *q)
{
	struct thrift t = q->group, chunks = { NULL, NULL, true };
	unsigned found = 0, want = 0;
	uint32_t n = 0;
	uint8_t type;
	int err;

	q->groups_left--;
	for (int id = 0; thrift_next(&t, &id, &type);) {
		struct thrift list = t;

		if (id == 1 && thrift_list(&list, type, THRIFT_STRUCT, &n))
			chunks = list;
		thrift_skip(&t, type);
	}
	if (!group_rows(&q->group, &q->rows_left) || chunks.bad)
		return parquet_bad(&q->in, "a row group of its footer is damaged");
	if (!q->rows_left)
		return 0;
	err = begin_chunks(q, chunks, n, &found);
	for (size_t i = 0; i < q->cols; i++)
		want += q->leaf[i] >= 0;
	return err || found == want ? err : parquet_bad(&q->in, "a row group lacks a column");
}

int parquet_row(struct parquet *q, struct import_cell *cell)
{
	int err = q->broken ? -EBADMSG : 0;

	while (!err && !q->rows_left) {
		if (!q->groups_left)
			return 0;
		err = next_group(q);
	}
	for (size_t i = 0; i < q->cols && !err; i++) {
		if (q->leaf[i] >= 0)
			err = column_next(&q->in, &q->col[i], &cell[i]);
		else
			cell[i] = (struct import_cell){ .type = CELL_NULL };
	}
	q->broken = err != 0;
	q->rows_left -= !err;
	return err ? err : 1;
}
