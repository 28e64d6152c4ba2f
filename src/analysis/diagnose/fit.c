/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fit.c - fits compute time as a linear function of tokens and of squared lengths: it tells how
 * much of a rank's time is due to its share of the work. Old moments fade, so that the line follows
 * the job.
 */
#include <math.h>

#include "diagnose/state.h"

void fit_add(struct fit *f, double tokens, double q, double y, double keep)
{
	const double x[2] = { tokens, q };
	double by;

	f->n = f->n * keep + 1;
	by = 1 / f->n;
	for (int i = 0; i < 2; i++)
		f->x[i] += (x[i] - f->x[i]) * by;
	f->y += (y - f->y) * by;
	f->xx[0] = f->xx[0] * keep + (x[0] - f->x[0]) * (x[0] - f->x[0]);
	f->xx[1] = f->xx[1] * keep + (x[1] - f->x[1]) * (x[1] - f->x[1]);
	f->xx[2] = f->xx[2] * keep + (x[0] - f->x[0]) * (x[1] - f->x[1]);
	for (int i = 0; i < 2; i++)
		f->xy[i] = f->xy[i] * keep + (x[i] - f->x[i]) * (y - f->y);
}

/* Whether the value varies at all, beside what it is. */
static bool varies(const struct fit *f, int i)
{
	return f->n > 8 && f->xx[i] / f->n > 1e-6 * f->x[i] * f->x[i];
}

void fit_solve(struct fit *f)
{
	double det = f->xx[0] * f->xx[1] - f->xx[2] * f->xx[2];

	f->slope[0] = f->slope[1] = 0;
	f->at[0] = f->x[0];
	f->at[1] = f->x[1];
	if (varies(f, 0) && varies(f, 1) && det > 1e-4 * f->xx[0] * f->xx[1]) {
		f->slope[0] = (f->xy[0] * f->xx[1] - f->xy[1] * f->xx[2]) / det;
		f->slope[1] = (f->xy[1] * f->xx[0] - f->xy[0] * f->xx[2]) / det;
	} else if (varies(f, 0)) {
		f->slope[0] = f->xy[0] / f->xx[0];
	} else if (varies(f, 1)) {
		f->slope[1] = f->xy[1] / f->xx[1];
	}
	for (int i = 0; i < 2; i++)
		if (!isfinite(f->slope[i]) || f->slope[i] < 0)
			f->slope[i] = 0;
}

double fit_more(const struct fit *f, double tokens, double q)
{
	return f->slope[0] * (tokens - f->at[0]) + f->slope[1] * (q - f->at[1]);
}
