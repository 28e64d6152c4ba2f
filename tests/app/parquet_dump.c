/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_dump.c - prints the rows of a Parquet file, one JSON array a line; texts as hexadecimal.
 *
 *	parquet_dump FILE COLUMN...      - is NULL of a column that the file lacks
 */
#include <stdio.h>

#include "import/parquet/parquet.h"

static void print(const struct import_cell *c)
{
	switch (c->type) {
	case CELL_NULL:
		fputs("null", stdout);
		break;
	case CELL_INT:
		printf("%lld", (long long)c->i);
		break;
	case CELL_REAL:
		printf("\"%a\"", c->d);
		break;
	case CELL_TEXT:
		putchar('"');
		for (size_t i = 0; i < c->len; i++)
			printf("%02x", (unsigned char)c->s[i]);
		putchar('"');
		break;
	}
}

int main(int argc, char *argv[])
{
	size_t n = argc > 2 ? (size_t)argc - 2 : 0;
	struct import_cell row[PARQUET_COLS];
	bool have[PARQUET_COLS];
	struct parquet *q;
	char why[256];
	int r;

	if (!n || n > PARQUET_COLS)
		return 2;
	if (parquet_open(&q, argv[1], why, sizeof(why)) < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], why);
		return 1;
	}
	r = parquet_select(q, (const char *const *)argv + 2, n, have);
	while (r >= 0 && (r = parquet_row(q, row)) > 0)
		for (size_t i = 0; i < n; i++) {
			putchar(i ? ',' : '[');
			print(&row[i]);
			fputs(i + 1 == n ? "]\n" : "", stdout);
		}
	if (r < 0)
		fprintf(stderr, "%s: %s\n", argv[1], parquet_why(q));
	parquet_close(q);
	return r < 0;
}
