/* SPDX-License-Identifier: Apache-2.0 */
/* stat.c - order statistics in linear time. */
#include <math.h>

#include <stdlib.h>

#include "base/order.h"
#include "diagnose/state.h"

static void swap(float *a, float *b)
{
	float t = *a;

	*a = *b;
	*b = t;
}

/* The k-th smallest comes to its place. */
static float nth(float *v, size_t n, size_t k)
{
	size_t lo = 0, hi = n - 1;

	while (lo < hi) {
		size_t i = lo, j = hi;
		float pivot = v[lo + (hi - lo) / 2];

		while (i <= j) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i > j)
				break;
			swap(&v[i++], &v[j]);
			if (!j)
				break;
			j--;
		}
		if (k <= j)
			hi = j;
		else if (k >= i)
			lo = i;
		else
			break;
	}
	return v[k];
}

float select_at(float *v, size_t n, double q)
{
	return n ? nth(v, n, (size_t)(q * (double)(n - 1) + 0.5)) : 0;
}

float spread_of(float *v, size_t n, float mid)
{
	for (size_t i = 0; i < n; i++)
		v[i] = fabsf(v[i] - mid);
	return 1.4826f * select_at(v, n, 0.5);
}

float discoveries(float *p, size_t n, double q)
{
	if (n)
		qsort(p, n, sizeof(*p), cmp_float);
	for (size_t k = n; k; k--)
		if (p[k - 1] <= (double)k * q / (double)n)
			return p[k - 1];
	return -1;
}
