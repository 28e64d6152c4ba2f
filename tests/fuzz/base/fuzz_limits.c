/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_limits.c - any bytes as the file of limits of aon check. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/limit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct limits_why why = { 0 };
	struct limits l;
	char *copy = malloc(size ? size : 1); /* of its exact size, so that ASan sees its end */
	size_t lines = 1;

	memcpy(copy, data, size);
	for (size_t i = 0; i < size; i++)
		lines += copy[i] == '\n';
	if (limits_parse(&l, copy, size, &why) < 0) {
		if (!*why.text || why.line < 1 || why.line > lines)
			abort();
	} else {
		if (l.n > LIMITS_MAX || l.n > lines)
			abort();
		for (size_t i = 0; i < l.n; i++)
			if (l.limit[i].metric >= METRICS || !isfinite(l.limit[i].value))
				abort();
	}
	free(copy);
	return 0;
}
