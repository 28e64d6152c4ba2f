/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_score.c - any bytes as the truth of a case, as findings, and as records of steps. */
#include <stdlib.h>
#include <string.h>

#include "lab/folder.h"
#include "model/step_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int step(void *arg, const struct step_rec *rec, size_t n)
{
	(void)arg;
	for (size_t i = 0; i < n; i++)
		if (rec[i].world != 8 || rec[i].rank >= 8)
			abort();
	return n <= 8 ? 0 : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct corpus_truth t;
	struct folder_lines l;
	struct folder_why why;
	struct score s = { 0 };
	struct score_said said = { 0 };
	FILE *f;
	bool has_lines = folder_lines(&l, (const char *)data, size, &why) == 0;

	if (folder_truth(&t, (const char *)data, size, &why) == 0) {
		struct diag_finding is = { .part = { { DIAG_RANK, 1 } }, .parts = 1, .act = true };

		score_said_add(&said, &is);
		score_case(&s, &t, &said);
		corpus_truth_fini(&t);
	}
	for (size_t i = 0; has_lines && i < l.n; i++)
		if (!l.line[i].f.parts || l.line[i].f.parts > DIAG_PARTS ||
		    l.line[i].f.kind >= DIAG_KINDS)
			abort();
	if (has_lines)
		folder_lines_fini(&l);
	f = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
	if (f) {
		step_file_read(f, 8, step, NULL);
		fclose(f);
	}
	score_said_fini(&said);
	score_fini(&s);
	return 0;
}
