/* SPDX-License-Identifier: Apache-2.0 */
/* base_kernel.c - B3: scores of kernels as in NVIDIA's resiliency extension; B4: EROICA's trigger,
 * and phases of a rank that differ from its peers'. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lab/baseline.h"
#include "lab/panel.h"

#define WINDOW 50u

struct kernels {
	struct panel p;
	double *mean; /* [class][rank]: of one kernel, over the last steps */
	double last[WINDOW], best;
	uint32_t steps;
};

static void kernels_close(void *state)
{
	struct kernels *k = state;

	if (k) {
		panel_fini(&k->p);
		free(k->mean);
	}
	free(k);
}

static int kernels_open(void **state, uint32_t world)
{
	struct kernels *k = calloc(1, sizeof(*k));

	if (!k || panel_init(&k->p, world) < 0) {
		free(k);
		return -ENOMEM;
	}
	k->mean = calloc((size_t)STEP_CLASSES * world, sizeof(*k->mean));
	if (!k->mean) {
		kernels_close(k);
		return -ENOMEM;
	}
	*state = k;
	return 0;
}

/* --- B3 --- */

static double *mean_of(struct kernels *k, uint32_t rank, int class)
{
	return &k->mean[(size_t) class * k->p.world + rank];
}

/* The fastest rank of the role is the measure; a rank's score is the mean over its kernels. */
static void scores(struct kernels *k, uint32_t role, double least, diag_say_fn *say, void *arg)
{
	struct panel *p = &k->p;
	double best[STEP_CLASSES];

	for (int c = 0; c < STEP_CLASSES; c++) {
		best[c] = INFINITY;
		for (uint32_t r = 0; r < p->world; r++)
			if (p->role[r] == role && *mean_of(k, r, c) > 0)
				best[c] = fmin(best[c], *mean_of(k, r, c));
	}
	for (uint32_t r = 0; r < p->world; r++) {
		double sum = 0, weight = 0;

		if (!p->at[r] || p->role[r] != role)
			continue;
		for (int c = 0; c < STEP_CLASSES; c++)
			if (*mean_of(k, r, c) > 0) {
				sum += p->at[r]->class[c].sum * best[c] / *mean_of(k, r, c);
				weight += p->at[r]->class[c].sum;
			}
		if (weight > 0 && sum / weight < least)
			panel_say(say, arg, DIAG_RANK, r,
				  p->at[r]->throttle ? p->at[r]->throttle & 4 ? 2 : 1 : 4,
				  (1 - sum / weight) * p->at[r]->t.compute / p->at[r]->t.step);
	}
}

static int nvrx(struct kernels *k, const struct step_rec *rec, size_t n, double least,
		diag_say_fn *say, void *arg)
{
	if (!panel_take(&k->p, rec, n))
		return 0;
	for (size_t i = 0; i < n; i++)
		for (int c = 0; c < STEP_CLASSES; c++) {
			double is = rec[i].class[c].count
					    ? rec[i].class[c].sum / rec[i].class[c].count
					    : 0;
			double *mean = mean_of(k, rec[i].rank, c);

			*mean = *mean > 0 ? *mean + (is - *mean) / 16 : is;
		}
	for (uint32_t role = 0; role < k->p.roles && k->p.seen > SKIP; role++)
		scores(k, role, least, say, arg);
	return 0;
}

static int nvrx_step(void *state, const struct step_rec *rec, size_t n, diag_say_fn *say, void *arg)
{
	return nvrx(state, rec, n, 0.75, say, arg);
}
static int nvrx_tuned_step(void *state, const struct step_rec *rec, size_t n, diag_say_fn *say,
			   void *arg)
{
	return nvrx(state, rec, n, 0.93, say, arg);
}

/* --- B4 --- */

/* The mean of the last 50 steps is 1.05 times the least such mean, or one step is five of them. */
static bool triggered(struct kernels *k, double step)
{
	double sum = 0;
	bool blocked;

	k->last[k->steps++ % WINDOW] = step;
	if (k->steps < WINDOW)
		return false;
	for (uint32_t i = 0; i < WINDOW; i++)
		sum += k->last[i];
	sum /= WINDOW;
	blocked = k->best > 0 && step > 5 * k->best;
	if (!(k->best > 0) || sum < k->best)
		k->best = sum;
	return blocked || sum > 1.05 * k->best;
}

static double share_of(const struct panel *p, uint32_t rank, enum series s)
{
	return panel_value(p->at[rank], s) / p->at[rank]->t.step;
}

/* Phases of which the rank has more than its like. */
static void unlike(struct kernels *k, uint32_t role, enum series s, diag_say_fn *say, void *arg)
{
	static const uint8_t kind[] = {
		[OF_COMPUTE] = 4, [OF_HOST] = 9, [OF_INPUT] = 13, [OF_COPY] = 7
	};
	double mad, mid = panel_role(&k->p, role, share_of, s, &mad);

	for (uint32_t r = 0; r < k->p.world; r++) {
		double is;

		if (!k->p.at[r] || k->p.role[r] != role)
			continue;
		is = share_of(&k->p, r, s);
		if (is > 0.01 && is - mid > fmax(5 * mad, 0.01))
			panel_say(say, arg, DIAG_RANK, r, kind[s], is - mid);
	}
}

static int eroica_step(void *state, const struct step_rec *rec, size_t n, diag_say_fn *say,
		       void *arg)
{
	struct kernels *k = state;

	if (!panel_take(&k->p, rec, n) || !triggered(k, rec[0].t.step))
		return 0;
	for (uint32_t role = 0; role < k->p.roles; role++)
		for (int s = OF_COMPUTE; s < OF_STEP; s++)
			if (s != OF_EXPOSED) /* who waits is no culprit */
				unlike(k, role, (enum series)s, say, arg);
	return 0;
}

const struct diagnoser base_nvrx = { "B3",
				     "NVRx: kernels slower than the fastest rank's by a third",
				     kernels_open, nvrx_step, kernels_close };
const struct diagnoser base_nvrx_tuned = { "B3-0.93", "the same, its threshold tuned", kernels_open,
					   nvrx_tuned_step, kernels_close };
const struct diagnoser base_eroica = { "B4",
				       "EROICA: 5 % over the best 50 steps, phases unlike peers'",
				       kernels_open, eroica_step, kernels_close };
