/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet.h - reads the rows of a Parquet file, as Arrow's writer makes them.
 *
 *	parquet.c   the file: its footer, columns by name, row groups one after the other
 *	column.c    the pages of a column
 *	encode.c    the encodings of values in a page
 *	thrift.c    the encoding of metadata
 *
 * Columns without nesting, of the types BOOLEAN, INT32, INT64, FLOAT, DOUBLE and BYTE_ARRAY. Encodings
 * PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY, DELTA_BINARY_PACKED, and RLE of booleans; pages of version 1
 * and 2; uncompressed, snappy, gzip and zstd. Any other column is an error if it is asked for, else
 * it is not looked at. The file is untrusted: memory, pages, and how many rows its size can hold
 * are limited.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/cell.h"

#define PARQUET_COLS 32u /* that may be asked for at a time */

struct parquet;

/* -EBADMSG: no such file, or damaged. `why` then says what, in one line without the file's name. */
int parquet_open(struct parquet **out, const char *path, char *why, size_t cap);
/* Of bytes, which are borrowed until it is closed. */
int parquet_open_bytes(struct parquet **out, const void *bytes, size_t len, char *why, size_t cap);
void parquet_close(struct parquet *q); /* NULL is allowed */

uint64_t parquet_size(const struct parquet *q);

/* Goes before the first row, of these columns from now on. have[i]: whether the file has it; its
 * cell is NULL in every row otherwise. -EBADMSG: one of them cannot be read. */
int parquet_select(struct parquet *q, const char *const *col, size_t n, bool *have);

/* The next row: 1, 0 at the end, or -EBADMSG: from here on nothing can be read. */
int parquet_row(struct parquet *q, struct import_cell *cell);

/* The row groups' own word on how many rows they have. */
uint64_t parquet_rows(const struct parquet *q);

const char *parquet_why(const struct parquet *q); /* after -EBADMSG */
