/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_devices.c - any bytes as a file of devices. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "theory/devices.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct gpu *g)
{
	double best = 0;

	for (int t = 0; t < GPU_TYPES; t++)
		best = fmax(best, gpu_peak(g, (enum gpu_type)t));
	if (!*g->key || !*g->name || strnlen(g->key, sizeof(g->key)) == sizeof(g->key) ||
	    strnlen(g->name, sizeof(g->name)) == sizeof(g->name) || !isfinite(best) || best <= 0 ||
	    !isfinite(g->memory_Bps) || g->memory_Bps <= 0 || !isfinite(g->launch_ns))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gpu g[GPU_ADDED];
	struct devices_why why = { 0 };
	char *copy = malloc(size ? size : 1); /* of its exact size, so that ASan sees its end */
	size_t lines = 1;
	int n;

	memcpy(copy, data, size);
	for (size_t i = 0; i < size; i++)
		lines += copy[i] == '\n';
	n = devices_parse(g, copy, size, &why);
	if (n < 0 && (!*why.text || why.line < 1 || why.line > lines))
		abort();
	for (int i = 0; i < n; i++)
		check(&g[i]);
	free(copy);
	return 0;
}
