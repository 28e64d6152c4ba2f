/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join_judge.c - decides which state made which work slower.
 *
 * For a state that is bad in some bins, the level of work (join_level.c) in these bins is compared
 * with the level in the others; the change of devices in the same role in the same bins is
 * subtracted first, so that a change of the workload is nobody's fault. A state that was bad from
 * the start is compared with devices in the same role. All figures are medians. A difference counts
 * if it is at least Z_LEAST times its error, and as large as the cause's minimum.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/vec.h"
#include "insight/find/join_priv.h"

#define Z_LEAST    5.0
#define NOISE      0.002 /* at least, of a level */
#define BINS_BAD   3u    /* at least */
#define BINS_GOOD  5u
#define LIKE       3u /* at least, to say that it is slower than its like */
#define SAME_CLOCK 0.02
#define UNDER      0.25 /* of what a state explains: less is not its doing */
#define OVER       1.7
#define ALLOWANCE  0.03

/* --- contrasts --- */

struct contrast {
	double effect, z; /* ln */
	double was;       /* level of the bins that are not bad; 0: of all devices */
	uint32_t bad, peers;
	bool history;
};

/* The levels of bins that are bad, or not, less the peers'. */
static size_t levels(const struct judge *g, uint32_t d, uint32_t classes, bool as_all, bool bad,
		     bool peers, double *v)
{
	size_t n = 0;

	for (uint32_t b = 0; b < g->j->bins; b++) {
		double x = judge_level(g, d, classes, as_all, b) - (peers ? g->like[b] : 0);

		if (g->state[d].bad[b] == bad && !isnan(x))
			v[n++] = x;
	}
	return n;
}

/* Spread of peers in the same bins: what they differ by, always. */
static double unlike(const struct judge *g, uint32_t d, uint32_t classes)
{
	double v[PEERS_MAX], x[JOIN_BINS_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->peers[d]; i++) {
		uint32_t p = g->peer[d * PEERS_MAX + i];
		size_t xs = 0;

		for (uint32_t b = 0; b < g->j->bins; b++) {
			double y = judge_level(g, p, classes, true, b) - g->like[b];

			if (g->state[d].bad[b] && !g->state[p].bad[b] && !isnan(y))
				x[xs++] = y;
		}
		if (xs)
			v[n++] = median_of(x, xs);
	}
	return n ? join_spread(v, n) : INFINITY;
}

static void compare(const struct judge *g, uint32_t d, uint32_t classes, struct contrast *out)
{
	double bad[JOIN_BINS_MAX], good[JOIN_BINS_MAX], sb, sg, fewer;
	size_t nb, ng;

	memset(out, 0, sizeof(*out));
	out->peers = judge_like(g, d, classes, false);
	nb = levels(g, d, classes, false, true, out->peers, bad);
	if (nb < BINS_BAD) { /* all of them are in that state */
		out->peers = 0;
		nb = levels(g, d, classes, false, true, false, bad);
	}
	fewer = out->peers ? 1 : 4; /* what all have together goes on from bin to bin */
	ng = levels(g, d, classes, false, false, out->peers, good);
	out->bad = (uint32_t)nb;
	if (nb < BINS_BAD)
		return;
	if (ng >= BINS_GOOD && ng >= g->j->bins / 20) {
		out->history = true;
		out->was = median_of(good, ng);
		out->effect = median_of(bad, nb) - out->was;
		sb = join_spread(bad, nb);
		sg = join_spread(good, ng);
		/* A state that comes slowly spreads what it does. */
		sg = sg > NOISE ? sg : NOISE;
		sg = sb > sg ? sqrt(sb * sg) : sg;
		out->z = out->effect / (sg * sqrt(fewer / (double)nb + fewer / (double)ng));
		return;
	}
	out->peers = judge_like(g, d, classes, true);
	if (out->peers < LIKE)
		return;
	nb = levels(g, d, classes, true, true, true, bad);
	if (nb < BINS_BAD)
		return;
	out->effect = median_of(bad, nb);
	sb = unlike(g, d, classes);
	out->z = out->effect / (sb > 2 * NOISE ? sb : 2 * NOISE);
}

static bool tells(const struct contrast *c, double least)
{
	return c->z >= Z_LEAST && c->effect >= log(1 + least);
}

/* --- what it was --- */

