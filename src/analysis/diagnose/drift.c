/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drift.c - detects drift over hours that is too slow to be seen as a change from step to step.
 *
 * It keeps the median step of every hour, for 50 hours. Once an hour it searches for the best cut
 * of these medians into a before and an after, by the energy distance between both sides
 * (E-divisive). The cut counts if at most one in a thousand random orders of the same values has
 * one as good, and if the change is large enough.
 */
#include <math.h>
#include <string.h>

#include "diagnose/state.h"

#define HOUR_NS UINT64_C(3600000000000)
#define EDGE    5u /* hours on either side of a cut */
#define ORDERS  1999u
#define ALMOST  0.001

/* n/2 m-weighted distance of the two sides, for the best cut, which *at is. */
static double best_cut(const float *v, uint32_t n, uint32_t *at)
{
	double all[DRIFT_HOURS + 1] = { 0 }, best = -1;
	double left = 0, right = 0, cross = 0; /* sums of |x - y| within and between the sides */

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < n; k++)
			all[i] += fabs((double)v[i] - v[k]);
	for (uint32_t i = 0; i < n; i++)
		right += all[i] / 2;
	for (uint32_t cut = 1; cut < n; cut++) {
		double to_left = 0, a = cut, b = n - cut, e;

		for (uint32_t k = 0; k + 1 < cut; k++)
			to_left += fabs((double)v[cut - 1] - v[k]);
		left += to_left;
		right -= all[cut - 1] - to_left;
		cross += all[cut - 1] - 2 * to_left;
		if (cut < EDGE || n - cut < EDGE)
			continue;
		e = 2 * cross / (a * b) - 2 * left / (a * a) - 2 * right / (b * b);
		e *= a * b / (a + b);
		if (e > best) {
			best = e;
			*at = cut;
		}
	}
	return best;
}

static uint32_t draw(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((*seed >> 33) % below);
}

bool drift_cut(const float *v, uint32_t n, uint32_t *at)
{
	float mixed[DRIFT_HOURS];
	uint32_t other, as_good = 1;
	uint64_t seed = 9;
	double best;

	if (n < 2 * EDGE || n > DRIFT_HOURS)
		return false;
	best = best_cut(v, n, at);
	memcpy(mixed, v, n * sizeof(*v));
	for (uint32_t i = 0; i < ORDERS && as_good < ALMOST * (ORDERS + 1); i++) {
		for (uint32_t k = n - 1; k; k--) {
			uint32_t with = draw(&seed, k + 1);
			float t = mixed[k];

			mixed[k] = mixed[with];
			mixed[with] = t;
		}
		as_good += best_cut(mixed, n, &other) >= best;
	}
	return as_good < ALMOST * (ORDERS + 1);
}

static void say_drift(struct saying *s, const struct drift *t)
{
	float room[DRIFT_HOURS], before[DRIFTS], after[DRIFTS];
	struct diag_verdict v;
	uint32_t cut;
	int most = DRIFT_COMPUTE;

	if (!drift_cut(t->hour[DRIFT_STEP], t->hours, &cut))
		return;
	for (int i = 0; i < DRIFTS; i++) {
		memcpy(room, t->hour[i], sizeof(room));
		before[i] = select_at(room, cut, 0.5);
		after[i] = select_at(room + cut, t->hours - cut, 0.5);
		if (i > DRIFT_STEP && after[i] - before[i] > after[most] - before[most])
			most = i;
	}
	if (after[0] - before[0] < WORTH * before[0])
		return;
	verdict_init(s->d, &v, DIAG_WHY_DRIFT, (struct diag_part){ DIAG_JOB, 0 }, 0);
	v.usual_ns = before[0];
	v.seen_ns = v.step_ns = after[0];
	v.drift = (uint8_t)most;
	v.f.gain = 1 - before[0] / after[0];
	v.gain_least = v.f.gain / 2;
	v.f.confidence = 0.7f;
	verdict_say(s, &v);
}

static void end_hour(struct drift *t)
{
	if (t->hours == DRIFT_HOURS) {
		for (int i = 0; i < DRIFTS; i++)
			memmove(t->hour[i], t->hour[i] + 1,
				(DRIFT_HOURS - 1) * sizeof(t->hour[i][0]));
		t->hours--;
	}
	for (int i = 0; i < DRIFTS; i++)
		t->hour[i][t->hours] = select_at(t->now[i], t->n, 0.5);
	t->hours++;
}

/* Of an hour with many steps one of 2, 4, 8, ... is kept: its median is the same. */
static void keep(struct drift *t, const float v[DRIFTS])
{
	if (t->skip++ % t->every)
		return;
	if (t->n == DRIFT_KEEP) {
		for (uint32_t k = 0; k < DRIFT_KEEP / 2; k++)
			for (int i = 0; i < DRIFTS; i++)
				t->now[i][k] = t->now[i][2 * k];
		t->n = DRIFT_KEEP / 2;
		t->every *= 2;
	}
	for (int i = 0; i < DRIFTS; i++)
		t->now[i][t->n] = v[i];
	t->n++;
}

void find_drift(struct saying *s)
{
	struct diag *d = s->d;
	struct drift *t = &d->drift;
	float v[DRIFTS];
	uint64_t hour = 0;

	for (int i = 0; i < DRIFTS; i++) {
		uint32_t n = 0;

		for (uint32_t r = 0; r < d->world; r++) {
			const struct step_times *x = d->rank[r].rec ? &d->rank[r].rec->t : NULL;

			if (!x)
				continue;
			hour = n ? hour : d->rank[r].rec->begin_ns / HOUR_NS;
			d->room[n++] = i == DRIFT_STEP      ? x->step
				       : i == DRIFT_COMPUTE ? x->compute
				       : i == DRIFT_HOST    ? x->host
				       : i == DRIFT_INPUT   ? x->input
							    : x->exposed;
		}
		v[i] = select_at(d->room, n, 0.5);
		if (!(v[i] >= 0 && v[i] < 1e15f))
			return;
	}
	if (hour != t->at && t->n) {
		end_hour(t);
		t->n = 0;
		say_drift(s, t);
	}
	if (hour != t->at || !t->every) {
		t->at = hour;
		t->skip = 0;
		t->every = 1;
	}
	keep(t, v);
}
