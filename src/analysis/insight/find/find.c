/* SPDX-License-Identifier: Apache-2.0 */
/* find.c - runs every rule where it is worst, and keeps those that fired, the costliest first. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "insight/find/finding.h"
#include "insight/live/find_live.h"

const struct family_row family_table[FAMILIES] = {
#define RULE(ID, word, least, lo, hi, looked, means) \
	[FAMILY_##ID] = { #word, looked, means, least, lo, hi },
#include "insight/find/find.tbl.h"
};

const char *const sure_word[] = { "low", "medium", "high" };

static const struct rule *const rules[FAMILIES] = {
#define RULE(ID, ...) [FAMILY_##ID] = &rule_##ID,
#include "insight/find/find.tbl.h"
};

void finding_put(struct finding *f, const struct fact *some)
{
	for (; some->key && f->facts < FINDING_FACTS; some++)
		f->fact[f->facts++] = *some;
}

void finding_event(struct finding *f, const struct event *e)
{
	if (e->kind != EVENT_NONE && f->events < FINDING_EVENTS)
		f->event[f->events++] = *e;
}

void finding_gaps(struct finding *f, enum idle_cause cause)
{
	for (size_t i = 0; i < INSIGHT_GAPS; i++)
		if (f->on->longest[i].end_ns && f->on->longest[i].cause == cause)
			finding_event(f, &f->on->longest[i].after);
}

void finding_seen(struct finding *f, const char *fmt, ...)
{
	va_list ap;

	for (size_t i = 0; i < FINDING_SEEN; i++) {
		if (*f->seen[i])
			continue;
		va_start(ap, fmt);
		vsnprintf(f->seen[i], sizeof(f->seen[i]), fmt, ap);
		va_end(ap);
		return;
	}
}

char *finding_time(const struct finding *f, char out[FMT_LEN], uint64_t ns)
{
	return fmt_time(out, ns / f->steps);
}

double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

const char *finding_per(const struct finding *f)
{
	return f->on->steps ? " a step" : "";
}

uint64_t finding_base_ns(const struct insight_device *d)
{
	uint64_t span = d->b.span_ns / finding_steps(d);

	/* A step may be marked shorter than what it launched took. */
	if (!d->steps || d->step_ns / d->steps < span)
		return span;
	return d->step_ns / d->steps;
}

/* The rule for such a device: a thread has its own. NULL: none. */
static const struct rule *rule_on(enum family k, const struct insight_device *d)
{
	return d->host ? live_rule(k) : rules[k];
}

/* What else was looked at there and costs little. */
static void rule_out(const struct insight *in, struct finding *f)
{
	size_t used = 0, n;
	char pct[FMT_LEN], one[96];

	for (enum family k = 0; k < FAMILIES; k++) {
		uint64_t cost;
		double share;

		if (k == f->family || k == FAMILY_SATURATED || k == FAMILY_MEMORY ||
		    k > FAMILY_SATURATED)
			continue;
		if (!rule_on(k, f->on))
			continue;
		cost = rule_on(k, f->on)->cost(in, f->on);
		share = f->on->b.span_ns ? (double)cost / (double)f->on->b.span_ns : 0;
		if (cost == UINT64_MAX || share >= family_table[k].least)
			continue;
		n = (size_t)snprintf(one, sizeof(one), "%s%s (%s %%)", used ? ", " : "",
				     family_table[k].looked, fmt_percent(pct, share));
		if (used + n >= sizeof(f->ruled_out))
			return; /* whole ones only */
		memcpy(f->ruled_out + used, one, n + 1);
		used += n;
	}
}

static void expect(struct finding *f)
{
	uint64_t base = finding_base_ns(f->on);
	uint64_t lo = f->gain_hi_ns / f->steps, hi = f->gain_lo_ns / f->steps;
	char a[FMT_LEN], b[FMT_LEN], now[FMT_LEN];

	if (*f->expect)
		return;
	fmt_time(a, base > lo ? base - lo : 0);
	fmt_time(b, base > hi ? base - hi : 0);
	if (!strcmp(a, b))
		snprintf(f->expect, sizeof(f->expect), "about %s%s", a, finding_per(f));
	else
		snprintf(f->expect, sizeof(f->expect), "%s to %s%s, now %s", a, b, finding_per(f),
			 fmt_time(now, base));
}

/* False: not worth reporting, or without evidence. */
static bool fill(const struct insight *in, struct finding *f)
{
	const struct family_row *row = &family_table[f->family];

	f->gain_lo_ns = (uint64_t)(row->lo * (double)f->cost_ns);
	f->gain_hi_ns = (uint64_t)(row->hi * (double)f->cost_ns);
	if (!rule_on(f->family, f->on)->fill(in, f) || !*f->seen[0] || f->facts < 2 || !*f->action)
		return false;
	expect(f);
	rule_out(in, f);
	return true;
}

static void look(const struct insight *in, enum family family, struct findings *fs)
{
	struct checked *c = &fs->checked[family];
	const struct insight_device *worst = NULL;
	struct finding f = { .family = family, .sure = SURE_MEDIUM };

	for (size_t i = 0; i < in->devices + in->hosts.n; i++) {
		const struct insight_device *d =
			i < in->devices ? &in->device[i] : live_device(in, i - in->devices);
		const struct rule *rule = d ? rule_on(family, d) : NULL;
		uint64_t cost = rule ? rule->cost(in, d) : UINT64_MAX;

		if (cost == UINT64_MAX || !d->b.span_ns)
			continue;
		if (!worst || cost > c->cost_ns) {
			worst = d;
			c->cost_ns = cost;
		}
	}
	c->could = worst != NULL;
	if (!worst)
		return;
	c->share = (double)c->cost_ns / (double)worst->b.span_ns;
	/* Memory costs no time until it is gone. */
	if (family != FAMILY_MEMORY && (!c->cost_ns || c->share < family_table[family].least))
		return;
	f.rank = worst->rank;
	f.on = worst;
	f.cost_ns = c->cost_ns;
	f.share = c->share;
	f.steps = finding_steps(worst);
	c->fired = fill(in, &f);
	if (c->fired)
		fs->f[fs->n++] = f;
}

static int costliest(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	bool live = x->on->host || y->on->host; /* by what a fix brings */
	uint64_t cx = (live ? x->gain_hi_ns : x->cost_ns) / x->steps;
	uint64_t cy = (live ? y->gain_hi_ns : y->cost_ns) / y->steps;

	return cmp_num(cy, cx) ?: ((int)x->family - (int)y->family);
}

int findings_new(struct findings **out, const struct insight *in)
{
	struct findings *fs = calloc(1, sizeof(*fs));

	if (!fs)
		return -ENOMEM;
	fs->f = calloc(FAMILIES, sizeof(*fs->f));
	if (!fs->f) {
		free(fs);
		return -ENOMEM;
	}
	for (enum family k = 0; k < FAMILIES; k++)
		look(in, k, fs);
	qsort(fs->f, fs->n, sizeof(*fs->f), costliest);
	fs->recorded_steps = in->steps;
	fs->of_steps = in->steps + in->unsampled;
	*out = fs;
	return 0;
}

void findings_free(struct findings *fs)
{
	if (!fs)
		return;
	free(fs->f);
	free(fs);
}
