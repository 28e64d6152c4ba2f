/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_rank.c - what a finding would bring, how sure it is, what it is not, and which one is first.
 *
 * The replay without a cause says how much shorter the steps would be. It and the account count the
 * same thing in two ways: a finding is sure if both agree within a third. A rule without a replay is
 * no surer than medium, unless it measures the cause itself.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "insight/find/finding.h"
#include "insight/replay.h"

#define FIRST_LEAST 0.01 /* of the base: less is never the first thing to say */
/* What work on kernels usually brings where their limits are not known: a competing cause that
 * costs more than this part of the compute time is named before it. */
#define KERNEL_GAIN 0.15
#define FIX_LEAST   0.6 /* of what the replay without the cause brings: no fix takes it to zero */

static double replay_gain(const struct findings *fs, enum family k)
{
	const struct replay *r = fs->replay;

	if (!r || r->with_ns[k] == REPLAY_NONE || r->span_ns <= 0)
		return -1;
	return r->with_ns[k] >= r->span_ns
		       ? 0
		       : (double)(r->span_ns - r->with_ns[k]) / (double)r->span_ns;
}

/* --- how sure --- */

static enum sureness agreed(double gain, double share)
{
	double more = gain > share ? gain : share, less = gain > share ? share : gain;

	if (more - less <= more / 3)
		return SURE_HIGH;
	return 2 * less >= more ? SURE_MEDIUM : SURE_LOW;
}

/* What calls say by themselves holds for one call. */
static bool needs_many(enum family k)
{
	return k != FAMILY_STOPPED && k != FAMILY_CAPTURE && k != FAMILY_WARM_UP &&
	       k != FAMILY_COMPILING;
}

static void earn(struct finding *f)
{
	const struct time_account *a = &f->on->account;
	double unknown = ratio(a->ns[ACCOUNT_UNKNOWN], a->base_ns);

	if (!family_costs(f->family))
		return;
	if (needs_many(f->family) && finding_is_little(f->on))
		f->most = SURE_LOW;
	if (f->replayed && needs_many(f->family))
		f->sure = agreed((double)f->gain_hi_ns, (double)f->cost_ns);
	if (unknown > f->share / 3 && f->sure > SURE_MEDIUM)
		f->sure = SURE_MEDIUM;
	f->sure = f->sure < f->most ? f->sure : f->most;
}

/* --- what it brings --- */

/* What an equal rank would bring is not replayed: its collectives would wait for the next one. */
static bool is_guessed(const struct finding *f)
{
	return (f->family == FAMILY_STRAGGLER || f->family == FAMILY_IMBALANCE) && !f->replayed &&
	       !f->on->host;
}

/* What stays of a stream's work without the cause. */
static uint64_t stays_ns(const struct insight_stream *s, enum family k)
{
	return k == FAMILY_ROOF   ? 0
	       : k == FAMILY_COMM ? s->b.busy_ns - s->b.exposed_comm_ns
	       : k == FAMILY_COPY ? s->b.busy_ns - s->b.exposed_copy_ns
				  : s->b.busy_ns;
}

/* No step is shorter than the work of its busiest stream. */
static uint64_t least_ns(const struct insight *in, const struct insight_device *d, enum family k)
{
	uint64_t most = 0, busy = 0;

	for (size_t i = d->stream_first; i < d->stream_first + d->streams; i++)
		if (stays_ns(&in->stream[i], k) > most)
			most = stays_ns(&in->stream[i], k);
	for (enum account_cause c = 0; c < ACCOUNT_IDLE; c++)
		busy += d->account.ns[c];
	return finding_in_base(most, d->b.busy_ns, busy);
}

