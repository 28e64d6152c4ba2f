/* SPDX-License-Identifier: Apache-2.0 */
/* The governor on a simulated process: bursts, slow costs, noise, no swinging. */
#include "govern/govern.h"

#include <string.h>

#include "t.h"

static const struct interval nothing = { .known = false };

/* What a process pays: so much a second when all is recorded. */
struct plant {
	double accounted, measured; /* shares of time in fidelity level ALL */
	double width;               /* of the interval, half */
};

static struct govern_in look_in(const struct govern *g, const struct plant *p)
{
	double d = p->measured;
	struct govern_in in = { .budget = 0.01,
				.accounted = p->accounted * fidelity_table[g->fidelity].cost };

	in.measured = nothing;
	if (p->width > 0 && g->fidelity != FIDELITY_HEARTBEAT)
		in.measured =
			(struct interval){ d - p->width, d, d + p->width, true, false, false };
	return in;
}

static double cost_now(const struct govern *g, const struct plant *p)
{
	return p->measured * fidelity_table[g->fidelity].cost;
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

	for (int i = 1; i < FIDELITY_LEVELS; i++)
		falls = falls && fidelity_table[i].cost < fidelity_table[i - 1].cost &&
			fidelity_table[i].tier <= fidelity_table[i - 1].tier;
	T_OK(falls && fidelity_table[FIDELITY_HEARTBEAT].cost == 0,
	     "each rung costs less than the one above");
}

static void test_burst(void)
{
	struct plant calm = { .accounted = 0.004 }, burst = { .accounted = 0.04 };
	struct govern g = { 0 };
	struct govern_in in;
	uint32_t moves = 0, back;

	run(&g, &calm, 100, &moves);
	T_OK(g.fidelity == FIDELITY_ALL && moves == 0, "within the budget nothing moves");
	in = look_in(&g, &burst);
	T_OK(govern_look(&g, &in) == GOVERN_ACCOUNTED && g.fidelity == FIDELITY_TENTH,
	     "ten times the events: the next second it is as low as needed");
	moves = 0;
	run(&g, &burst, 600, &moves);
	T_OK(moves == 0, "and stays there while it lasts");
	back = run(&g, &calm, 600, &moves);
	T_OK(g.fidelity == FIDELITY_ALL && back <= 60, "afterwards it is back, after %u s", back);
}

static void test_measured(void)
{
	struct plant slow = { .accounted = 0.001, .measured = 0.10, .width = 0.02 };
	struct govern g = { 0 };
	uint32_t moves = 0, settled = run(&g, &slow, 3600, &moves);

	T_OK(cost_now(&g, &slow) < 0.01 && settled <= 2, "10 %% is brought to %.2f %% in %u s",
	     100 * cost_now(&g, &slow), settled);
	T_OK(moves == 1, "in an hour it moved %u times", moves);
	slow = (struct plant){ .accounted = 0.001, .measured = 0.011, .width = 0.0015 };
	g = (struct govern){ 0 };
	moves = 0;
	run(&g, &slow, 3600, &moves);
	T_OK(g.fidelity == FIDELITY_ALL && moves == 0,
	     "what may be within the budget is left alone");
	slow = (struct plant){ .accounted = 0.001, .measured = 0.012, .width = 0.001 };
	run(&g, &slow, 7200, &moves);
	T_OK(g.fidelity == FIDELITY_HALF && moves <= 2,
	     "1.2 %% for sure: half, and no swinging (%u moves)", moves);
}

/* Noise may hide for ever whether a budget is kept: then less is recorded, as much as can be shown. */
static void test_unshown(void)
{
	struct plant noisy = { .accounted = 0.001, .measured = 0.003, .width = 0.02 };
	struct govern g = { 0 };
	uint32_t moves = 0;

	run(&g, &noisy, GOVERN_SHOW_S - 1, &moves);
	T_OK(g.fidelity == FIDELITY_ALL && moves == 0, "noise is given time to fall");
	run(&g, &noisy, 86400, &moves);
	T_OK(noisy.measured + noisy.width >
			     GOVERN_SHOWN * 0.01 * fidelity_table[g.fidelity - 1].duty &&
		     noisy.measured + noisy.width <=
			     GOVERN_SHOWN * 0.01 * fidelity_table[g.fidelity].duty,
	     "then it records no more than can be shown to be within the budget (%s)",
	     fidelity_table[g.fidelity].word);
	T_OK(moves <= 2, "and stays there: %u moves in a day", moves);
	noisy.width = 0.004;
	run(&g, &noisy, 3600, &moves);
	T_OK(g.fidelity == FIDELITY_ALL, "when it can be shown, all is recorded again");
}

