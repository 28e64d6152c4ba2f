/* SPDX-License-Identifier: Apache-2.0 */
/* order.h - numbers compared for qsort(), a binary search, a median. The macros evaluate arguments more than once. */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Below 0, 0 or above 0. Joined by `?:`, the first numbers that differ decide:
 *
 *	return cmp_num(x->rank, y->rank) ?: cmp_num(x->start_ns, y->start_ns);
 */
#define cmp_num(a, b) (((a) > (b)) - ((a) < (b)))

/* The first i of [from, to) for which `is` holds; `to`: none. It holds for all behind that one.
 *
 *	at = first_where(i, 0, n, row[i].start_ns > ns);
 */
#define first_where(i, from, to, is)                                     \
	({                                                               \
		size_t first_lo = (from), first_hi = (to);               \
                                                                         \
		while (first_lo < first_hi) {                            \
			size_t i = first_lo + (first_hi - first_lo) / 2; \
                                                                         \
			if (is)                                          \
				first_hi = i;                            \
			else                                             \
				first_lo = i + 1;                        \
		}                                                        \
		first_lo;                                                \
	})

static inline int cmp_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return cmp_num(*x, *y);
}

static inline int cmp_float(const void *a, const void *b)
{
	const float *x = a, *y = b;

	return cmp_num(*x, *y);
}

static inline int cmp_double(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return cmp_num(*x, *y);
}

/* Sorts v; NAN of none. */
static inline double median_of(double *v, size_t n)
{
	if (!n)
		return NAN;
	qsort(v, n, sizeof(*v), cmp_double);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}
