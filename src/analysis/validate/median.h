/* SPDX-License-Identifier: Apache-2.0 */
/* median.h - the median of a few numbers. */
#pragma once

#include <stdlib.h>

static inline int median_order(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

/* Sorts v; n is 1 at least. */
static inline double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), median_order);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}
