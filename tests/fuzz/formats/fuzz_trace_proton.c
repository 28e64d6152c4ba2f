/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_trace_proton.c - any bytes as sums of Triton's Proton. */
#include <stdlib.h>

#include "import/import.h"
#include "model/trace_sum.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct import_opts o = { .sums = true, .window = 64 + (size ? data[size / 2] : 0) * 3u };
	struct import_why why = { "" };
	struct trace *t;

	if (trace_new(&t) < 0)
		return 0;
	if (import_bytes(t, "fuzz.hatchet", data, size, &o, &why) < 0) {
		if (!*why.text || t->files)
			abort();
	} else {
		struct trace_sums s = trace_sums(t);

		for (size_t i = 0; i < s.n; i++)
			if (s.sum[i].parent > i || s.sum[i].name >= t->names)
				abort();
		if (t->files != 1 ||
		    t->file->rows != t->file->imported + t->file->left + t->file->lost)
			abort();
	}
	trace_free(t);
	return 0;
}