/* What a state can slow must have slowed, as far as it explains, and what it cannot must not. */
static bool fits(const struct judge *g, uint32_t d, enum cause c, const struct contrast *x,
		 double *by_class)
{
	double e = g->state[d].explains, compute, memory;

	for (enum join_class k = 0; k < JOIN_CLASSES; k++) {
		struct contrast one = { 0 };

		if (g->row[d][k].weight > 0)
			compare(g, d, 1u << k, &one);
		by_class[k] = one.bad ? exp(one.effect) : 0;
	}
	compute = by_class[JOIN_COMPUTE] > 0 ? log(by_class[JOIN_COMPUTE]) : NAN;
	memory = by_class[JOIN_MEMORY] > 0 ? log(by_class[JOIN_MEMORY]) : NAN;
	if (e > 0 && (x->effect < UNDER * e || x->effect > OVER * e + ALLOWANCE))
		return false;
	switch (c) {
	case CAUSE_COOLING:
	case CAUSE_THERMAL:
	case CAUSE_POWER:
	case CAUSE_CLOCK:
		return isnan(memory) || memory < compute + ALLOWANCE;
	case CAUSE_MEMCLK:
	case CAUSE_ECC:
		return isnan(compute) || compute < 0.6 * memory;
	case CAUSE_SHARED:
	case CAUSE_SLOWER:
		return isnan(compute) || isnan(memory) ||
		       (compute > 0.4 * memory && memory > 0.4 * compute);
	default:
		return true;
	}
}

/* --- what it cost --- */

/* What a slower host costs is that the device has nothing to do for longer. */
static double idle_cost(const struct judge *g, uint32_t d, double by)
{
	const struct join *j = g->j;
	double idle = 0;

	for (uint32_t b = 0; b < j->bins; b++)
		if (g->state[d].bad[b] && j->device[d].busy[b] > 0)
			idle += fmax(0, (double)j->width_ns - j->device[d].busy[b]);
	return idle * (1 - 1 / by);
}

static double work_cost(const struct judge *g, uint32_t d, uint32_t classes, double by)
{
	const struct join_device *dev = &g->j->device[d];
	double sum = 0;

	for (size_t i = dev->first; i < dev->first + dev->keys; i++) {
		const struct join_key *k = &g->j->key[i];

		for (uint32_t b = 0; classes >> k->class & 1 && b < g->j->bins; b++)
			if (g->state[d].bad[b] && k->cell[b].n)
				sum += join_is_collective(k) ? k->cell[b].n * exp(k->cell[b].least)
							     : k->cell[b].ns;
	}
	return sum * (1 - 1 / by);
}

/* --- who was slowed, since when --- */

static double key_by(const struct judge *g, const struct join_key *k, bool history)
{
	double bad[JOIN_BINS_MAX], good[JOIN_BINS_MAX];
	size_t nb = 0, ng = 0;

	for (uint32_t b = 0; b < g->j->bins; b++) {
		if (!k->cell[b].n)
			continue;
		if (g->state[k->device].bad[b])
			bad[nb++] = join_level(k, b);
		else
			good[ng++] = join_level(k, b);
	}
	if (nb < BINS_BAD || (history && ng < BINS_BAD))
		return 0;
	return exp(median_of(bad, nb) - (history ? median_of(good, ng) : k->all));
}

static void name_slowed(const struct judge *g, struct join_verdict *v, uint32_t classes)
{
	const struct join_device *dev = &g->j->device[v->device];
	double ns[JOIN_NAMES] = { 0 };

	for (size_t i = dev->first; i < dev->first + dev->keys; i++) {
		const struct join_key *k = &g->j->key[i];
		double by = classes >> k->class & 1 ? key_by(g, k, v->history) : 0, cost;
		size_t at = JOIN_NAMES;

		cost = by > 1 ? k->ns * (1 - 1 / by) : 0;
		while (at && cost > ns[at - 1])
			at--;
		if (at == JOIN_NAMES || by < 1 + cause_table[v->cause].least / 2)
			continue;
		memmove(ns + at + 1, ns + at, (JOIN_NAMES - 1 - at) * sizeof(*ns));
		memmove(v->name_by + at + 1, v->name_by + at, (JOIN_NAMES - 1 - at) * sizeof(*ns));
		memmove(v->name + at + 1, v->name + at, (JOIN_NAMES - 1 - at) * sizeof(*v->name));
		ns[at] = cost;
		v->name_by[at] = by;
		memcpy(v->name[at], k->name, JOIN_NAME);
	}
}

