/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cursor.c - any bytes as how far aon diagnose --follow has read; what is taken is written as it was. */
#include <stdlib.h>
#include <string.h>

#include "follow/cursor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1); /* of its exact size, so that ASan sees its end */
	const struct cursor_job **list;
	struct cursor_job *job;
	size_t n, len;
	void *again;

	memcpy(copy, data, size);
	if (cursor_decode(&job, &n, copy, size) == 0) {
		list = calloc(n + 1, sizeof(void *));
		for (size_t i = 0; i < n; i++)
			list[i] = &job[i];
		again = cursor_encode(list, n, &len);
		if (len != size || memcmp((uint8_t *)again + 16, copy + 16, size - 16))
			abort();
		free(again);
		free(list);
		free(job);
	}
	free(copy);
	return 0;
}
