/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_gpu_conf.c - a gpu.conf of any bytes: abi/gpu_conf.h. What is accepted is written and read alike. */
#include <stdlib.h>
#include <string.h>

#include "abi/gpu_conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpu_conf a, b, none;
	char *text = malloc(size + 1), out[GPU_CONF_BYTES];
	size_t n;

	memcpy(text, data, size);
	gpu_conf_defaults(&none);
	if (gpu_conf_parse(&a, text, size)) {
		if (memcmp(&a, &none, sizeof(a)) != 0)
			abort();
	} else {
		n = gpu_conf_write(&a, out, sizeof(out));
		if (n + 1 >= sizeof(out) || gpu_conf_parse(&b, out, n) ||
		    gpu_conf_differs(&b, a.driver, a.cuda, a.cupti))
			abort();
		if (a.graphs != b.graphs || a.late_ms != b.late_ms || a.fidelity != b.fidelity ||
		    a.late_ms > 1000 || a.buffer_kib < 4 || strcmp(a.why, b.why) != 0)
			abort();
	}
	free(text);
	return 0;
}
