/* SPDX-License-Identifier: Apache-2.0 */
/* The governor on a simulated process: bursts, slow costs, noise, no swinging. */
#include "govern/govern.h"

#include <string.h>

#include "t.h"

static const struct interval nothing = { .known = false };

/* What a process pays: so much a second when all is recorded. */
struct plant {
	double accounted, measured; /* shares of time in rung ALL */
	double width;               /* of the interval, half */
};

static struct govern_in look_in(const struct govern *g, const struct plant *p)
{
	double d = p->measured;
	struct govern_in in = { .budget = 0.01,
				.accounted = p->accounted * rung_table[g->rung].cost };

	in.measured = nothing;
	if (p->width > 0 && g->rung != RUNG_PULSE)
		in.measured =
			(struct interval){ d - p->width, d, d + p->width, true, false, false };
	return in;
}

static double cost_now(const struct govern *g, const struct plant *p)
{
	return p->measured * rung_table[g->rung].cost;
}

static uint32_t run(struct govern *g, const struct plant *p, uint32_t seconds, uint32_t *moves)
{
	uint32_t settled = 0;

	for (uint32_t s = 1; s <= seconds; s++) {
		struct govern_in in = look_in(g, p);

		if (govern_look(g, &in) != GOVERN_STAY) {
			(*moves)++;
			settled = s;
		}
	}
	return settled;
}

static void test_ladder(void)
{
	bool falls = true;

	for (int i = 1; i < RUNGS; i++)
		falls = falls && rung_table[i].cost < rung_table[i - 1].cost &&
			rung_table[i].tier <= rung_table[i - 1].tier;
	T_OK(falls && rung_table[RUNG_PULSE].cost == 0, "each rung costs less than the one above");
}

static void test_burst(void)
{
	struct plant calm = { .accounted = 0.004 }, burst = { .accounted = 0.04 };
	struct govern g = { 0 };
	struct govern_in in;
	uint32_t moves = 0, back;

	run(&g, &calm, 100, &moves);
	T_OK(g.rung == RUNG_ALL && moves == 0, "within the budget nothing moves");
	in = look_in(&g, &burst);
	T_OK(govern_look(&g, &in) == GOVERN_ACCOUNTED && g.rung == RUNG_TENTH,
	     "ten times the events: the next second it is as low as needed");
	moves = 0;
	run(&g, &burst, 600, &moves);
	T_OK(moves == 0, "and stays there while it lasts");
	back = run(&g, &calm, 600, &moves);
	T_OK(g.rung == RUNG_ALL && back <= 60, "afterwards it is back, after %u s", back);
}

static void test_measured(void)
{
	struct plant slow = { .accounted = 0.001, .measured = 0.10, .width = 0.02 };
	struct govern g = { 0 };
	uint32_t moves = 0, settled = run(&g, &slow, 3600, &moves);

	T_OK(cost_now(&g, &slow) < 0.01 && settled <= 2, "10 %% is brought to %.2f %% in %u s",
	     100 * cost_now(&g, &slow), settled);
	T_OK(moves == 1, "in an hour it moved %u times", moves);
	slow = (struct plant){ .accounted = 0.001, .measured = 0.012, .width = 0.004 };
	g = (struct govern){ 0 };
	moves = 0;
	run(&g, &slow, 3600, &moves);
	T_OK(g.rung == RUNG_ALL && moves == 0, "what may be within the budget is left alone");
	slow.width = 0.001;
	run(&g, &slow, 7200, &moves);
	T_OK(g.rung == RUNG_HALF && moves <= 2, "1.2 %% for sure: half, and no swinging (%u moves)",
	     moves);
}

/* A cost that is seen only on the rung above: each try is dearer than the last. */
static void test_patience(void)
{
	struct govern g = { 0 };
	uint32_t tries = 0;

	for (uint32_t s = 0; s < 86400; s++) {
		struct govern_in in = { .budget = 0.01 };

		in.measured = nothing;
		in.accounted = g.rung == RUNG_ALL ? 0.05 : 0;
		if (govern_look(&g, &in) == GOVERN_ACCOUNTED)
			tries++;
	}
	T_OK(tries <= 20 && tries >= 5, "in a day it tried %u times", tries);
}

static void test_limits(void)
{
	struct govern g = { 0 };
	struct govern_in in = { .accounted = 5 };

	in.measured = nothing;
	T_OK(govern_look(&g, &in) == GOVERN_STAY && g.rung == RUNG_ALL, "no budget: no limit");
	in.top = RUNG_QUARTER;
	T_OK(govern_look(&g, &in) == GOVERN_LIMIT && g.rung == RUNG_QUARTER,
	     "a setting holds at once");
	in = (struct govern_in){ .budget = 0.01, .accounted = 100, .top = RUNG_QUARTER };
	in.measured = nothing;
	for (uint32_t i = 0; i < GOVERN_SETTLE_S; i++)
		T_OK(govern_look(&g, &in) == GOVERN_STAY, "right after a move it waits");
	T_OK(govern_look(&g, &in) == GOVERN_ACCOUNTED && g.rung == RUNG_PULSE,
	     "a cost that nothing but silence keeps: pulse");
	in.accounted = 0;
	for (int i = 0; i < 3600; i++)
		govern_look(&g, &in);
	T_OK(g.rung == RUNG_QUARTER, "and back no further than the setting");
	in.top = RUNG_ALL;
	for (int i = 0; i < 3600; i++)
		govern_look(&g, &in);
	T_OK(g.rung == RUNG_ALL, "until it is lifted");
}

int main(void)
{
	test_ladder();
	test_burst();
	test_measured();
	test_patience();
	test_limits();
	return t_done();
}
