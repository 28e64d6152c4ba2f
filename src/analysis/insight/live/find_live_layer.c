/* SPDX-License-Identifier: Apache-2.0 */
/* find_live_layer.c - the rule on one layer that takes most of a model's time, from steps with operators. */
#include "insight/live/find_live.h"

#define LAYERS_MIN 4u /* of a model of fewer, one may well take most */
#define TIMES      3u /* the next one's time, at least */

struct layer {
	const struct insight_host_row *most; /* NULL: none stands out */
	uint64_t ns, next_ns, all_ns;
	size_t n;
};

/* Own time, with that of the backward pass; without modules inside. */
static struct layer look(const struct insight *in, const struct insight_device *d)
{
	const struct insight_host_table *t = &in->on_host[HOST_MODULE];
	uint32_t file = in->t->process[d->host->process].file;
	struct layer l = { NULL, 0, 0, 0, 0 };

	for (size_t i = 0; i < t->rows; i++) {
		uint64_t ns = t->row[i].self_ns + t->row[i].backward_ns;

		if (t->row[i].file != file)
			continue;
		l.n++;
		l.all_ns += ns;
		if (ns > l.ns) {
			l.next_ns = l.ns;
			l.ns = ns;
			l.most = &t->row[i];
		} else if (ns > l.next_ns) {
			l.next_ns = ns;
		}
	}
	if (l.n < LAYERS_MIN || l.ns < TIMES * l.next_ns)
		l.most = NULL;
	return l;
}

uint64_t live_layer_cost(const struct insight *in, const struct insight_device *d)
{
	struct layer l = look(in, d);
	uint64_t model = d->account.ns[ACCOUNT_FORWARD] + d->account.ns[ACCOUNT_BACKWARD];

	return l.n < LAYERS_MIN ? UINT64_MAX
	       : l.most         ? (uint64_t)(ratio(l.ns, l.all_ns) * (double)model)
				: 0;
}

bool live_layer_fill(const struct insight *in, struct finding *f)
{
	struct layer l = look(in, f->on);
	const char *name = l.most ? trace_text(in->t, l.most->name) : "";

	if (!l.most)
		return false;
	f->sure = SURE_MEDIUM;
	SAY(title, "One layer takes most of the model's time: %.100s", name);
	finding_seen(f, "%s%s of %s (%s %%): %s %% of forward and backward pass", T(f->cost_ns),
		     finding_per(f), T(f->on->account.base_ns), P(f->share),
		     P(ratio(l.ns, l.all_ns)));
	finding_seen(f, "the next of %zu layers takes %s %%", l.n, P(ratio(l.next_ns, l.all_ns)));
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
