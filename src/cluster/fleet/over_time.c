/* SPDX-License-Identifier: Apache-2.0 */
/*
 * over_time.c - finds the hour since which a job's steps take another time: the cut between hours
 * where before and after differ most. It is reported if the medians differ by 5 %, and if nearly
 * all hours of one side are longer than those of the other. A job has a few hundred hours at most,
 * so every cut is tried.
 */
#include "fleet/question.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

#define DIFFERS 0.05
/* share of pairs (an hour before, an hour after) that must be in the same order */
#define ORDERED 0.9
#define HOURS   720u /* of a longer span, the newest hours */

static double median(const double *v, size_t n)
{
	double copy[HOURS];

	memcpy(copy, v, n * sizeof(*copy));
	qsort(copy, n, sizeof(*copy), cmp_double);
	return copy[n / 2];
}

/* The cut that minimises the sum of squares within both sides. */
static size_t split(const double *v, size_t n)
{
	double all = 0, left = 0, best = -1;
	size_t at = 1;

	for (size_t i = 0; i < n; i++)
		all += v[i];
	for (size_t i = 1; i < n; i++) {
		double a, b, gain;

		left += v[i - 1];
		a = left / (double)i;
		b = (all - left) / (double)(n - i);
		gain = (a - b) * (a - b) * (double)i * (double)(n - i);
		if (gain > best) {
			best = gain;
			at = i;
		}
	}
	return at;
}

static double ordered(const double *v, size_t at, size_t n, bool longer)
{
	size_t good = 0;

	for (size_t i = 0; i < at; i++)
		for (size_t k = at; k < n; k++)
			good += longer ? v[k] > v[i] : v[k] < v[i];
	return (double)good / (double)(at * (n - at));
}

bool fleet_since(const struct fleet_report *r, struct fleet_since *out)
{
	size_t n = 0, at, from = r->hours > HOURS ? r->hours - HOURS : 0;
	uint64_t hour[HOURS];
	double v[HOURS], before, after;

	for (size_t i = from; i < r->hours; i++)
		if (r->hour[i].sum.steps) {
			hour[n] = r->hour[i].t_ns;
			v[n++] = r->hour[i].sum.step_ns / (double)r->hour[i].sum.steps;
		}
	if (n < 2)
		return false;
	at = split(v, n);
	before = median(v, at);
	after = median(v + at, n - at);
	if (before <= 0 || fabs(after / before - 1) < DIFFERS ||
	    ordered(v, at, n, after > before) < ORDERED)
		return false;
	*out = (struct fleet_since){ hour[at], before, after };
	return true;
}
