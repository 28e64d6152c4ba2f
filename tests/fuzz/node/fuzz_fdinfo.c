/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_fdinfo.c - any bytes as a DRM driver's fdinfo, as nvidia-uvm's statistics, and as a line of maps. */
#include <stdlib.h>
#include <string.h>

#include "gpuuse/fdinfo.h"
#include "gpuuse/maps.h"
#include "gpuuse/uvm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1); /* without a NUL: a read past the end is seen */
	struct maps_seen maps = { 0 };
	struct uvm_stats uvm;
	struct fdinfo f;
	int rc;

	memcpy(copy, data, size);
	rc = fdinfo_parse(&f, copy, size);
	if (!rc != !!*f.driver || f.engines > FDINFO_ENGINES || f.regions > FDINFO_REGIONS)
		abort();
	for (uint32_t i = 0; i < f.engines; i++)
		if (!fdinfo_name_ok(f.engine[i].name) || !f.engine[i].capacity)
			abort();
	for (uint32_t i = 0; i < f.regions; i++)
		if (!fdinfo_name_ok(f.region[i].name) || !f.region[i].has)
			abort();
	uvm_parse(&uvm, copy, size);
	if (size) {
		copy[size - 1] = '\0';
		maps_line(&maps, copy);
	}
	free(copy);
	return 0;
}
