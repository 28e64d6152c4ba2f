/* SPDX-License-Identifier: Apache-2.0 */
/* find_compile.c - the rule on functions that are compiled again, by JAX or torch.compile. */

#include "insight/find/finding.h"

#define NAME 60 /* of a name in a sentence */

/* The first compilation of a function is what it costs to have one. */
struct again {
	const struct insight_compile *most; /* NULL: none was compiled again */
	uint64_t ns, most_ns;
};

static struct again look(const struct insight *in, const struct insight_device *d)
{
	uint32_t process = in->t->device[d->device].process;
	struct again a = { NULL, 0, 0 };

	for (size_t i = 0; i < in->compiles; i++) {
		const struct insight_compile *c = &in->compile[i];
		uint64_t ns = c->ns - c->first_ns;

		if (c->process != process || c->count < 2)
			continue;
		a.ns += ns;
		if (!a.most || ns > a.most_ns || (ns == a.most_ns && c->name < a.most->name)) {
			a.most = c;
			a.most_ns = ns;
		}
	}
	return a;
}

static uint64_t compile_cost(const struct insight *in, const struct insight_device *d)
{
	struct again a = look(in, d);

	return a.ns ? a.ns : UINT64_MAX;
}

static bool compile_fill(const struct insight *in, struct finding *f)
{
	struct again a = look(in, f->on);
	uint64_t times;

	if (!a.ns)
		return false;
	times = a.most->count - 1;
	f->sure = SURE_HIGH; /* compilations were recorded as such */
	SAY(title, "Functions are recompiled repeatedly");
	finding_seen(f, "recompiling: %s%s (%s %% of the time)", T(f->cost_ns), finding_per(f),
		     P(f->share));
	finding_seen(f, "most: %.*s, %s times more in %s steps, %s each", NAME,
		     insight_compiled(in->t, a.most->name), N(times), N(f->on->steps),
		     D(a.most_ns / times));
	finding_facts(f, FACT_N("again_ns", a.ns), FACT_N("times", times),
		      FACT_N("each_ns", a.most_ns / times));
	finding_event(f, &a.most->last);
	SAY(action, "keep shapes, types and static arguments the same, pad the last batch, jit "
		    "once outside the loop; marks beside the compilations show what changed");
	return true;
}

const struct rule rule_COMPILE = { compile_cost, compile_fill };
