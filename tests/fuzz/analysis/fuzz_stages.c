/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_stages.c - any text as a timeline of pipeline stages. */
#include <stdlib.h>
#include <string.h>

#include "import/stages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t world;

/* What is made of it is a record that its own reader takes. */
static int take(void *arg, const struct step_rec *rec, size_t n)
{
	uint8_t buf[STEP_MAX];
	struct step_rec again;

	(void)arg;
	for (size_t i = 0; i < n; i++) {
		int len = step_rec_encode(buf, sizeof(buf), &rec[i]);

		if (len < 0 || rec[i].world != world || rec[i].step != rec[0].step ||
		    step_rec_decode(&again, buf, (size_t)len) != len)
			abort();
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1); /* of its exact size, so that ASan sees its end */

	memcpy(copy, data, size);
	stages_is(copy, size);
	stages_read(copy, size, &world, take, NULL);
	free(copy);
	return 0;
}
