/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_kept.c - the file of limits that an aond before has left: daemon/budget/limits_file.h. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/budget/limits_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct allow_jobs jobs = { 0 };
	struct kept k = { 0 };
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	kept_parse(&k, &jobs, text);
	for (size_t i = 0; i < ALLOW_JOBS; i++)
		if (*jobs.row[i].job && allow_empty(&jobs.row[i].allow))
			abort();
	for (size_t i = 0; i < k.n; i++)
		if (k.one[i].pid <= 0 || allow_empty(&k.one[i].allow))
			abort();
	kept_fini(&k);
	free(text);
	return 0;
}
