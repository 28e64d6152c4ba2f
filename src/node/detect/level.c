/* SPDX-License-Identifier: Apache-2.0 */
/* level.c - a CUSUM of clipped logarithms behind a minimum effect size; see level.h. */
#include "detect/level.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

#define CLIP      3.0
#define SLACK     1.5   /* deviations below it shrink the sum */
#define HEIGHT    13.0  /* docs/decisions/0022: less than one false alarm in 1e9 values */
#define SCALE_MIN 0.005 /* half a percent: a series that is steadier than that is not held to it */
#define DRIFT     512.0 /* the usual level follows slowly what stays within its scale */

static const struct {
	uint32_t warm, learn, last; /* last: whose median must have moved by the gate */
} paces[] = { [LEVEL_VALUES] = { 10, LEVEL_LEARN, LEVEL_LAST }, [LEVEL_PIECES] = { 3, 24, 8 } };

static double median(const float *v, uint32_t n)
{
	float sorted[LEVEL_LEARN];

	memcpy(sorted, v, n * sizeof(*v));
	qsort(sorted, n, sizeof(*sorted), cmp_float);
	return ((double)sorted[(n - 1) / 2] + (double)sorted[n / 2]) / 2;
}

static void learn(struct level *l, uint32_t n)
{
	float off[LEVEL_LEARN];

	l->usual = median(l->value, n);
	for (uint32_t i = 0; i < n; i++)
		off[i] = fabsf(l->value[i] - (float)l->usual);
	l->scale = fmax(1.4826 * median(off, n), SCALE_MIN);
	l->up = l->down = 0;
}

static enum level_move tell(struct level *l, double now, enum level_move move, uint32_t warm)
{
	l->was = exp(l->usual);
	l->is = exp(now);
	l->n = warm; /* learns what is usual from here on, and needs no warming up for it */
	return move;
}

static enum level_move judge(struct level *l, double y, double gate, enum level_pace pace)
{
	double z = fmin(fmax((y - l->usual) / l->scale, -CLIP), CLIP), now;

	l->up = fmax(0, l->up + z - SLACK);
	l->down = fmax(0, l->down - z - SLACK);
	if (l->up == 0 && l->down == 0)
		l->usual += fmin(fmax(y - l->usual, -l->scale), l->scale) / DRIFT;
	if (l->up < HEIGHT && l->down < HEIGHT)
		return LEVEL_SAME;
	now = median(l->value, paces[pace].last);
	if (l->up >= HEIGHT && now > l->usual + log(gate))
		return tell(l, now, LEVEL_UP, paces[pace].warm);
	if (l->down >= HEIGHT && now < l->usual - log(gate))
		return tell(l, now, LEVEL_DOWN, paces[pace].warm);
	l->up = fmin(l->up, HEIGHT); /* real, but too small: it may grow, and may go */
	l->down = fmin(l->down, HEIGHT);
	return LEVEL_SAME;
}

enum level_move level_add(struct level *l, double value, double gate, enum level_pace pace)
{
	uint32_t warm = paces[pace].warm, learns = paces[pace].learn;
	double y;

	if (!(value > 0) || !isfinite(value))
		return LEVEL_SAME;
	y = log(value);
	l->n++;
	if (l->n <= warm)
		return LEVEL_SAME;
	if (l->n <= warm + learns) {
		l->value[l->n - warm - 1] = (float)y;
		if (l->n == warm + learns)
			learn(l, learns);
		return LEVEL_SAME;
	}
	l->value[l->n % paces[pace].last] = (float)y;
	return judge(l, y, gate, pace);
}
