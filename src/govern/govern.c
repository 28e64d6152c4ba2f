/* SPDX-License-Identifier: Apache-2.0 */
/* govern.c - down as far as needed and at once, up one rung and with patience. */
#include "govern/govern.h"

#define ROOM 0.7 /* of the budget: a rung that promises less than this is worth trying */

const struct rung_row rung_table[RUNGS] = {
#define RUNG(NAME, word, tier, duty, ops, cost, what) { word, tier, duty, ops, cost, what },
#include "govern/rung.tbl.h"
};

const char *const govern_word[] = { "stays", "accounted cost", "measured slowdown", "room again",
				    "setting" };

/* The least fall that promises to keep the budget, at least one rung. */
static enum rung below(enum rung from, double cost, double budget)
{
	enum rung to = from;

	do
		to++;
	while (to < RUNG_PULSE &&
	       cost * rung_table[to].cost / rung_table[from].cost > ROOM * budget);
	return to;
}

static enum govern_why move(struct govern *g, enum rung to, enum govern_why why)
{
	g->rung = to;
	g->calm_s = g->good_s = 0;
	g->moved = true;
	return why;
}

static enum govern_why fall(struct govern *g, enum rung to, uint32_t least_s, enum govern_why why)
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

/* Would the next rung up keep the budget, too? What is measured does not hang on the duty. */
static bool has_room(const struct govern *g, const struct govern_in *in)
{
	const struct rung_row *is = &rung_table[g->rung], *up = is - 1;
	double growth = g->rung == RUNG_PULSE ? 1 : up->cost / is->cost;

	if (in->accounted * growth > ROOM * in->budget)
		return false;
	return !in->measured.known || in->measured.mid / up->duty < ROOM * in->budget;
}

enum govern_why govern_look(struct govern *g, const struct govern_in *in)
{
	double duty = rung_table[g->rung].duty;

	g->good_s += g->good_s < UINT32_MAX;
	if (g->rung < in->top)
		return move(g, in->top, GOVERN_LIMIT);
	if (g->moved && g->good_s <= GOVERN_SETTLE_S)
		return GOVERN_STAY;
	if (in->budget > 0 && g->rung < RUNG_PULSE) {
		if (in->accounted > in->budget)
			return fall(g, below(g->rung, in->accounted, in->budget), GOVERN_CALM_MIN_S,
				    GOVERN_ACCOUNTED);
		if (in->measured.known && in->measured.lo / duty > in->budget)
			return fall(g, below(g->rung, in->measured.mid / duty, in->budget),
				    GOVERN_SURE_MIN_S, GOVERN_MEASURED);
	}
	if (g->rung == in->top)
		return GOVERN_STAY;
	if (in->budget > 0 && !has_room(g, in)) {
		g->calm_s = 0;
		return GOVERN_STAY;
	}
	if (++g->calm_s < g->need_s)
		return GOVERN_STAY;
	return move(g, (enum rung)(g->rung - 1), GOVERN_CALM);
}
