/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_export.c - any bytes as a Chrome trace, and what came of them in every format. */
#include <stdlib.h>

#include "export/export.h"
#include "import/import.h"
#include "model/trace.h"

static int take(void *arg, const void *bytes, size_t n)
{
	uint64_t *sum = arg;

	for (size_t i = 0; i < n; i++)
		*sum = *sum * 31 + ((const uint8_t *)bytes)[i];
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct export_count n;
	struct import_why why;
	struct trace *t;
	uint64_t sum = 0;
	int err;

	if (trace_new(&t) < 0)
		return 0;
	err = import_bytes(t, "fuzz.json", data, size, NULL, &why);
	err = err ? err : trace_seal(t);
	for (int i = 0; i < EXPORT_COUNT && !err; i++) {
		struct export_opts o = {
			.format = (enum export_format)i, .file = -1, .write = take, .arg = &sum
		};

		/* Every event has its place, or is counted. */
		if (export_trace(t, &o, &n) < 0)
			abort();
		if (i != EXPORT_PPROF && i != EXPORT_COLLAPSED && n.events + n.left != t->events)
			abort();
	}
	trace_free(t);
	return 0;
}
