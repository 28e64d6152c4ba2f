/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_gpu_result.c - what the process of a check wrote before it ended: cli/node/gpu_result.h. */
#include <stdlib.h>
#include <string.h>

#include "cli/node/gpu_result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gpu_result r;
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	if (!gpu_result_parse(&r, text, size) && !r.whole && r.verdict != GPU_FAIL)
		abort();
	if (r.facts > GPU_FACTS || r.sets > GPU_SETS || strlen(r.text) >= GPU_TEXT)
		abort();
	for (unsigned i = 0; i < r.facts; i++)
		if (!gpu_result_fact(&r, r.fact[i].key))
			abort();
	for (unsigned i = 0; i < 2 * GPU_SETS; i++) {
		gpu_result_add(&r, "more");
		gpu_result_set(&r, "graphs", "node");
	}
	free(text);
	return 0;
}
