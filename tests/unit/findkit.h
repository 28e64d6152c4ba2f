/* SPDX-License-Identifier: Apache-2.0 */
/* findkit.h - findings of a small trace that repeats, and what must hold of any, for tests. */
#ifndef AON_FINDKIT_H
#define AON_FINDKIT_H

#include <string.h>

#include "insight/find/finding.h"
#include "tracekit.h"

static inline void scale(struct trace *t, unsigned n, uint64_t period)
{
	size_t events = t->events;

	for (size_t i = 0; i < events; i++) {
		t->event[i].start_ns *= 1000;
		t->event[i].dur_ns *= 1000;
	}
	for (unsigned k = 1; k < n; k++) {
		for (size_t i = 0; i < events; i++) {
			struct event e = t->event[i];

			e.start_ns += k * period * 1000;
			if (e.corr)
				e.corr += 1000 * k;
			if (e.kind == EVENT_COUNTER)
				e.a *= k + 1;
			trace_add(t, &e, 0);
		}
	}
	trace_seal(t);
}

/* What is promised is at most twice as wide, and not above what it takes now. */
static inline bool is_promise(const struct finding *f)
{
	uint64_t base = f->on->account.base_ns, least = base - f->gain_hi_ns;
	double lo, hi, now;
	char u[3][8] = { "" };

	if (!f->gain_known || !f->gain_hi_ns || f->gain_lo_ns == f->gain_hi_ns)
		return true;
	if (sscanf(f->expect, "%lf %7s to %lf %7[a-z] a step, now %lf %7s", &lo, u[0], &hi, u[1],
		   &now, u[2]) != 6 &&
	    sscanf(f->expect, "%lf %7s to %lf %7[a-z], now %lf %7s", &lo, u[0], &hi, u[1], &now,
		   u[2]) != 6)
		return true; /* "about", or no range */
	return least <= base && (strcmp(u[0], u[1]) || (lo <= hi && hi <= 2.02 * lo)) &&
	       (strcmp(u[1], u[2]) || hi <= 1.01 * now);
}

/* The host's launches and its code are one cause; and what the replay says would bring much is not small. */
static inline bool agrees(const struct findings *fs)
{
	bool launch = false, code = false;

	for (size_t i = 0; i < fs->n; i++) {
		const struct finding *f = &fs->f[i];

		launch |= f->family == FAMILY_LAUNCH;
		code |= f->family == FAMILY_CPU;
		for (enum family k = 0; k < FAMILIES; k++)
			if (fs->checked[k].gain >= family_table[k].least && !f->on->host &&
			    fs->checked[k].gain > 0 && k != FAMILY_LAUNCH && k != FAMILY_CPU &&
			    strstr(f->ruled_out, family_table[k].looked))
				return false;
	}
	return !launch || !code;
}

/* No replay is shorter than the work of the busiest stream, where nothing of it is removed. */
static inline bool has_room(const struct insight *in, const struct finding *f)
{
	const struct insight_device *d = f->on;
	uint64_t base = d->account.base_ns;

	if (!f->replayed || d->account.steps || f->family == FAMILY_COMM ||
	    f->family == FAMILY_COPY || f->family == FAMILY_ROOF)
		return true;
	for (size_t i = d->stream_first; i < d->stream_first + d->streams; i++)
		if (base - f->gain_hi_ns < in->stream[i].b.busy_ns)
			return false;
	return true;
}

/* Sure is what the account and the replay agree on within a third; what calls say holds by itself. */
static inline bool is_earned(const struct finding *f)
{
	double cost = (double)f->cost_ns, gain = (double)f->gain_hi_ns;

	if (f->sure != SURE_HIGH || !f->replayed || f->family == FAMILY_CAPTURE ||
	    f->family == FAMILY_WARM_UP || f->family == FAMILY_COMPILING)
		return true;
	return gain > cost ? gain - cost <= gain / 3 + 1 : cost - gain <= cost / 3 + 1;
}

static inline bool in_bounds(const struct findings *fs, const struct insight *in)
{
	if (!agrees(fs))
		return false;
	for (size_t i = 0; i < fs->n; i++) {
		const struct finding *f = &fs->f[i];

		if (f->cost_ns > f->on->account.base_ns || f->share < 0 || f->share > 1 ||
		    f->gain_lo_ns > f->gain_hi_ns || f->gain_hi_ns > f->on->account.base_ns ||
		    f->facts < 2 || !*f->title || !*f->seen[0] || !*f->action || !*f->expect ||
		    !f->steps || !is_promise(f) || !has_room(in, f) || !is_earned(f) ||
		    (!i && family_costs(f->family) && f->family != FAMILY_STOPPED &&
		     f->share < 0.01))
			return false;
	}
	return true;
}

static inline struct findings *look(struct trace *t, struct insight **in)
{
	struct findings *fs;

	if (insight_new(in, t) < 0 || findings_new(&fs, *in) < 0)
		abort();
	return fs;
}

static inline void done(struct findings *fs, struct insight *in, struct trace *t)
{
	findings_free(fs);
	insight_free(in);
	trace_free(t);
}

static inline const struct finding *find(const struct findings *fs, enum family k)
{
	for (size_t i = 0; i < fs->n; i++)
		if (fs->f[i].family == k)
			return &fs->f[i];
	return NULL;
}

#endif /* AON_FINDKIT_H */
