/* SPDX-License-Identifier: Apache-2.0 */
/* estimate.c - paired blocks, and a confidence sequence over candidates for the slowdown. */
#include "govern/estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

#define CLIP  2.5  /* a pair that is further off counts no more than this many scales */
#define RHO   0.04 /* where the sequence is narrowest: about 1 / RHO pairs of one scale */
#define LEAST 1e-5 /* scale of pairs that agree to the last digit */

void meter_init(struct trial_meter *m, struct aon_trial t, uint64_t seed)
{
	*m = (struct trial_meter){ .trial = t, .seed = seed, .pair = UINT64_MAX };
}

void meter_spoil(struct trial_meter *m)
{
	m->spoilt = true;
}

static double block_mean(const float *log_ns, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += exp((double)log_ns[i]);
	return log(sum / n);
}

static double half_median(const float *v, uint32_t n)
{
	float some[AON_TRIAL_BLOCK_MAX / 2 + 1];

	memcpy(some, v, n * sizeof(*v));
	qsort(some, n, sizeof(*some), cmp_float);
	return ((double)some[(n - 1) / 2] + (double)some[n / 2]) / 2;
}

/* log(on / off) of the halves that end the blocks, less that of those that begin them. */
static double lag_of(const struct trial_meter *m)
{
	uint32_t n = m->trial.block, half = n / 2;
	double early, late;

	if (!half)
		return 0;
	early = half_median(m->log_ns[0], half) - half_median(m->log_ns[1], half);
	late = half_median(m->log_ns[0] + n - half, half) -
	       half_median(m->log_ns[1] + n - half, half);
	return late - early;
}

static void close_pair(struct trial_meter *m, struct pair *out)
{
	uint32_t n = m->trial.block;
	double median[2], low[2], mean[2], lag = lag_of(m);

	for (int i = 0; i < 2; i++) {
		float *v = m->log_ns[i];

		qsort(v, n, sizeof(*v), cmp_float);
		median[i] = ((double)v[(n - 1) / 2] + (double)v[n / 2]) / 2;
		low[i] = (double)v[n / 5];
		mean[i] = block_mean(v, n);
	}
	*out = (struct pair){ median[0] - median[1], low[0] - low[1], mean[0] - mean[1], lag };
	m->pairs++;
}

/* What was gathered of the pair before does not become one. */
static void next_pair(struct trial_meter *m, uint64_t pair)
{
	if (m->n[0] || m->n[1])
		m->thrown++;
	m->pair = pair;
	m->n[0] = m->n[1] = 0;
	m->spoilt = false;
}

bool meter_step(struct trial_meter *m, uint64_t step, uint64_t dur_ns, struct pair *out)
{
	struct aon_trial_at at = aon_trial_at(m->trial, m->seed, step);

	if (!at.in_pair || at.pair != m->pair)
		next_pair(m, at.pair);
	if (!at.measured)
		return false;
	if (!dur_ns || at.index != m->n[at.off]) { /* one is missing, or came twice */
		meter_spoil(m);
		return false;
	}
	m->log_ns[at.off][m->n[at.off]++] = (float)log((double)dur_ns);
	if (m->n[0] < m->trial.block || m->n[1] < m->trial.block)
		return false;
	if (!m->spoilt)
		close_pair(m, out);
	else
		m->thrown++;
	m->n[0] = m->n[1] = 0;
	return !m->spoilt;
}

/* --- */

double estimate_noise(const struct estimate *e)
{
	uint32_t n = e->pairs < ESTIMATE_PAST ? (uint32_t)e->pairs : ESTIMATE_PAST;
	double v[ESTIMATE_PAST], mid, noise;

	if (n < 2)
		return 0;
	memcpy(v, e->past, n * sizeof(*v));
	mid = median_of(v, n);
	for (uint32_t i = 0; i < n; i++)
		v[i] = fabs(v[i] - mid);
	noise = 1.4826 * median_of(v, n);
	return noise > LEAST ? noise : LEAST;
}

void estimate_init(struct estimate *e)
{
	memset(e, 0, sizeof(*e));
}

static double candidate(uint32_t cell)
{
	return ESTIMATE_LOW + cell * ESTIMATE_STEP;
}

void estimate_add(struct estimate *e, double log_ratio)
{
	double scale = estimate_noise(e); /* of those before it alone */

	if (!isfinite(log_ratio))
		return;
	if (e->pairs >= ESTIMATE_FIRST) {
		for (uint32_t i = 0; i < ESTIMATE_CELLS; i++) {
			double x = (log_ratio - candidate(i)) / scale;

			x = x > CLIP ? CLIP : x < -CLIP ? -CLIP : x;
			e->sum[i] += x;
			e->square[i] += x * x;
		}
	}
	e->past[e->pairs++ % ESTIMATE_PAST] = log_ratio;
}

/* log of what a mixture of bets on that candidate's being too low or too high would have won. */
static double won(const struct estimate *e, uint32_t cell)
{
	double s = e->sum[cell], v = 1 + RHO * e->square[cell];

	return RHO * s * s / (2 * v) - 0.5 * log(v);
}

struct interval estimate_at(const struct estimate *e, double alpha)
{
	struct interval r = { expm1(ESTIMATE_LOW), 0, expm1(ESTIMATE_HIGH), false, true, true };
	uint32_t lo = ESTIMATE_CELLS, hi = 0, mid = 0;
	double limit = log(1 / alpha);

	if (e->pairs <= ESTIMATE_FIRST)
		return r;
	for (uint32_t i = 0; i < ESTIMATE_CELLS; i++) {
		if (fabs(e->sum[i]) < fabs(e->sum[mid]))
			mid = i;
		if (won(e, i) >= limit)
			continue;
		lo = i < lo ? i : lo;
		hi = i;
	}
	if (e->sum[ESTIMATE_CELLS - 1] > 0) /* sums fall from cell to cell: beyond the last */
		mid = ESTIMATE_CELLS - 1;
	if (lo == ESTIMATE_CELLS) /* all are ruled out: the one that is least so */
		lo = hi = mid;
	r = (struct interval){ .lo = expm1(candidate(lo)),
			       .mid = expm1(candidate(mid)),
			       .hi = expm1(candidate(hi)),
			       .known = true,
			       .under = lo == 0,
			       .over = hi == ESTIMATE_CELLS - 1 };
	return r;
}
