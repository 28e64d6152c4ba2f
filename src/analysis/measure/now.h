/* SPDX-License-Identifier: Apache-2.0 */
/* now.h - the clock that tests are timed by. */
#ifndef AON_MEASURE_NOW_H
#define AON_MEASURE_NOW_H

#include <time.h>

static inline double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#endif /* AON_MEASURE_NOW_H */
