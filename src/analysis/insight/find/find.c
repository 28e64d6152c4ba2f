/* SPDX-License-Identifier: Apache-2.0 */
/* find.c - runs every rule where it is worst, and keeps those that fired, the costliest first. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "insight/find/finding.h"
#include "insight/live/find_live.h"
#include "insight/replay.h"

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
	return f->on->account.steps ? " a step" : "";
}

/* The rule for such a device: a thread has its own, and one that samples explain. NULL: none. */
static const struct rule *rule_on(enum family k, const struct insight_device *d)
{
	if (d->host && k != FAMILY_TOO_LITTLE)
		return live_rule(k);
	return d->sampled && gap_rule(k) ? gap_rule(k) : rules[k];
}

uint64_t rule_cost(const struct insight *in, const struct insight_device *d, enum family k)
{
	const struct rule *r = rule_on(k, d);

	return r ? r->cost(in, d) : UINT64_MAX;
}

double rule_least(const struct insight_device *d, enum family k)
{
	return d->host ? live_least(k) : family_table[k].least;
}

/* The last two parts of a path, and what follows it: "models/train.py(12): main". */
static const char *last_parts(const char *name)
{
	const char *end = strstr(name, ".py"), *from = NULL;
	int parts = 0;

	for (const char *s = end; s && s > name && parts < 2; s--)
		if (*s == '/' && ++parts == 2)
			from = s + 1;
	return from ? from : name;
}

char *finding_name(const char *name, char out[NAME_LEN])
{
	size_t n, half = (NAME_LEN - 4) / 2;

	if (strlen(name) >= NAME_LEN)
		name = last_parts(name);
	n = strlen(name);
	if (n < NAME_LEN)
		memcpy(out, name, n + 1);
	else
		snprintf(out, NAME_LEN, "%.*s...%s", (int)half, name, name + n - half);
	return out;
}

/* False: not worth reporting, or without evidence. */
static bool fill(const struct insight *in, struct finding *f)
{
	const struct family_row *row = &family_table[f->family];

	f->gain_lo_ns = (uint64_t)(row->lo * (double)f->cost_ns);
	f->gain_hi_ns = (uint64_t)(row->hi * (double)f->cost_ns);
	return rule_on(f->family, f->on)->fill(in, f) && *f->seen[0] && f->facts >= 2 && *f->action;
}

/* A device that did nothing in the base waited for nothing there. */
static bool is_used(const struct insight_device *d, enum family k)
{
	return d->host || d->account.works || !family_costs(k) || k == FAMILY_STOPPED;
}

static void look(const struct insight *in, enum family family, struct findings *fs)
{
	struct checked *c = &fs->checked[family];
	const struct insight_device *worst = NULL;
	struct finding f = { .family = family, .sure = SURE_MEDIUM, .most = SURE_HIGH };

	for (size_t i = 0; i < in->devices + in->hosts.n; i++) {
		const struct insight_device *d =
			i < in->devices ? &in->device[i] : live_device(in, i - in->devices);
		uint64_t cost = d ? rule_cost(in, d, family) : UINT64_MAX;

		if (cost == UINT64_MAX || !d->account.base_ns || !is_used(d, family))
			continue;
		cost = cost < d->account.base_ns ? cost : d->account.base_ns;
		if (!worst || cost > c->cost_ns) {
			worst = d;
			c->cost_ns = cost;
		}
	}
	c->gain = -1;
	c->could = worst != NULL;
	if (!worst)
		return;
	c->share = (double)c->cost_ns / (double)worst->account.base_ns;
	if (family_costs(family) && (!c->cost_ns || c->share < rule_least(worst, family)))
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

int findings_new(struct findings **out, const struct insight *in)
{
	struct findings *fs = calloc(1, sizeof(*fs));
	int err = 0;

	if (!fs)
		return -ENOMEM;
	fs->f = calloc(FAMILIES, sizeof(*fs->f));
	if (!fs->f) {
		free(fs);
		return -ENOMEM;
	}
	for (enum family k = 0; k < FAMILIES; k++)
		look(in, k, fs);
	fs->recorded_steps = in->steps;
	fs->of_steps = in->steps + in->unsampled;
	if (!in->parted && in->link)
		err = findings_replay(fs, in, in->t, 0, 0);
	else
		findings_rank(fs, in);
	if (err < 0)
		findings_free(fs);
	else
		*out = fs;
	return err;
}

void findings_free(struct findings *fs)
{
	if (!fs)
		return;
	replay_free(fs->replay);
	free(fs->f);
	free(fs);
}
