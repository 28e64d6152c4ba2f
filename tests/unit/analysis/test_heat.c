/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks x steps: each against the median of its step, however many are taken together. */
#include "insight/heat.h"

#include <math.h>
#include <stdbool.h>

#include "t.h"

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-4;
}

/* Rank 5 takes half as much again from step 40 on, rank 2 is late once. */
static double value(int32_t rank, uint64_t step)
{
	if (rank == 2 && step == 7)
		return 300;
	return rank == 5 && step >= 40 ? 150 : 100;
}

static void fill(struct heat *h, int32_t ranks, uint64_t steps, size_t cells)
{
	*h = (struct heat){ .rows = 0 };
	for (uint64_t s = 0; s < steps; s++) /* as a trace has them: ranks by turns */
		for (int32_t r = ranks - 1; r >= 0; r--)
			if (heat_note(h, 100, r, 3 * s) < 0)
				abort();
	if (heat_lay(h, cells) < 0)
		abort();
	for (int32_t r = 0; r < ranks; r++)
		for (uint64_t s = 0; s < steps; s++)
			heat_add(h, 100, r, 3 * s, value(r, s));
	heat_add(h, 7, 0, 0, 1e9); /* never noted */
	heat_add(h, 100, 0, 1, 1e9);
	if (heat_close(h) < 0)
		abort();
}

static void exact(void)
{
	struct heat h;
	struct heat_sum s;

	fill(&h, 8, 80, HEAT_CELLS);
	T_OK(h.rows == 8 && h.steps == 80 && h.columns == 80 && h.width == 1 && h.row[5].rank == 5,
	     "every rank has a row, every step a column");
	s = heat_sum(&h, 5, 6, 40, 41);
	T_OK(near(s.worst, 0.5) && near(s.mean, 0.5) && s.n == 1, "a slow rank is above its step");
	s = heat_sum(&h, 5, 6, 39, 40);
	T_OK(near(s.worst, 0), "and was not before");
	s = heat_sum(&h, 0, 8, 0, 10);
	T_OK(near(s.worst, 2) && near(s.mean, 2.0 / 80) && s.n == 80,
	     "cells taken together have their worst and their mean");
	T_OK(near(h.row[5].over, 0.25) && near(h.row[2].over, 2.0 / 80) && near(h.row[0].over, 0),
	     "each rank is as much above as its steps are");
	heat_fini(&h);
}

static void many(void)
{
	struct heat h;
	struct heat_sum s;

	fill(&h, 8, 80, 8 * 20);
	T_OK(h.columns == 20 && h.width == 4, "of too many steps some are a column");
	s = heat_sum(&h, 5, 6, 10, 20);
	T_OK(near(s.worst, 0.5) && near(s.mean, 0.5) && s.n == 40, "which keeps how many it holds");
	s = heat_sum(&h, 2, 3, 1, 2);
	T_OK(near(s.worst, 2) && near(s.mean, 0.5), "its worst, and its mean");
	heat_fini(&h);
}

static void few(void)
{
	struct heat h;

	fill(&h, 1, 9, HEAT_CELLS);
	T_OK(near(heat_sum(&h, 0, 1, 0, 9).worst, 0), "one rank is held against its own steps");
	heat_fini(&h);
	fill(&h, 0, 0, HEAT_CELLS);
	T_OK(!h.columns && !h.rows, "no steps are no cells");
	heat_fini(&h);
}

int main(void)
{
	exact();
	many();
	few();
	return t_done();
}
