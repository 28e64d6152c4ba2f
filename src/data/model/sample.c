/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c - see sample.h. */
#include "model/sample.h"

const char *sample_state_word(enum sample_state s)
{
	static const char *const word[SAMPLE_STATES] = {
#define STATE(num, NAME, text, means) [num] = text,
#include "model/sample.tbl.h"
	};

	return s > SAMPLE_NONE && s < SAMPLE_STATES ? word[s] : "?";
}

/* How good a frame is to name: the program's own Python code before its own native code. */
static int worth(const struct stack_frame *f)
{
	return (f->flags & FRAME_USER ? 2 : 0) + (f->kind == FRAME_PYTHON);
}

uint32_t stack_blame(const struct stack_frame *f, uint32_t n)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t i = 0; i < n; i++)
		if (best == UINT32_MAX || worth(&f[i]) > worth(&f[best]))
			best = i;
	return best;
}
