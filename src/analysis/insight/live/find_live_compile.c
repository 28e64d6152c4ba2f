/* SPDX-License-Identifier: Apache-2.0 */
/* find_live_compile.c - rules on compilations while a thread has its steps, and why they were needed. */
#include <string.h>

#include "insight/live/find_live.h"

/* "torch.compile: recompiled f (a.py:3): why", "jax compiles again: f: why": the last one. */
static const char *recompiled(const struct insight *in, uint32_t process, uint64_t *times)
{
	static const char *const head[] = { "torch.compile: recompiled ", "jax compiles again: " };
	const struct trace *t = in->t;
	const char *last = NULL;

	*times = 0;
	for (size_t i = 0; in->kinds[EVENT_MARK] && t->events && i < t->events; i++) {
		const struct event *e = &t->event[i];
		const char *text = trace_text(t, e->name);

		if (e->kind != EVENT_MARK || t->track[e->track].process != process)
			continue;
		for (size_t k = 0; k < 2; k++) {
			if (strncmp(text, head[k], strlen(head[k])) != 0)
				continue;
			(*times)++;
			last = text + strlen(head[k]);
		}
	}
	return last;
}

bool live_again_fill(const struct insight *in, struct finding *f)
{
	const struct host_account *a = f->on->host;
	uint64_t times;
	const char *why = recompiled(in, a->process, &times);

	if (!why || times < 2)
		return false;
	live_judge(a, f, 1u << ACCOUNT_COMPILE);
	SAY(title, "Functions are compiled again: %.150s", why);
	live_say_parts(f, a, 1u << ACCOUNT_COMPILE);
	finding_seen(f, "%s times; the last: %.150s", N(times), why);
	finding_facts(f, FACT_N("times", times));
	live_say_code(in, f, 1u << ACCOUNT_COMPILE);
	SAY(action,
	    "keep shapes, types and static arguments the same (pad the last batch, mark_dynamic, "
	    "jit once outside the loop)");
	return true;
}

uint64_t live_again_cost(const struct insight *in, const struct insight_device *d)
{
	uint64_t times;

	return recompiled(in, d->host->process, &times) && times >= 2
		       ? d->account.ns[ACCOUNT_COMPILE]
		       : UINT64_MAX;
}

uint64_t live_compiling_cost(const struct insight *in, const struct insight_device *d)
{
	if (live_again_cost(in, d) != UINT64_MAX)
		return UINT64_MAX;
	return live_is_once(d->host, 1u << ACCOUNT_COMPILE) ? 0 : d->account.ns[ACCOUNT_COMPILE];
}

bool live_unjitted(const struct insight *in, const struct host_account *a, uint32_t causes)
{
	double all = 0, some = 0;

	for (size_t i = 0; i < a->rows; i++) {
		struct stack_row s = trace_stack(in->t, a->row[i].stack);

		if (!(causes & 1u << a->row[i].cause) || !s.n)
			continue;
		all += a->row[i].ns;
		some += strstr(trace_text(in->t, s.frame[0].file), "/jax/_src/") ? a->row[i].ns : 0;
	}
	return some > all / 4;
}