/* A cost that is seen only on the fidelity level above: each try is dearer than the last. */
static void test_patience(void)
{
	struct govern g = { 0 };
	uint32_t tries = 0;

	for (uint32_t s = 0; s < 86400; s++) {
		struct govern_in in = { .budget = 0.01 };

		in.measured = nothing;
		in.accounted = g.fidelity == FIDELITY_ALL ? 0.05 : 0;
		if (govern_look(&g, &in) == GOVERN_ACCOUNTED)
			tries++;
	}
	T_OK(tries <= 20 && tries >= 5, "in a day it tried %u times", tries);
}

/* CPU of probes is limited where nothing is known of steps; then only kinds can be left out. */
static void test_cpu(void)
{
	struct govern g = { 0 };
	struct govern_in in = { .cpu = 0.01, .accounted = 0.05, .stepless = true };

	in.measured = nothing;
	T_OK(govern_look(&g, &in) == GOVERN_CPU && g.fidelity == FIDELITY_HEARTBEAT,
	     "a program without steps that costs far too much: pulse");
	g = (struct govern){ 0 };
	in.accounted = 0.0075;
	in.cpu = 0.007;
	T_OK(govern_look(&g, &in) == GOVERN_CPU && fidelity_table[g.fidelity].duty == 1,
	     "a little too much: no rung that leaves out steps");
	in.accounted = 0;
	for (int i = 0; i < 3600; i++)
		govern_look(&g, &in);
	T_OK(g.fidelity == FIDELITY_ALL, "and all again, in the end");
	g = (struct govern){ 0 };
	in = (struct govern_in){ .budget = 0.01, .cpu = 0.02, .accounted = 0.015 };
	in.measured = nothing;
	T_OK(govern_look(&g, &in) == GOVERN_ACCOUNTED, "the tighter of the two speaks: steps");
	g = (struct govern){ 0 };
	in.cpu = 0.005;
	T_OK(govern_look(&g, &in) == GOVERN_CPU, "or CPU");
}

/* A burst of ten times the load, anywhere, of any length, over and over. */
static void test_bursts(void)
{
	uint64_t x = 7;
	uint32_t late = 0, swings = 0, stuck = 0, over = 0;

	for (int i = 0; i < 200; i++) {
		struct plant calm = { .accounted = 0.0005 + 0.00004 * (i % 100) };
		struct plant burst = { .accounted = 10 * calm.accounted };
		struct govern g = { 0 };
		uint32_t moves = 0, length, s;

		x = x * 6364136223846793005ull + 1442695040888963407ull;
		length = 3 + (uint32_t)(x >> 33) % 120;
		run(&g, &calm, 30, &moves);
		over += moves;
		for (s = 1; s <= length; s++) {
			struct govern_in in = look_in(&g, &burst);

			if (in.accounted > in.budget && s > 1)
				late++; /* it was told a second ago */
			govern_look(&g, &in);
		}
		moves = 0;
		run(&g, &burst, 60, &moves);
		swings += moves > 0;
		run(&g, &calm, 600, &moves);
		stuck += g.fidelity != FIDELITY_ALL;
	}
	T_OK(!over, "calm programs are left alone");
	T_OK(!late, "after one look at a burst the budget is kept, %u times not", late);
	T_OK(!swings, "while it lasts nothing swings");
	T_OK(!stuck, "and every time all is recorded again by itself");
}

static void test_limits(void)
{
	struct govern g = { 0 };
	struct govern_in in = { .accounted = 5 };

	in.measured = nothing;
	T_OK(govern_look(&g, &in) == GOVERN_STAY && g.fidelity == FIDELITY_ALL,
	     "no budget: no limit");
	in.top = FIDELITY_QUARTER;
	T_OK(govern_look(&g, &in) == GOVERN_LIMIT && g.fidelity == FIDELITY_QUARTER,
	     "a setting holds at once");
	in = (struct govern_in){ .budget = 0.01, .accounted = 100, .top = FIDELITY_QUARTER };
	in.measured = nothing;
	for (uint32_t i = 0; i < GOVERN_SETTLE_S; i++)
		T_OK(govern_look(&g, &in) == GOVERN_STAY, "right after a move it waits");
	T_OK(govern_look(&g, &in) == GOVERN_ACCOUNTED && g.fidelity == FIDELITY_HEARTBEAT,
	     "a cost that nothing but silence keeps: pulse");
	in.accounted = 0;
	for (int i = 0; i < 3600; i++)
		govern_look(&g, &in);
	T_OK(g.fidelity == FIDELITY_QUARTER, "and back no further than the setting");
	in.top = FIDELITY_ALL;
	for (int i = 0; i < 3600; i++)
		govern_look(&g, &in);
	T_OK(g.fidelity == FIDELITY_ALL, "until it is lifted");
}

int main(void)
{
	test_ladder();
	test_burst();
	test_measured();
	test_unshown();
	test_patience();
	test_cpu();
	test_bursts();
	test_limits();
	return t_done();
}
