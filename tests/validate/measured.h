/* SPDX-License-Identifier: Apache-2.0 */
/* measured.h - tables of measured times, which the models are fitted to and held against. */
#ifndef AON_MEASURED_H
#define AON_MEASURED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "theory/gemm.h"

#define MEASURED_FIELDS 64u

/* A row: its fields, cut at the commas that no quotes enclose; a field that is not there is "". */
typedef int measured_fn(void *arg, char *field[MEASURED_FIELDS]);

/* Calls `fn` for each line behind the first of DATA/file, gzip or plain. 0, -errno or what `fn`
 * gave, if that is negative. */
int measured_rows(const char *file, measured_fn *fn, void *arg);

/* Where the tables are: $AON_DATA, else the folder that was found when this was built. */
bool measured_here(void);

/* The hash that divides rows: calibrate on the even ones, report on the odd ones. */
bool measured_odd(const char *key);

double measured_quantile(double *v, size_t n, double q); /* sorts */

/* A row of a table of GEMMs. */
struct measured {
	char device[16], dtype[40]; /* as the table says it */
	const struct gpu *gpu;
	struct gemm x;
	double ns;
	bool odd;
	bool suspect; /* faster than the dense peak: no such measurement can be right */
};

struct measured_gemms {
	struct measured *row;
	size_t count;
};

/* XLA's table. 0; -ENOENT: it is not here. To be freed. */
int measured_xla(struct measured_gemms *out);
void measured_free(struct measured_gemms *m);

#endif /* AON_MEASURED_H */
