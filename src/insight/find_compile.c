/* SPDX-License-Identifier: Apache-2.0 */
/* find_compile.c - the rule on functions that are compiled again, by JAX or torch.compile. */
#include <stdio.h>
#include <string.h>

#include "insight/finding.h"

#define NAME 60 /* of a name in a sentence */
#define SEEN 64u

/* What compilations of the probes are called, and the marks that say why one came again. */
static const char *const compile_word[] = { "jax compile: ", "torch.compile " };

/* The function of a compilation; NULL: the name is of something else. */
static const char *compiled(const struct insight *in, uint32_t name)
{
	const char *text = trace_text(in->t, name);

	for (size_t i = 0; i < sizeof(compile_word) / sizeof(compile_word[0]); i++)
		if (!strncmp(text, compile_word[i], strlen(compile_word[i])))
			return text + strlen(compile_word[i]);
	return NULL;
}

/* The first compilation of a function is what it costs to have one. */
struct again {
	struct {
		uint32_t name, count, last; /* event */
		uint64_t ns;
	} of[SEEN]; /* functions, the first of them */
	size_t n;
	uint64_t ns;
};

static void see(struct again *a, const struct event *e, uint32_t event)
{
	size_t i = 0;

	while (i < a->n && a->of[i].name != e->name)
		i++;
	if (i == SEEN)
		return;
	if (i == a->n) {
		a->of[a->n++].name = e->name;
		return;
	}
	a->of[i].count++;
	a->of[i].ns += e->dur_ns;
	a->of[i].last = event;
	a->ns += e->dur_ns;
}

static struct again look(const struct insight *in, const struct insight_device *d)
{
	uint32_t process = in->t->device[d->device].process, name = 0;
	struct again a = { .n = 0 };

	while (name < in->t->names && !compiled(in, name))
		name++;
	for (size_t i = 0; name < in->t->names && i < in->t->events; i++) {
		const struct event *e = &in->t->event[i];

		if (e->kind == EVENT_RANGE && in->t->lane[e->lane].process == process &&
		    compiled(in, e->name))
			see(&a, e, (uint32_t)i);
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
	size_t most = 0;

	for (size_t i = 1; i < a.n; i++)
		if (a.of[i].ns > a.of[most].ns)
			most = i;
	if (!a.ns)
		return false;
	f->sure = SURE_HIGH;
	snprintf(f->title, sizeof(f->title), "Functions are compiled again and again");
	finding_seen(f, "compiled before, and again: %s%s (%s %% of the time)", T(f->cost_ns),
		     finding_per(f), P(f->share));
	finding_seen(f, "most: %.*s, %s times more in %s steps, %s each", NAME,
		     compiled(in, a.of[most].name), N(a.of[most].count), N(f->on->steps),
		     fmt_time((char[FMT_LEN]){ 0 }, a.of[most].ns / a.of[most].count));
	fact_n(f, "again_ns", a.ns);
	fact_n(f, "times", a.of[most].count);
	fact_n(f, "each_ns", a.of[most].ns / a.of[most].count);
	finding_event(f, a.of[most].last);
	snprintf(f->action, sizeof(f->action),
		 "keep shapes, types and static arguments the same, pad the last batch, jit once "
		 "outside of the loop; marks beside the compilations say what changed");
	return true;
}

const struct rule rule_compile = { compile_cost, compile_fill };
