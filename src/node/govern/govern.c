/* SPDX-License-Identifier: Apache-2.0 */
/* govern.c - moves between fidelity levels: down at once, up one at a time and with patience. */
#include "govern/govern.h"

#define ROOM 0.7 /* of the budget: a fidelity level that promises less than this is worth trying */

const struct fidelity_row fidelity_table[FIDELITY_LEVELS] = {
#define FIDELITY(NAME, word, tier, duty, ops, counters, cost, what) \
	{ word, tier, duty, ops, counters, cost, what },
#include "govern/fidelity.tbl.h"
};

const char *const govern_word[] = { "stays",
				    "accounted cost",
				    "CPU of its probes",
				    "measured slowdown",
				    "slowdown not shown to be in budget",
				    "room again",
				    "setting" };

/* What leaves out steps changes nothing for a program that has none. */
static bool helps(const struct govern_in *in, enum fidelity r)
{
	return !in->stepless || fidelity_table[r].duty <= 1;
}

/* The least fall that promises to keep the budget, at least one fidelity level. */
static enum fidelity below(const struct govern_in *in, enum fidelity from, double cost,
			   double budget)
{
	enum fidelity to = from;

	do
		to++;
	while (to < FIDELITY_HEARTBEAT &&
	       (!helps(in, to) ||
		cost * fidelity_table[to].cost / fidelity_table[from].cost > ROOM * budget));
	return to;
}

static enum fidelity above(const struct govern_in *in, enum fidelity from)
{
	enum fidelity to = from;

	do
		to--;
	while (to > in->top && !helps(in, to));
	return to;
}

/* What is accounted may be limited as a share of a step and as one of a core: the tighter. */
static double accounted_limit(const struct govern_in *in)
{
	if (in->budget > 0 && (in->cpu <= 0 || in->budget <= in->cpu))
		return in->budget;
	return in->cpu;
}

static enum govern_why move(struct govern *g, enum fidelity to, enum govern_why why)
{
	g->fidelity = to;
	g->calm_s = g->good_s = 0;
	g->moved = true;
	return why;
}

static enum govern_why fall(struct govern *g, enum fidelity to, uint32_t least_s,
			    enum govern_why why)
{
	/* A relapse: it went up too early. Long peace forgives. */
	if (g->need_s && g->good_s < 2 * g->need_s)
		g->need_s = 2 * g->need_s < GOVERN_CALM_MAX_S ? 2 * g->need_s : GOVERN_CALM_MAX_S;
	else
		g->need_s = least_s;
	if (g->need_s < least_s)
		g->need_s = least_s;
	return move(g, to, why);
}

/* Would the next fidelity level up keep the budget, too? What is measured does not hang on the duty. */
static bool has_room(const struct govern *g, const struct govern_in *in)
{
	const struct fidelity_row *is = &fidelity_table[g->fidelity],
				  *up = &fidelity_table[above(in, g->fidelity)];
	double growth = g->fidelity == FIDELITY_HEARTBEAT ? 1 : up->cost / is->cost;
	double limit = accounted_limit(in);

	if (limit > 0 && in->accounted * growth > ROOM * limit)
		return false;
	return in->budget <= 0 || !in->measured.known ||
	       (in->measured.mid / up->duty < ROOM * in->budget && govern_shown(in, up->duty));
}

/* Down, if one of the figures says so. */
static enum govern_why look_down(struct govern *g, const struct govern_in *in)
{
	double limit = accounted_limit(in), duty = fidelity_table[g->fidelity].duty;

	if (limit > 0 && in->accounted > limit)
		return fall(g, below(in, g->fidelity, in->accounted, limit), GOVERN_CALM_MIN_S,
			    limit == in->budget ? GOVERN_ACCOUNTED : GOVERN_CPU);
	if (in->budget > 0 && in->measured.known && in->measured.lo / duty > in->budget)
		return fall(g, below(in, g->fidelity, in->measured.mid / duty, in->budget),
			    GOVERN_SURE_MIN_S, GOVERN_MEASURED);
	if (g->good_s >= GOVERN_SHOW_S && in->measured.known && !govern_shown(in, duty))
		return fall(
			g,
			below(in, g->fidelity, in->measured.hi / duty, GOVERN_SHOWN * in->budget),
			GOVERN_SURE_MIN_S, GOVERN_UNSHOWN);
	return GOVERN_STAY;
}

enum govern_why govern_look(struct govern *g, const struct govern_in *in)
{
	enum govern_why why = GOVERN_STAY;

	g->good_s += g->good_s < UINT32_MAX;
	if (g->fidelity < in->top)
		return move(g, in->top, GOVERN_LIMIT);
	if (g->moved && g->good_s <= GOVERN_SETTLE_S)
		return GOVERN_STAY;
	if (g->fidelity < FIDELITY_HEARTBEAT)
		why = look_down(g, in);
	if (why != GOVERN_STAY || g->fidelity == in->top)
		return why;
	if (!has_room(g, in)) {
		g->calm_s = 0;
		return GOVERN_STAY;
	}
	if (++g->calm_s < g->need_s)
		return GOVERN_STAY;
	return move(g, above(in, g->fidelity), GOVERN_CALM);
}
