/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_batch.c - any bytes as a batch that came from a file or a node. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "ship/spool/batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_one(const uint8_t *data, size_t size)
{
	struct rowbin rows = { 0 };
	struct batch_head h;
	char token[BATCH_TOKEN];

	if (batch_parse(&h, data, size) == 0) {
		batch_token(token, &h);
		if (h.stored + BATCH_HEAD != size)
			abort();
		if (batch_unpack(&rows, &h, data) == 0 && rows.len != h.bytes)
			abort();
	}
	rowbin_fini(&rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1); /* of its exact size, so that ASan sees its end */
	struct batch_head h;

	memcpy(copy, data, size);
	read_one(copy, size);
	if (size >= BATCH_HEAD) { /* with its sums made right, what it holds is looked at, too */
		memcpy(&h, copy, sizeof(h));
		h.stored = (uint32_t)(size - BATCH_HEAD);
		h.body_sum = XXH3_64bits(copy + BATCH_HEAD, h.stored);
		h.sum = XXH3_64bits(&h, offsetof(struct batch_head, sum));
		memcpy(copy, &h, sizeof(h));
		read_one(copy, size);
	}
	free(copy);
	return 0;
}
