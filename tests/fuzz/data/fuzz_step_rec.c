/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_step_rec.c - any bytes as the record of a rank's step. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "model/step_rec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is taken is whole, and says the same when it is written again. */
static void read_one(const uint8_t *data, size_t size)
{
	uint8_t again[STEP_MAX];
	struct step_rec r;
	int n = step_rec_decode(&r, data, size);

	if (n <= 0)
		return;
	if ((size_t)n > size || r.slots > STEP_SLOTS || r.rank >= r.world || !(r.t.step >= 0))
		abort();
	if (step_rec_encode(again, sizeof(again), &r) != n || memcmp(again, data, (size_t)n))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t at = offsetof(struct step_rec, check), head = offsetof(struct step_rec, slot);
	uint8_t *copy = malloc(size ? size : 1); /* of its exact size, so that ASan sees its end */
	uint32_t check = 0;
	uint16_t len;

	memcpy(copy, data, size);
	read_one(copy, size);
	if (size >= head) { /* with its sum made right, what it holds is looked at, too */
		memcpy(&len, copy + offsetof(struct step_rec, size), sizeof(len));
		memcpy(copy + at, &check, sizeof(check));
		if (len >= head && len <= size)
			check = (uint32_t)XXH3_64bits(copy, len);
		memcpy(copy + at, &check, sizeof(check));
		read_one(copy, size);
	}
	free(copy);
	return 0;
}
