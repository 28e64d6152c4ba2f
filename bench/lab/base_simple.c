/* SPDX-License-Identifier: Apache-2.0 */
/* base_simple.c - B0 to B2: thresholds on a step, on a rank's own past, on its peers. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lab/baseline.h"
#include "lab/panel.h"

#define OFTEN 10u /* of 12 steps */

struct simple {
	struct panel p;
	uint16_t *lately; /* by rank: bits of the last 12 steps */
};

static void simple_close(void *state)
{
	struct simple *s = state;

	if (s) {
		panel_fini(&s->p);
		free(s->lately);
	}
	free(s);
}

static int simple_open(void **state, uint32_t world)
{
	struct simple *s = calloc(1, sizeof(*s));

	if (!s || panel_init(&s->p, world) < 0) {
		free(s);
		return -ENOMEM;
	}
	s->lately = calloc(world, sizeof(*s->lately));
	if (!s->lately) {
		simple_close(s);
		return -ENOMEM;
	}
	*state = s;
	return 0;
}

static double value_is(const struct panel *p, uint32_t rank, enum series s)
{
	return panel_value(p->at[rank], s);
}
static double value_was(const struct panel *p, uint32_t rank, enum series s)
{
	return panel_base(p, s, rank);
}

/* B0: the step takes 1.2 times what it took. */
static int job_step(void *state, const struct step_rec *rec, size_t n, diag_say_fn *say, void *arg)
{
	struct simple *s = state;
	double is, was;

	if (!panel_take(&s->p, rec, n) || !s->p.learnt)
		return 0;
	is = panel_role(&s->p, s->p.role[rec[0].rank], value_is, OF_STEP, NULL);
	was = panel_role(&s->p, s->p.role[rec[0].rank], value_was, OF_STEP, NULL);
	if (is > 1.2 * was)
		panel_say(say, arg, DIAG_JOB, 0, 0, 1 - was / is);
	return 0;
}

/* B1: a rank's own time is 1.1 times what it was. */
static int own_step(void *state, const struct step_rec *rec, size_t n, diag_say_fn *say, void *arg)
{
	struct simple *s = state;

	if (!panel_take(&s->p, rec, n) || !s->p.learnt)
		return 0;
	for (size_t i = 0; i < n; i++) {
		double is = panel_own(&rec[i]), was = panel_base_own(&s->p, rec[i].rank);
		double parts[SERIES];

		if (is <= 1.1 * was)
			continue;
		for (int k = 0; k < SERIES; k++)
			parts[k] = panel_base(&s->p, (enum series)k, rec[i].rank);
		panel_say(say, arg, DIAG_RANK, rec[i].rank, panel_kind(&rec[i], parts),
			  (is - was) / rec[i].t.step);
	}
	return 0;
}

/* B2: a rank's own time is three deviations above its role's mean; `least` of 12 steps. */
static void peers(struct simple *s, unsigned least, diag_say_fn *say, void *arg)
{
	struct panel *p = &s->p;

	for (uint32_t role = 0; role < p->roles; role++) {
		double sum = 0, sum2 = 0, n = 0, mean, deviation;

		for (uint32_t r = 0; r < p->world; r++)
			if (p->at[r] && p->role[r] == role) {
				double v = panel_own(p->at[r]);

				n++;
				sum += v;
				sum2 += v * v;
			}
		if (n < 3)
			continue;
		mean = sum / n;
		deviation = sqrt(sum2 / n > mean * mean ? sum2 / n - mean * mean : 0);
		for (uint32_t r = 0; r < p->world; r++) {
			double was[SERIES] = { 0 };

			if (!p->at[r] || p->role[r] != role)
				continue;
			s->lately[r] = (uint16_t)((s->lately[r] << 1 |
						   (panel_own(p->at[r]) > mean + 3 * deviation)) &
						  0xfff);
			if (!(s->lately[r] & 1) ||
			    (unsigned)__builtin_popcount(s->lately[r]) < least)
				continue;
			panel_say(say, arg, DIAG_RANK, r, panel_kind(p->at[r], was),
				  (panel_own(p->at[r]) - mean) / p->at[r]->t.step);
		}
	}
}

static int peers_step(void *state, const struct step_rec *rec, size_t n, diag_say_fn *say,
		      void *arg)
{
	struct simple *s = state;

	if (panel_take(&s->p, rec, n))
		peers(s, 1, say, arg);
	return 0;
}

static int often_step(void *state, const struct step_rec *rec, size_t n, diag_say_fn *say,
		      void *arg)
{
	struct simple *s = state;

	if (panel_take(&s->p, rec, n))
		peers(s, OFTEN, say, arg);
	return 0;
}

const struct diagnoser base_job = { "B0", "the step takes 1.2 times its median", simple_open,
				    job_step, simple_close };
const struct diagnoser base_own = { "B1", "a rank's own time is 1.1 times its median", simple_open,
				    own_step, simple_close };
const struct diagnoser base_peers = { "B2", "a rank is three deviations above its peers",
				      simple_open, peers_step, simple_close };
const struct diagnoser base_peers_often = { "B2-10/12", "the same, in 10 of 12 steps", simple_open,
					    often_step, simple_close };