static void when(const struct judge *g, struct join_verdict *v, uint32_t classes,
		 const struct contrast *c)
{
	const struct join *j = g->j;
	const struct join_state *s = &g->state[v->device];
	uint64_t first = 0;
	bool before = false;

	judge_like(g, v->device, classes, !v->history);
	for (uint32_t b = 0; b < j->bins; b++) {
		double x = judge_level(g, v->device, classes, !v->history, b);

		if (isnan(x))
			continue;
		v->seen_ns += j->width_ns;
		v->bad_ns += s->bad[b] ? j->width_ns : 0;
		v->bouts += s->bad[b] && !before;
		before = s->bad[b];
		x -= v->peers && !isnan(g->like[b]) ? g->like[b] : 0;
		if (s->bad[b] && !first)
			first = j->begin_ns + b * j->width_ns;
		if (s->bad[b] && !v->since_ns && x > c->was + c->effect / 2)
			v->since_ns = j->begin_ns + b * j->width_ns;
	}
	v->since_ns = v->since_ns ? v->since_ns : first;
}

static double signal_in(const struct join *j, uint32_t d, enum join_signal s, const bool *bad,
			bool want)
{
	double v[JOIN_BINS_MAX];
	size_t n = 0;

	for (uint32_t b = 0; b < j->bins; b++) {
		double x =
			bad[b] == want && j->device[d].busy[b] > 0 ? join_signal(j, d, s, b) : NAN;

		if (!isnan(x))
			v[n++] = x;
	}
	return median_of(v, n);
}

/* Of counters and of what all have: the median of the others, where it was always bad. */
static double signal_was(const struct judge *g, uint32_t d, enum join_signal s, bool history)
{
	double v[PEERS_MAX];
	uint32_t n = 0;

	if (history)
		return signal_in(g->j, d, s, g->state[d].bad, false);
	for (uint32_t i = 0; i < g->peers[d]; i++) {
		double x = signal_in(g->j, g->peer[d * PEERS_MAX + i], s, g->state[d].bad, true);

		if (!isnan(x))
			v[n++] = x;
	}
	return median_of(v, n);
}

/* What a cause slows there: of the network, what goes over it, where that is known. */
static uint32_t classes_of(const struct judge *g, uint32_t d, enum cause c)
{
	uint32_t classes = cause_table[c].classes;

	return classes & IN_NET && g->row[d][JOIN_NET].weight > 0 ? IN_NET : classes;
}

static int add(struct judge *g, uint32_t d, enum cause c, const struct contrast *x,
	       const double *by_class)
{
	struct join *j = g->j;
	struct join_verdict *v;
	uint32_t classes = classes_of(g, d, c);
	bool host = classes & IN_HOST && !j->device[d].cpu;

	if (vec_more(&j->verdict, j->verdicts, sizeof(*v)) < 0)
		return -ENOMEM;
	v = &j->verdict[j->verdicts];
	*v = (struct join_verdict){ .cause = c,
				    .device = d,
				    .by = exp(x->effect),
				    .explained = g->state[d].explains > 0
							 ? exp(g->state[d].explains)
							 : 0,
				    .z = x->z,
				    .tells = g->state[d].tells,
				    .peers = x->peers,
				    .history = x->history };
	memcpy(v->by_class, by_class, sizeof(v->by_class));
	v->cost_ns = host ? idle_cost(g, d, v->by) : work_cost(g, d, classes, v->by);
	for (enum join_class k = 0; k < JOIN_CLASSES; k++)
		if (cause_table[c].also >> k & 1 && by_class[k] > 1 + cause_table[c].least)
			v->cost_ns += work_cost(g, d, 1u << k, by_class[k]);
	v->is = signal_in(j, d, v->tells, g->state[d].bad, true);
	v->was = signal_was(g, d, v->tells, x->history);
	when(g, v, classes, x);
	name_slowed(g, v, classes);
	if (v->cost_ns > 0)
		j->verdicts++;
	return 0;
}

/* --- slower than its like --- */

/* Its clock is theirs. */
static bool same_clock(const struct judge *g, uint32_t d)
{
	double own = signal_in(g->j, d, SIGNAL_SM_CLOCK, g->state[d].bad, true),
	       them = signal_was(g, d, SIGNAL_SM_CLOCK, false);

	return own > (1 - SAME_CLOCK) * them;
}

