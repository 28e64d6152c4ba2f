/* SPDX-License-Identifier: Apache-2.0 */
/* find_live_start.c - does a step wait for its input because workers are started anew? */
#include <string.h>

#include "insight/live/find_live.h"

#define MOSTLY \
	0.3 /* of the input: the first batch of new workers is late as well, and is not counted */

/* The loader makes workers, or ends those that it had. */
static bool starts(const struct trace *t, uint32_t stack)
{
	static const char *const name[] = { "__iter__", "_get_iterator", "_shutdown_workers" };
	struct stack_row s = trace_stack(t, stack);

	for (uint32_t i = 0; i < s.n; i++) {
		const char *function = trace_text(t, s.frame[i].name);

		if (!strstr(trace_text(t, s.frame[i].file), "/torch/utils/data/dataloader.py"))
			continue;
		for (size_t k = 0; k < sizeof(name) / sizeof(name[0]); k++)
			if (strstr(function, name[k]))
				return true;
	}
	return false;
}

bool live_starts_workers(const struct insight *in, const struct host_account *a)
{
	double all = 0, some = 0;
	uint64_t count = 0;

	for (size_t i = 0; a->workers && i < a->rows; i++) {
		const struct host_sample *r = &a->row[i];

		if (r->cause != ACCOUNT_INPUT)
			continue;
		all += r->ns;
		count += r->count;
		some += starts(in->t, r->stack) ? r->ns : 0;
	}
	return count >= SAMPLES_ENOUGH && some > MOSTLY * all;
}