static void find_gain(const struct findings *fs, const struct insight *in, struct finding *f)
{
	double gain = replay_gain(fs, f->family), base = (double)f->on->account.base_ns;
	uint64_t least;

	/* Nothing is queued: what is left out is gained. Without launches there is nothing to replay. */
	if (f->on->host || f->on->sampled) {
		f->gain_known = true;
		return;
	}
	f->replayed = gain >= 0;
	f->gain_known = f->replayed || (2 * f->gain_lo_ns >= f->gain_hi_ns && !is_guessed(f));
	if (!f->replayed)
		return;
	least = least_ns(in, f->on, f->family);
	f->gain_hi_ns = (uint64_t)(gain * base);
	if (f->gain_hi_ns + least > f->on->account.base_ns)
		f->gain_hi_ns = f->on->account.base_ns - least;
	f->gain_lo_ns = (uint64_t)(FIX_LEAST * (double)f->gain_hi_ns);
	if (needs_many(f->family) && finding_is_little(f->on))
		f->gain_known = false;
}

/* At most twice as wide, or it says nothing. */
static void expect(struct finding *f)
{
	uint64_t base = f->on->account.base_ns, lo, hi;
	char a[FMT_LEN], b[FMT_LEN], now[FMT_LEN];

	if (*f->expect)
		return;
	fmt_time(now, base / f->steps);
	if (!f->gain_known || (f->replayed && !f->gain_hi_ns)) {
		SAY(expect, "not known; now %s%s", now, finding_per(f));
		return;
	}
	hi = (base - (f->gain_lo_ns < base ? f->gain_lo_ns : base)) / f->steps;
	lo = (base - (f->gain_hi_ns < base ? f->gain_hi_ns : base)) / f->steps;
	lo = lo > hi / 2 ? lo : hi / 2;
	fmt_time(a, lo);
	fmt_time(b, hi);
	if (!strcmp(a, b))
		SAY(expect, "about %s%s, now %s", a, finding_per(f), now);
	else
		SAY(expect, "%s to %s%s, now %s", a, b, finding_per(f), now);
}

/* --- what it is not --- */

struct list {
	char *to;
	size_t used, cap;
};

__attribute__((format(printf, 2, 3))) static void list_add(struct list *l, const char *fmt, ...)
{
	char one[96];
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	n = (size_t)vsnprintf(one, sizeof(one), fmt, ap);
	va_end(ap);
	n = n < sizeof(one) ? n : sizeof(one) - 1;
	if (l->used + n + 3 >= l->cap)
		return; /* whole ones only */
	l->used += (size_t)snprintf(l->to + l->used, l->cap - l->used, "%s%s", l->used ? ", " : "",
				    one);
}

/* Looked at there, and neither its cost nor what the replay without it brings is much. */
static void rule_out(const struct findings *fs, const struct insight *in, struct finding *f)
{
	struct list l = { f->ruled_out, 0, sizeof(f->ruled_out) };

	for (enum family k = 0; k < FAMILY_SATURATED; k++) {
		uint64_t cost = rule_cost(in, f->on, k);
		double share = cost == UINT64_MAX ? 0 : ratio(cost, f->on->account.base_ns);

		if (k == f->family || !family_costs(k) || cost == UINT64_MAX ||
		    share >= rule_least(f->on, k) ||
		    (!f->on->host && replay_gain(fs, k) >= family_table[k].least))
			continue;
		list_add(&l, "%s (%s %%)", family_table[k].looked, P(share));
	}
}

/* --- which is first --- */

/* A host that takes no time is more than any fix brings, and so is communication that nothing
 * waits for: what was counted bounds them. A wait may cost more than the gap behind it. */
static double weight(const struct finding *f)
{
	double base = (double)f->on->account.base_ns, cost = f->share;
	double gain = f->replayed ? (double)f->gain_hi_ns / base : cost;

	if (f->on->host && family_costs(f->family))
		return (double)f->gain_hi_ns / base;
	switch (f->family) {
	case FAMILY_STOPPED: /* before all else */
		return 3;
	case FAMILY_TOO_LITTLE: /* no cause is named before it */
		return 2;
	case FAMILY_MEMORY:
		return 0;
	case FAMILY_SATURATED:
		return KERNEL_GAIN * cost;
	case FAMILY_SYNC:
	case FAMILY_INPUT:
	case FAMILY_ALLOC: /* to free memory waits for the GPU */
		return gain > cost ? (gain + cost) / 2 : gain;
	default:
		if (!f->gain_known && !is_guessed(f))
			gain = (double)f->gain_lo_ns / base;
		gain = gain < cost ? gain : cost;
		return f->most == SURE_LOW ? gain / 2 : gain; /* it may as well be wrong */
	}
}