/* The bins in which it is, as its work tells: nearly all, or those behind some moment. */
static void slower_state(const struct judge *g, uint32_t d, uint32_t classes, double least)
{
	double v[JOIN_BINS_MAX], x[JOIN_BINS_MAX], high;
	struct join_state *s = &g->state[d];
	size_t n = 0;

	if (judge_like(g, d, classes, true) < LIKE)
		return;
	for (uint32_t b = 0; b < g->j->bins; b++) {
		x[b] = judge_level(g, d, classes, true, b) - g->like[b];
		if (!isnan(x[b]))
			v[n++] = x[b];
	}
	median_of(v, n);
	high = n ? v[n * 8 / 10] : 0;
	for (uint32_t b = 0; b < g->j->bins && high >= least; b++)
		s->bad[b] = x[b] > high / 2;
}

/* No state explains it: the work of one device against the same work of its like. */
static int slower(struct judge *g, uint32_t d)
{
	const uint32_t classes = IN_COMPUTE | IN_MEMORY;
	double least = log(1 + cause_table[CAUSE_SLOWER].least), by_class[JOIN_CLASSES],
	       v[JOIN_BINS_MAX];
	struct contrast x = { 0 };
	size_t n;

	for (size_t i = 0; i < g->j->verdicts; i++)
		if (g->j->verdict[i].device == d &&
		    cause_table[g->j->verdict[i].cause].scope == JOIN_GPU)
			return 0;
	slower_state(g, d, classes, least);
	x.peers = judge_like(g, d, classes, true);
	n = levels(g, d, classes, true, true, x.peers, v);
	x.bad = (uint32_t)n;
	if (x.peers < LIKE || n < BINS_GOOD || !same_clock(g, d))
		return 0;
	x.effect = median_of(v, n);
	x.z = x.effect / fmax(unlike(g, d, classes), NOISE);
	if (x.effect < 2 * join_spread(v, n) || !tells(&x, cause_table[CAUSE_SLOWER].least) ||
	    !fits(g, d, CAUSE_SLOWER, &x, by_class))
		return 0;
	return add(g, d, CAUSE_SLOWER, &x, by_class);
}

/* --- the whole join --- */

/* Of causes that slow the host the first holds: tasks also wait for a core that is stolen. */
static bool explained(const struct join *j, uint32_t d, enum cause c)
{
	for (size_t i = 0; i < j->verdicts; i++)
		if (j->verdict[i].device == d &&
		    cause_table[j->verdict[i].cause].classes & cause_table[c].classes &&
		    j->verdict[i].cause != c)
			return true;
	return false;
}

static int judge_one(struct judge *g, uint32_t d, enum cause c)
{
	double by_class[JOIN_CLASSES];
	struct contrast x;

	if (c == CAUSE_SLOWER)
		return slower(g, d);
	if (explained(g->j, d, c))
		return 0;
	compare(g, d, classes_of(g, d, c), &x);
	if (!tells(&x, cause_table[c].least) || !fits(g, d, c, &x, by_class))
		return 0;
	return add(g, d, c, &x, by_class);
}

static int judge_cause(struct judge *g, enum cause c)
{
	struct join *j = g->j;
	int err = 0;

	for (uint32_t d = 0; d < j->devices; d++)
		if (join_state(j, d, c, &g->state[d]))
			j->looked[d] |= 1ull << c;
	for (uint32_t d = 0; d < j->devices && !err; d++)
		if (j->looked[d] >> c & 1)
			err = judge_one(g, d, c);
	return err;
}

static void count_others(struct join *j)
{
	for (size_t i = 0; i < j->verdicts; i++)
		for (size_t k = 0; k < j->verdicts; k++)
			j->verdict[i].others +=
				k != i && j->verdict[k].cause == j->verdict[i].cause;
}

int join_judge(struct join *j)
{
	struct judge g = { .j = j };
	size_t n = j->devices + 1;
	int err = 0;

	g.row = calloc(n, sizeof(*g.row));
	g.peer = calloc(n * PEERS_MAX, sizeof(*g.peer));
	g.peers = calloc(n, sizeof(*g.peers));
	g.state = calloc(n, sizeof(*g.state));
	g.like = calloc(JOIN_BINS_MAX, sizeof(*g.like));
	j->looked = calloc(n, sizeof(*j->looked));
	if (!g.row || !g.peer || !g.peers || !g.state || !g.like || !j->looked)
		err = -ENOMEM;
	err = err ? err : judge_levels(&g);
	for (enum cause c = 0; c < CAUSES && !err; c++)
		err = judge_cause(&g, c);
	count_others(j);
	free(g.row);
	free(g.peer);
	free(g.peers);
	free(g.state);
	free(g.like);
	return err;
}
