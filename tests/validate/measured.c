/* SPDX-License-Identifier: Apache-2.0 */
#include "measured.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static const char *data_dir(void)
{
	const char *dir = getenv("AON_DATA");

	return dir && *dir ? dir : AON_DATA_DIR;
}

bool measured_here(void)
{
	return access(data_dir(), R_OK) == 0;
}

static void cut(char *line, char *field[MEASURED_FIELDS])
{
	static char none[1];
	unsigned i = 0;

	line[strcspn(line, "\r\n")] = '\0';
	while (i < MEASURED_FIELDS - 1 && line) {
		char *end = *line == '"' ? strchr(line + 1, '"') : NULL;

		if (end) { /* commas between quotes are text */
			*end = '\0';
			field[i++] = line + 1;
			line = end + 1;
			strsep(&line, ",");
		} else {
			field[i++] = strsep(&line, ",");
		}
	}
	while (i < MEASURED_FIELDS)
		field[i++] = none;
}

int measured_rows(const char *file, measured_fn *fn, void *arg)
{
	char path[4096], line[8192], *field[MEASURED_FIELDS];
	bool head = true;
	int err = 0;
	gzFile f;

	if (snprintf(path, sizeof(path), "%s/%s", data_dir(), file) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	f = gzopen(path, "r");
	if (!f)
		return -ENOENT;
	while (err >= 0 && gzgets(f, line, sizeof(line))) {
		cut(line, field);
		if (!head)
			err = fn(arg, field);
		head = false;
	}
	gzclose(f);
	return err < 0 ? err : 0;
}

bool measured_odd(const char *key)
{
	uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */

	for (; *key; key++)
		h = (h ^ (unsigned char)*key) * 0x100000001b3u;
	return h & 1;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double measured_quantile(double *v, size_t n, double q)
{
	double at = q * (double)(n ? n - 1 : 0);
	size_t i = (size_t)at;

	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), by_value);
	return i + 1 < n ? v[i] + (at - (double)i) * (v[i + 1] - v[i]) : v[i];
}

/* XLA's names. f32 is computed in TF32 where there are tensor cores for it. */
static enum gpu_type type_of(const char *text, const struct gpu *g)
{
	if (!strncmp(text, "bf16", 4))
		return GPU_BF16;
	if (!strncmp(text, "f16", 3))
		return GPU_FP16;
	if (!strncmp(text, "f8", 2))
		return GPU_FP8;
	return g->tensor_flops[GPU_TF32] > 0 ? GPU_TF32 : GPU_FP32;
}

static int xla_row(void *arg, char *field[MEASURED_FIELDS])
{
	static const char *const device[][2] = { { "sm_90", "H100_SXM" },
						 { "sm_100_B200", "B200" },
						 { "gfx950", "MI350X" } };
	struct measured_gemms *m = arg;
	struct measured *r = &m->row[m->count];
	const char *arrow = strstr(field[5], "->");
	char key[128];

	*r = (struct measured){ .gpu = NULL };
	for (size_t i = 0; i < sizeof(device) / sizeof(*device); i++)
		if (!strcmp(field[0], device[i][0]))
			r->gpu = gpu_find(device[i][1]);
	if (!r->gpu || !arrow || m->count == 16384)
		return -EINVAL;
	snprintf(r->device, sizeof(r->device), "%s", field[0]);
	snprintf(r->dtype, sizeof(r->dtype), "%s", field[5]);
	r->x = (struct gemm){
		.batch = strtoull(field[1], NULL, 10),
		.m = strtoull(field[2], NULL, 10),
		.n = strtoull(field[3], NULL, 10),
		.k = strtoull(field[4], NULL, 10),
		.type = type_of(field[5], r->gpu),
		.out = type_of(arrow + 2, r->gpu),
		.alone = true,
	};
	r->ns = 2.0 * (double)(r->x.batch * r->x.m * r->x.n * r->x.k) / atof(field[6]) * 1e9;
	r->suspect = atof(field[6]) > gpu_peak(r->gpu, r->x.type);
	snprintf(key, sizeof(key), "%s,%s,%s,%s,%s,%s", field[0], field[1], field[2], field[3],
		 field[4], field[5]);
	r->odd = measured_odd(key);
	m->count++;
	return 0;
}

int measured_xla(struct measured_gemms *out)
{
	struct measured_gemms m = { .row = calloc(16384 + 1, sizeof(*m.row)) };
	int err;

	if (!m.row)
		return -ENOMEM;
	err = measured_rows("perf_tables/xla_matmul.csv.gz", xla_row, &m);
	if (err < 0)
		free(m.row);
	else
		*out = m;
	return err;
}

void measured_free(struct measured_gemms *m)
{
	free(m->row);
	*m = (struct measured_gemms){ .row = NULL };
}
