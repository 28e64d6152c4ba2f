/* SPDX-License-Identifier: Apache-2.0 */
/* column.h - a column of a Parquet file: where its bytes are, and the page that is being read. */
#pragma once

#include "import/parquet/encode.h"
#include "import/parquet/parquet.h"

enum { TYPE_BOOLEAN, TYPE_INT32, TYPE_INT64, TYPE_INT96, TYPE_FLOAT, TYPE_DOUBLE, TYPE_BYTE_ARRAY };

/* Where the bytes of the file are. */
struct parquet_in {
	int fd;             /* owned; -1: memory */
	const uint8_t *mem; /* borrowed */
	uint64_t size;
	uint64_t unpacked; /* bytes, of all pages: limited by the size */
	uint64_t held;     /* bytes of all buffers: limited */
	char why[160];
};

struct parquet_buf {
	uint8_t *p; /* owned */
	size_t cap, len;
};

/* Says what is wrong; the first one counts. -EBADMSG. */
int parquet_bad(struct parquet_in *in, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int parquet_read_at(struct parquet_in *in, uint64_t at, void *buf, size_t len);
int parquet_room(struct parquet_in *in, struct parquet_buf *b, size_t need);

struct parquet_column {
	char name[64];
	uint8_t type;
	bool optional, is_unsigned;
	/* The chunk of this row group. */
	uint64_t at, end; /* its bytes of the file that are left */
	uint64_t left;    /* values after this page */
	uint8_t codec;
	/* Its dictionary. */
	struct parquet_buf dict;
	uint32_t *text; /* owned: where its texts are in dict */
	size_t dicts, texts_cap;
	/* The page. */
	struct parquet_buf page;
	uint64_t in_page; /* values that are left */
	uint8_t encoding;
	const uint8_t *p, *page_end; /* of plain values */
	unsigned bit;                /* of plain booleans */
	struct hybrid levels, index;
	struct delta delta;
};

/* Begins with a chunk of `values`. */
void column_begin(struct parquet_column *c, uint64_t at, uint64_t len, uint64_t values,
		  uint8_t codec);
int column_next(struct parquet_in *in, struct parquet_column *c, struct import_cell *cell);
void column_fini(struct parquet_column *c);
