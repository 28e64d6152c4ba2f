/* SPDX-License-Identifier: Apache-2.0 */
/* The noise of simulated jobs, measured as that of real ones was. */
#include <math.h>
#include <stdlib.h>

#include "sim/engine.h"
#include "t.h"

#define NOISE_STEPS 200
#define NOISE_RANKS 8

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double median(const double *v, size_t n, size_t stride)
{
	double copy[NOISE_STEPS];

	for (size_t i = 0; i < n; i++)
		copy[i] = v[i * stride];
	qsort(copy, n, sizeof(*copy), by_value);
	return copy[n / 2];
}

/* 1.4826 median absolute deviations, of the median. */
static double spread(const double *v, size_t n)
{
	double mid = median(v, n, 1), off[NOISE_STEPS];

	for (size_t i = 0; i < n; i++)
		off[i] = fabs(v[i] - mid);
	return 1.4826 * median(off, n, 1) / mid;
}

/* Correlation of each with the next. */
static double follows(const double *v, size_t n)
{
	double mean = 0, own = 0, next = 0;

	for (size_t i = 0; i < n; i++)
		mean += v[i] / (double)n;
	for (size_t i = 0; i < n; i++) {
		own += (v[i] - mean) * (v[i] - mean);
		next += i + 1 < n ? (v[i] - mean) * (v[i + 1] - mean) : 0;
	}
	return next / own;
}

static double compute_of(const struct play *p, uint32_t rank)
{
	const struct program *g = play_program(p, rank);
	double sum = 0;

	for (uint32_t i = 0; i < g->ops; i++)
		if (g->op[i].kind == OP_KERNEL) {
			uint32_t w = play_work(p, rank, i);

			sum += (double)(p->time[sim_end(w)] - p->time[sim_start(w)]);
		}
	return sum;
}

/* What real jobs had (published traces of 8 and 64 GPUs): their own 0.3 to 0.45 %, together more. */
int main(void)
{
	static double raw[NOISE_STEPS][NOISE_RANKS], one[NOISE_STEPS], alone[NOISE_STEPS];
	double r_spread = 0, a_spread = 0, r_follows = 0, a_follows = 0;
	char why[JOB_WHY];
	struct play *p = NULL;
	struct job j;

	job_init(&j);
	j.gpu = gpu_find("H100_SXM");
	j.steps = NOISE_STEPS;
	T_OK(job_model(&j, "small", why) == 0 && play_new(&p, &j, 0) == 0, "a job with noise");
	for (uint32_t s = 0; s < NOISE_STEPS && play_step(p) == 0; s++)
		for (uint32_t r = 0; r < NOISE_RANKS; r++)
			raw[s][r] = compute_of(p, r);
	for (uint32_t r = 0; r < NOISE_RANKS; r++) {
		for (uint32_t s = 0; s < NOISE_STEPS; s++) {
			one[s] = raw[s][r];
			alone[s] = raw[s][r] / median(raw[s], NOISE_RANKS, 1);
		}
		r_spread += spread(one, NOISE_STEPS) / NOISE_RANKS;
		a_spread += spread(alone, NOISE_STEPS) / NOISE_RANKS;
		r_follows += follows(one, NOISE_STEPS) / NOISE_RANKS;
		a_follows += follows(alone, NOISE_STEPS) / NOISE_RANKS;
	}
	T_OK(a_spread > 0.003 && a_spread < 0.0045, "a rank's own noise is as measured (%.2f %%)",
	     100 * a_spread);
	T_OK(r_spread > a_spread && r_spread < 0.012, "all have more together (%.2f %%)",
	     100 * r_spread);
	T_OK(r_follows > 0.25 && fabs(a_follows) < 0.1,
	     "that lasts over steps (%.2f), their own does not (%.2f)", r_follows, a_follows);
	play_free(p);
	return t_done();
}
