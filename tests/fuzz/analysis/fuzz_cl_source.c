/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cl_source.c - any text as OpenCL C, and what is said of it as a mark; also any text as that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "theory/cl_source.h"
#include "theory/source_work.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct cl_text s;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct geo g = { .grid = { 3, 2, 1 }, .block = { 4, 0, 1 } };
	char *text = malloc(size + 1), mark[CL_SOURCE_NAME + 300];
	struct source_works *w = NULL;
	struct roof_work is;

	if (!text || source_works_new(&w))
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	cl_source_begin(&s, text, size);
	while (cl_source_next(&s)) {
		size_t n = (size_t)snprintf(mark, sizeof(mark), SOURCE_WORK_MARK "%s ", s.k.name);

		if (!cl_source_text(mark + n, sizeof(mark) - n, &s.k))
			continue;
		source_works_add(w, mark);
		source_work(&is, w, source_kernel(s.k.name), &g);
	}
	source_works_add(w, text);
	source_works_free(w);
	free(text);
	return 0;
}
