/* SPDX-License-Identifier: Apache-2.0 */
/* level.c - a CUSUM of clipped logarithms behind a gate of size; see level.h. */
#include "detect/level.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLIP      3.0
#define SLACK     1.5   /* deviations below it shrink the sum */
#define HEIGHT    13.0  /* docs/decisions/0022: less than one false alarm in 1e9 values */
#define SCALE_MIN 0.005 /* half a percent: a series that is steadier than that is not held to it */
#define DRIFT     512.0 /* the usual level follows slowly what stays within its scale */

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return x < y ? -1 : x > y;
}

static double median(const float *v, uint32_t n)
{
	float sorted[LEVEL_LEARN];

	memcpy(sorted, v, n * sizeof(*v));
	qsort(sorted, n, sizeof(*sorted), by_value);
	return ((double)sorted[(n - 1) / 2] + (double)sorted[n / 2]) / 2;
}

static void learn(struct level *l)
{
	float off[LEVEL_LEARN];

	l->usual = median(l->value, LEVEL_LEARN);
	for (uint32_t i = 0; i < LEVEL_LEARN; i++)
		off[i] = fabsf(l->value[i] - (float)l->usual);
	l->scale = fmax(1.4826 * median(off, LEVEL_LEARN), SCALE_MIN);
	l->up = l->down = 0;
}

static enum level_move tell(struct level *l, double now, enum level_move move)
{
	l->was = exp(l->usual);
	l->is = exp(now);
	l->n = LEVEL_WARM; /* learns what is usual from here on, and needs no warming up for it */
	return move;
}

static enum level_move judge(struct level *l, double y, double gate)
{
	double z = fmin(fmax((y - l->usual) / l->scale, -CLIP), CLIP), now;

	l->up = fmax(0, l->up + z - SLACK);
	l->down = fmax(0, l->down - z - SLACK);
	if (l->up == 0 && l->down == 0)
		l->usual += fmin(fmax(y - l->usual, -l->scale), l->scale) / DRIFT;
	if (l->up < HEIGHT && l->down < HEIGHT)
		return LEVEL_SAME;
	now = median(l->value, LEVEL_LAST);
	if (l->up >= HEIGHT && now > l->usual + log(gate))
		return tell(l, now, LEVEL_UP);
	if (l->down >= HEIGHT && now < l->usual - log(gate))
		return tell(l, now, LEVEL_DOWN);
	l->up = fmin(l->up, HEIGHT); /* real, but too small: it may grow, and may go */
	l->down = fmin(l->down, HEIGHT);
	return LEVEL_SAME;
}

enum level_move level_add(struct level *l, double value, double gate)
{
	double y;

	if (!(value > 0) || !isfinite(value))
		return LEVEL_SAME;
	y = log(value);
	l->n++;
	if (l->n <= LEVEL_WARM)
		return LEVEL_SAME;
	if (l->n <= LEVEL_WARM + LEVEL_LEARN) {
		l->value[l->n - LEVEL_WARM - 1] = (float)y;
		if (l->n == LEVEL_WARM + LEVEL_LEARN)
			learn(l);
		return LEVEL_SAME;
	}
	l->value[l->n % LEVEL_LAST] = (float)y;
	return judge(l, y, gate);
}
