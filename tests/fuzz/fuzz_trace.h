/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_trace.h - any bytes as a trace; of JSON through a window of a size that they choose. */
#ifndef AON_FUZZ_TRACE_H
#define AON_FUZZ_TRACE_H
#include <stdlib.h>

#include "import/import.h"
#include "model/trace.h"

static inline int fuzz_trace(const char *path, const uint8_t *data, size_t size)
{
	struct import_opts o = { .window = 64 + (size ? data[size / 2] : 0) * 3u };
	struct import_why why = { "" };
	struct trace *t;

	if (trace_new(&t) < 0)
		return 0;
	if (import_bytes(t, path, data, size, &o, &why) < 0) {
		if (!*why.text || t->files)
			abort();
	} else {
		const struct trace_file *f = t->file;

		if (t->files != 1 || f->rows != f->imported + f->left + f->lost)
			abort();
		if (trace_seal(t) < 0)
			abort();
		for (size_t i = 0; i < t->events; i++)
			if (t->event[i].name >= t->names || t->event[i].start_ns > INT64_MAX ||
			    t->event[i].dur_ns > INT64_MAX)
				abort();
	}
	trace_free(t);
	return 0;
}

#endif /* AON_FUZZ_TRACE_H */
