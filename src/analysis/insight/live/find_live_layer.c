/* SPDX-License-Identifier: Apache-2.0 */
/* find_live_layer.c - the rule on one layer that takes most of a model's time, from steps with operators. */
#include <string.h>

#include "insight/live/find_live.h"

#define LAYERS_MIN 4u /* of a model of fewer, one may well take most */
#define TIMES      3u /* the next one's time, at least */

struct layer {
	const struct insight_host_row *most; /* NULL: none stands out */
	uint64_t ns, next_ns, all_ns;
	size_t n;
	size_t block; /* length of the name of the block that two layers are in; 0: it is one layer */
};

/* Two layers of one block are one piece, if both together take three times as long as all others. */
static void join_pair(const struct trace *t, struct layer *l, const struct insight_host_row *second)
{
	const char *a = l->most ? trace_text(t, l->most->name) : "", *dot = strrchr(a, '.');
	const char *b = second ? trace_text(t, second->name) : "";
	uint64_t both = l->ns + l->next_ns;

	if (!dot || l->ns >= TIMES * l->next_ns || strncmp(a, b, (size_t)(dot - a) + 1) ||
	    strchr(b + (dot - a) + 1, '.') || both < TIMES * (l->all_ns - both))
		return;
	l->block = (size_t)(dot - a);
	l->ns = both;
	l->next_ns = l->all_ns - both;
}

/* Own time, with that of the backward pass; without modules inside. */
static struct layer look(const struct insight *in, const struct insight_device *d)
{
	const struct insight_host_table *t = &in->on_host[HOST_MODULE];
	uint32_t file = in->t->process[d->host->process].file;
	struct layer l = { NULL, 0, 0, 0, 0, 0 };
	const struct insight_host_row *second = NULL;

	for (size_t i = 0; i < t->rows; i++) {
		uint64_t ns = t->row[i].self_ns + t->row[i].backward_ns;

		if (t->row[i].file != file)
			continue;
		l.n++;
		l.all_ns += ns;
		if (ns > l.ns) {
			l.next_ns = l.ns;
			second = l.most;
			l.ns = ns;
			l.most = &t->row[i];
		} else if (ns > l.next_ns) {
			l.next_ns = ns;
			second = &t->row[i];
		}
	}
	join_pair(in->t, &l, second);
	if (l.n < LAYERS_MIN || l.ns < TIMES * l.next_ns)
		l.most = NULL;
	return l;
}

uint64_t live_layer_cost(const struct insight *in, const struct insight_device *d)
{
	struct layer l = look(in, d);
	const uint64_t *ns = d->account.ns;
	uint64_t model = ns[ACCOUNT_FORWARD] + ns[ACCOUNT_BACKWARD];
	uint64_t work = model + ns[ACCOUNT_OPTIMIZER] + ns[ACCOUNT_COMPUTE];

	/* Who lacks a CPU lacks it in all parts alike. */
	model += finding_in_base(ns[ACCOUNT_PREEMPTED] + ns[ACCOUNT_THROTTLED], work, model);

	return l.n < LAYERS_MIN ? UINT64_MAX
	       : l.most         ? (uint64_t)(ratio(l.ns, l.all_ns) * (double)model)
				: 0;
}

bool live_layer_fill(const struct insight *in, struct finding *f)
{
	struct layer l = look(in, f->on);
	char name[NAME_LEN];

	if (!l.most)
		return false;
	finding_name(trace_text(in->t, l.most->name), name);
	if (l.block && l.block < sizeof(name))
		name[l.block] = '\0';
	f->sure = SURE_MEDIUM;
	SAY(title, "One %s takes most of the model's time: %.100s", l.block ? "block" : "layer",
	    name);
	finding_seen(f, "%s%s of %s (%s %%): %s %% of forward and backward pass", T(f->cost_ns),
		     finding_per(f), T(f->on->account.base_ns), P(f->share),
		     P(ratio(l.ns, l.all_ns)));
	finding_seen(f, "%s of %zu layers %s %s %%", l.block ? "all others" : "the next", l.n,
		     l.block ? "take" : "takes", P(ratio(l.next_ns, l.all_ns)));
	finding_facts(f, FACT_N("layer_ns", l.ns), FACT_N("next_ns", l.next_ns),
		      FACT_N("layers", l.n));
	SAY(action,
	    "make %.80s smaller or split it (factorise it, a lower precision): aon "
	    "report --by module shows its operators",
	    name);
	f->gain_lo_ns = f->cost_ns / 4;
	f->gain_hi_ns = f->cost_ns / 2;
	return true;
}
