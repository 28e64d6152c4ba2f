/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out.h - text on a terminal or in a file: width, colours, signs, and tables that fit.
 *
 * On a terminal nothing wraps: the name column gives way first (middle ellipsis), then whole
 * columns by their `drop` rank. Elsewhere names are whole and there are no colours.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fmt.h"
#include "cli/core/cli.h"

#define OUT_TEXT 2048u /* a clean name, cut here at the latest */

enum out_style { OUT_PLAIN, OUT_BOLD, OUT_WARN, OUT_FAIL, OUT_COPY, OUT_DIM };

struct out {
	FILE *f;      /* borrowed */
	size_t width; /* columns to use; SIZE_MAX: as many as it takes */
	bool tty, color, ascii, all;
};

void out_init(struct out *out, FILE *f, const struct opts *o);

/* The escape that begins a style (OUT_PLAIN ends it), or "". */
const char *out_style(const struct out *out, enum out_style style);

/* One line in a style, cut to the width. */
void out_line(const struct out *out, enum out_style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* What to type next, below an answer. */
void out_next(const struct out *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* `left` and `right` on one line if they fit, else on two. */
void out_ends(const struct out *out, enum out_style style, const char *left, const char *right);

/* A time with its unit, and the name of a unit, with the sign for micro where there is one. */
char *out_time(const struct out *out, char *buf, size_t cap, uint64_t ns);
const char *out_unit(const struct out *out, const char *unit);

/* --- tables --- */

#define COL_LEFT  0x1u /* text; numbers stand right, on the decimal point */
#define COL_FLEX  0x2u /* the name: gives way first */
#define TABLE_COL 16u

struct col {
	const char *head;
	uint32_t flags;
	uint32_t drop; /* the highest goes first when the width is too small; 0: never */
};

/* clang-format off */
#define COL_NUM(head, drop)  { head, 0, drop }
#define COL_TEXT(head, drop) { head, COL_LEFT, drop }
#define COL_NAME(head, drop) { head, COL_LEFT | COL_FLEX, drop }
/* clang-format on */

struct table {
	const struct col *col;
	size_t cols, cells;
	const char *unit[TABLE_COL]; /* second line of the head, if any */
	char **cell;                 /* owned, row by row */
	int err;
};

void table_init(struct table *t, const struct col *col, size_t cols);
void table_fini(struct table *t);
void table_add(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A name from elsewhere: made safe for `out`. */
void table_add_text(struct table *t, const struct out *out, const char *text);
void table_print(const struct table *t, const struct out *out, size_t indent);
void table_done(struct table *t, const struct out *out, size_t indent); /* prints and frees it */

/* A time in the unit of its column; UINT64_MAX: unknown. */
void table_add_time(struct table *t, uint64_t ns, const struct fmt_unit *u, unsigned decimals);
