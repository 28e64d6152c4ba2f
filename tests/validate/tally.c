/* SPDX-License-Identifier: Apache-2.0 */
#include "tally.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measured.h"
#include "validate.h"

static struct tally_group *group_of(struct tally *t, const char *name)
{
	struct tally_group *g = t->group;

	for (; g < t->group + t->groups; g++)
		if (strcmp(g->name, name) == 0)
			return g;
	if (t->groups == TALLY_GROUPS)
		return NULL;
	for (int half = 0; half < 2; half++) {
		g->v[half] = calloc(TALLY_ROWS, sizeof(double));
		if (!g->v[half])
			return NULL; /* tally_fini() frees what is there */
	}
	snprintf(g->name, sizeof(g->name), "%s", name);
	t->groups++;
	return g;
}

int tally_add(struct tally *t, const char *group, double model_ns, double measured_ns, bool odd)
{
	struct tally_group *g = group_of(t, group);

	if (!g)
		return -ENOMEM;
	if (g->n[odd] == TALLY_ROWS)
		return -EFBIG;
	g->v[odd][g->n[odd]++] = 100 * fabs(model_ns / measured_ns - 1);
	return 0;
}

double tally_print(struct tally *t, const char **whose)
{
	double worst = t->groups ? 0 : NAN;

	validate_say("  %-40s %6s %8s %6s %6s", "", "n", "even", "odd", "p90");
	for (struct tally_group *g = t->group; g < t->group + t->groups; g++) {
		double median = g->n[1] ? measured_quantile(g->v[1], g->n[1], 0.5) : NAN;
		char even[16] = "-";

		if (g->n[0])
			snprintf(even, sizeof(even), "%.1f",
				 measured_quantile(g->v[0], g->n[0], 0.5));
		validate_say("  %-40s %6zu %8s %6.1f %6.1f", g->name, g->n[1], even, median,
			     measured_quantile(g->v[1], g->n[1], 0.9));
		if (!(median <= worst)) {
			worst = median;
			*whose = g->name;
		}
	}
	return worst;
}

void tally_fini(struct tally *t)
{
	for (size_t i = 0; i < TALLY_GROUPS; i++)
		for (int half = 0; half < 2; half++)
			free(t->group[i].v[half]);
	*t = (struct tally){ .groups = 0 };
}
