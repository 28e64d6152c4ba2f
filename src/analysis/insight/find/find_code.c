/* SPDX-License-Identifier: Apache-2.0 */
/* find_code.c - the code that a GPU waited for, from samples of the launching thread, in a finding. */
#include <stdio.h>
#include <string.h>

#include "insight/find/finding.h"

/* What to do about code that is in this state; %s is the code. */
static const char *remedy(const struct sample_blame *b)
{
	static const char *const by_state[SAMPLE_STATES] = {
		[SAMPLE_RUNNING] = "make %s cheaper or take it out of the loop",
		[SAMPLE_RUNNABLE] = "give %s a CPU: something else runs on those of this process",
		[SAMPLE_THROTTLED] = "raise the CPU quota of the container, or make %s cheaper",
		[SAMPLE_GIL] = "see who else runs Python while %s waits for the GIL",
		[SAMPLE_LOCK] = "see who holds the lock that %s waits for",
		[SAMPLE_IO] = "do what %s reads or writes ahead, in another thread or process",
		[SAMPLE_FAULT] = "keep what %s touches in memory: allocate once, read ahead",
		[SAMPLE_SLEEP] = "take the sleep in %s out of the loop",
		[SAMPLE_WAIT] = "do what %s waits for ahead, in another thread or process",
	};

	if (b->held)
		return "move %s to another process, or to code that releases the GIL";
	return by_state[b->state] ? by_state[b->state] : by_state[SAMPLE_RUNNING];
}

static void say_action(const struct insight *in, struct finding *f, const struct sample_blame *b)
{
	const char *text = remedy(b), *slot = strstr(text, "%s");
	char code[FRAME_LABEL];

	frame_called(in->t, &b->frame, code);
	SAY(action, "%.*s%.100s%s", (int)(slot - text), text, code, slot + 2);
}

enum code_seen finding_code(const struct insight *in, struct finding *f, uint32_t causes)
{
	struct samples_want w = { in->t->device[f->on->device].process, SAMPLES_ALL, 0, causes };
	enum code_seen seen = CODE_NONE;
	char what[BLAME_LABEL];
	struct samples_sum s;
	struct share all;

	if (!in->samples.rows || samples_blame(&s, in, &w) < 0)
		return CODE_NONE;
	if (samples_enough(&s) && samples_first(&s, &all)->frame.name) {
		const struct sample_blame *b = samples_first(&s, &all);

		seen = CODE_NAMED;
		finding_seen(f, "%s %% (+-%s) of %s samples in these gaps: %.120s", P(all.share),
			     P(all.error), N(s.count), blame_text(in->t, b, &all, what));
		finding_facts(f, FACT_X("code_share", all.share), FACT_X("code_error", all.error));
		if (all.share > 2 * all.error && all.share >= 0.25)
			say_action(in, f, b);
	} else {
		seen = CODE_FEW;
		finding_seen(
			f,
			"not enough samples in these gaps to name the code: %s, and %u are needed",
			N(s.count), SAMPLES_ENOUGH);
	}
	finding_facts(f, FACT_N("samples", s.count));
	samples_fini(&s);
	return seen;
}
