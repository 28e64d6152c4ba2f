/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_hist.c - any bytes as the sketch of a window that came back from the cluster. */
#include <stdlib.h>
#include <string.h>

#include "ship/source/fold.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is taken says the same when it is written and read again, if all of it has room. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1), again[FOLD_HIST_MAX];
	struct sketch a = { 0 }, b = { 0 };
	size_t len;

	memcpy(copy, data, size);
	if (size < 200 && fold_unhist(&a, copy, size) == 0) {
		len = fold_hist(again, &a);
		if (fold_unhist(&b, again, len) || b.count > a.count)
			abort();
		if (len <= 200 && sketch_quantile(&a, 0.5) != sketch_quantile(&b, 0.5))
			abort();
	}
	sketch_fini(&a);
	sketch_fini(&b);
	free(copy);
	return 0;
}
