/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_rowbin.c - any bytes as rows of a table. */
#include <stdlib.h>
#include <string.h>

#include "ship/rowbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte says which table. A row that is taken is written as the same bytes, but for its day. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ship_table *t = size ? ship_table(data[0] % SHIP_TABLES) : NULL;
	struct rowbin again = { 0 };
	char row[2048];
	uint8_t *copy;
	uint16_t day;
	int n;

	if (!t)
		return 0;
	copy = malloc(size); /* of its exact size, so that ASan sees its end */
	memcpy(copy, data + 1, size - 1);
	n = rowbin_get(t, t->cols, copy, size - 1, row);
	if (n > 0) {
		if ((size_t)n > size - 1 || rowbin_put(&again, t, row) || again.len != (size_t)n)
			abort();
		rowbin_check(t, t->cols, copy, size - 1, 2, &day);
	}
	rowbin_fini(&again);
	free(copy);
	return 0;
}
