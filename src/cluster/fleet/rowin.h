/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rowin.h - parses rows of an answer in ClickHouse's RowBinary, as the bytes come.
 *
 * The caller passes a letter for each column that it asked for, and casts in the question, so that
 * nothing depends on the type that a version of the server gives an expression:
 *
 *	q UInt64   l Int64   d Float64   s String
 *
 * The bytes come from the network: lengths are checked before they are used, a row is passed on
 * completely or not at all, and at most one row is held in memory.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define ROWIN_COLUMNS 24u
#define ROWIN_ROW     (4u << 20) /* limit for a row; a longer one is an error */

struct rowin_field {
	union {
		uint64_t u;
		int64_t i;
		double d; /* may be NaN or infinite */
	};
	/* for 's': NUL-terminated, `len` bytes, valid until the function returns */
	const char *text;
	size_t len;
};

/* 0 continues; any other result ends the query and is returned. */
typedef int rowin_fn(void *arg, const struct rowin_field *f);

struct rowin {
	const char *types; /* borrowed */
	rowin_fn *fn;
	void *arg;
	uint64_t rows, most; /* rows so far; more than `most` are refused */
	uint8_t *held;       /* owned: the incomplete row at the end of the last call */
	size_t used, cap;
};

void rowin_init(struct rowin *r, const char *types, uint64_t most, rowin_fn *fn, void *arg);
void rowin_fini(struct rowin *r);

/* 0, the result of fn, -EFBIG: too many rows or too long a row; -ENOMEM. */
int rowin_feed(struct rowin *r, const void *bytes, size_t n);
/* Call it at the end. -EBADMSG: the answer stops within a row. */
int rowin_end(const struct rowin *r);
