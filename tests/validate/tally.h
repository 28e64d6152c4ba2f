/* SPDX-License-Identifier: Apache-2.0 */
/* tally.h - errors of a model by group of rows: those that it was fitted to, and those held out. */
#ifndef AON_TALLY_H
#define AON_TALLY_H

#include <stdbool.h>
#include <stddef.h>

#define TALLY_GROUPS 64u
#define TALLY_ROWS   8192u /* of a group, of each half */

struct tally {
	struct tally_group {
		char name[48];
		double *v[2]; /* owned; percent: of the even rows, of the odd ones */
		size_t n[2];
	} group[TALLY_GROUPS];
	size_t groups;
};

/* A row: what the model says and what was measured. 0; -ENOMEM, -EFBIG: too many. */
int tally_add(struct tally *t, const char *group, double model_ns, double measured_ns, bool odd);

/* Prints a line for each group: how many odd rows, the medians of both halves, and the 90th percentile
 * of the odd ones. The worst median of the odd rows, and whose it is. */
double tally_print(struct tally *t, const char **whose);
void tally_fini(struct tally *t);

#endif /* AON_TALLY_H */
