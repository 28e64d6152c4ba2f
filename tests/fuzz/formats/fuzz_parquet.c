/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_parquet.c - any bytes as a Parquet file. What its footer says is set right where it only
 * guards the rest: the magic numbers and the footer's length, if it lies beyond the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/parquet/parquet.h"
#include "import/unpack.h"

#define ROWS_MAX 200000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_rows(struct parquet *q)
{
	static const char *const cols[] = { "a", "b", "c", "d", "e", "f" };
	struct import_cell row[6];
	bool have[6];
	int r = parquet_select(q, cols, 6, have), n = 0;

	while (!r && n++ < ROWS_MAX && (r = parquet_row(q, row)) > 0) {
		r = 0;
		for (size_t i = 0; i < 6; i++) {
			volatile char last = 0;

			if (row[i].type != CELL_NULL && !have[i])
				abort();
			if (row[i].type == CELL_TEXT && row[i].len)
				last = row[i].s[row[i].len - 1];
			(void)last;
		}
	}
	if (r < 0 && !*parquet_why(q))
		abort();
}

static void unpack_all(const uint8_t *data, size_t size)
{
	struct unpack_in in = { data + 1, size - 1 };
	uint8_t out[512], *grown = NULL;
	size_t len = 0;

	unpack_snappy(out, data[0] * 2u, in);
	unpack_zlib(out, data[0] * 2u, in);
	unpack_zstd(out, data[0] * 2u, in);
	if (!unpack_grow_zstd(&grown, &len, 1u << 20, in) && len > 2u << 20)
		abort();
	free(grown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct parquet *q;
	char why[256] = "";
	uint8_t *own;

	if (size < 2)
		return 0;
	unpack_all(data, size);
	own = malloc(size);
	if (!own)
		return 0;
	memcpy(own, data, size);
	if (size >= 12) {
		memcpy(own, "PAR1", 4);
		memcpy(own + size - 4, "PAR1", 4);
	}
	if (!parquet_open_bytes(&q, own, size, why, sizeof(why))) {
		read_rows(q);
		read_rows(q);
		parquet_close(q);
	} else if (!*why) {
		abort();
	}
	free(own);
	return 0;
}