static int heaviest(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	return cmp_num(weight(y), weight(x)) ?: ((int)x->family - (int)y->family);
}

/* Launching and code of the host are one cause: of several devices the one that it costs most. */
static bool is_other_name(const struct findings *fs, const struct finding *f)
{
	enum family other = f->family == FAMILY_LAUNCH ? FAMILY_CPU : FAMILY_LAUNCH;

	if (f->family != FAMILY_LAUNCH && f->family != FAMILY_CPU)
		return false;
	return fs->checked[other].fired && fs->checked[other].share > f->share;
}

/* What is too little to be said first goes. */
static void drop_small(struct findings *fs)
{
	size_t n = 0;

	for (size_t i = 0; i < fs->n; i++) {
		struct finding *f = &fs->f[i];

		if (!is_other_name(fs, f) &&
		    (f->family == FAMILY_STOPPED || !family_costs(f->family) ||
		     f->family == FAMILY_SATURATED || f->share >= FIRST_LEAST))
			fs->f[n++] = *f;
		else
			fs->checked[f->family].fired = false;
	}
	fs->n = n;
}

static struct finding *found(const struct findings *fs, enum family k)
{
	for (size_t i = 0; i < fs->n; i++)
		if (fs->f[i].family == k)
			return &fs->f[i];
	return NULL;
}

/* A host that never waits but launches as slowly as it does brings nearly as much as one that takes
 * no time: it launches fast enough, and what it seems to lose by launching is due to its waits, which
 * empty the queue. */
static void give_to_waits(struct findings *fs)
{
	struct finding *sync = found(fs, FAMILY_SYNC), *launch = found(fs, FAMILY_LAUNCH);
	double gain = replay_gain(fs, FAMILY_SYNC), all = replay_gain(fs, FAMILY_LAUNCH);
	uint64_t more;

	if (!sync || !launch || sync->on != launch->on || gain <= 0 || gain < 0.9 * all ||
	    gain <= sync->share)
		return;
	more = (uint64_t)(gain * (double)sync->on->account.base_ns) - sync->cost_ns;
	more = more < launch->cost_ns ? more : launch->cost_ns;
	sync->cost_ns += more;
	sync->share = ratio(sync->cost_ns, sync->on->account.base_ns);
	finding_seen(sync, "and %s%s of launching behind them: without waits it would be in time",
		     finding_time(sync, (char[FMT_LEN]){ 0 }, more), finding_per(sync));
	fs->checked[FAMILY_LAUNCH].fired = false;
	*launch = fs->f[--fs->n];
}

void findings_rank(struct findings *fs, const struct insight *in)
{
	give_to_waits(fs);
	for (size_t i = 0; i < fs->n; i++) {
		find_gain(fs, in, &fs->f[i]);
		earn(&fs->f[i]);
		expect(&fs->f[i]);
		rule_out(fs, in, &fs->f[i]);
	}
	for (enum family k = 0; k < FAMILIES; k++)
		fs->checked[k].gain = replay_gain(fs, k);
	drop_small(fs);
	qsort(fs->f, fs->n, sizeof(*fs->f), heaviest);
}

int findings_replay(struct findings *fs, const struct insight *in, const struct trace *part,
		    uint64_t from_ns, uint64_t to_ns)
{
	int err = replay_new(&fs->replay, part, in);

	if (!err) {
		fs->replay->from_ns = from_ns;
		fs->replay->to_ns = to_ns;
	}
	findings_rank(fs, in);
	return err == -ENODATA || err == -ELOOP ? 0 : err;
}
