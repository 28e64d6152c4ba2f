/* SPDX-License-Identifier: Apache-2.0 */
/* validate_gemm.c - the GEMM model against XLA's, DeepGEMM's and vidur's measured times. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model/nvmmh.h"
#include "measured.h"
#include "validate.h"

/* Which rows of XLA's table belong together, and what is asked of their median. */
static const struct group {
	const char *device, *name;
	enum gpu_type type;
	const char *median, *p90; /* ids of bars; NULL: gemm_other_median */
} groups[] = {
	{ "sm_90", "bf16", GPU_BF16, "gemm_h100_median", "gemm_h100_p90" },
	{ "sm_90", "f32 (TF32)", GPU_TF32, NULL, NULL },
	{ "sm_90", "fp8", GPU_FP8, NULL, NULL },
	{ "sm_100_B200", "bf16", GPU_BF16, "gemm_b200_median", "gemm_b200_p90" },
	{ "sm_100_B200", "f32 (TF32)", GPU_TF32, NULL, NULL },
	{ "sm_100_B200", "fp8", GPU_FP8, NULL, NULL },
	{ "gfx950", "bf16", GPU_BF16, NULL, NULL },
	{ "gfx950", "f16", GPU_FP16, NULL, NULL },
	{ "gfx950", "f32", GPU_FP32, NULL, NULL },
	{ "gfx950", "fp8", GPU_FP8, NULL, NULL },
};

/* The time by a model of `r`; 0: it has none. */
typedef double guess_fn(const struct measured *r);

static double by_model(const struct measured *r)
{
	struct gemm_time t;

	return gemm_time(&t, r->gpu, &r->x) < 0 ? 0 : t.ns;
}

static double by_roof(const struct measured *r)
{
	const struct gemm *x = &r->x;
	double in = gemm_type_bytes(x->type), out = gemm_type_bytes(x->out);
	double m = (double)x->m, n = (double)x->n, k = (double)x->k, b = (double)x->batch;

	return 1e9 * fmax(2 * b * m * n * k / gpu_peak(r->gpu, x->type),
			  b * ((m + n) * k * in + m * n * out) / r->gpu->memory_Bps);
}

static double by_roof_4us(const struct measured *r)
{
	return by_roof(r) + 4000;
}

/* fp8 on sm_90 as XLA's figure is: the mean of the product and of the transpose before it. */
static double by_two_kernels(const struct measured *r)
{
#define GEMM_FIT(...)
#define GEMM_TURN(cc, type, start_ns, rate) \
	double turn = (start_ns) + (double)(r->x.batch * r->x.k * r->x.n) / (rate);
#include "theory/gemm_fit.tbl.h"

	return (by_model(r) + turn) / 2;
}

/* nvMatmulHeuristics, if AON_NVMMH names it. */
static bool second_here(void)
{
	const char *path = getenv("AON_NVMMH");

	return path && *path && nvmmh_open(path) == 0;
}

static double by_second(const struct measured *r)
{
	struct nvmmh_time t;

	return second_here() && !nvmmh_gemm(&t, r->gpu, &r->x) ? t.ns : 0;
}

struct error {
	size_t n, suspect;
	double median, p90; /* percent */
};

static struct error errors(const struct measured *row, size_t count, guess_fn *guess)
{
	struct error e = { 0 };
	double *v = calloc(count + 1, sizeof(*v)), ns;

	for (size_t i = 0; v && i < count; i++) {
		e.suspect += row[i].suspect;
		if (!row[i].odd || row[i].suspect)
			continue;
		ns = guess(&row[i]);
		if (ns > 0)
			v[e.n++] = 100 * fabs(ns - row[i].ns) / row[i].ns;
	}
	e.median = e.n ? measured_quantile(v, e.n, 0.5) : NAN;
	e.p90 = e.n ? measured_quantile(v, e.n, 0.9) : NAN;
	free(v);
	return e;
}

static void line(const char *device, const char *name, const struct measured *row, size_t count)
{
	static guess_fn *const other[] = { by_roof, by_roof_4us, by_second };
	struct error e = errors(row, count, by_model);
	char text[128] = "";
	int at = 0;

	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++) {
		struct error o = errors(row, count, other[i]);

		if (o.n)
			at += snprintf(text + at, sizeof(text) - (size_t)at, "   %6.1f %5.1f",
				       o.median, o.p90);
	}
	validate_say("  %-12s %-18s %5zu %7zu   %6.1f %5.1f%s", device, name, e.n, e.suspect,
		     e.median, e.p90, text);
}

/* Copies the rows of a group together; *out to be freed. */
static size_t pick(struct measured **out, const struct measured_gemms *all, const struct group *g)
{
	size_t n = 0;

	*out = calloc(all->count + 1, sizeof(**out));
	for (size_t i = 0; *out && i < all->count; i++)
		if (!strcmp(all->row[i].device, g->device) && all->row[i].x.type == g->type)
			(*out)[n++] = all->row[i];
	return n;
}

static int xla(void)
{
	struct measured_gemms all;
	double worst = 0;
	const char *whose = "", *where = "";
	int err = measured_xla(&all);

	if (err < 0)
		return err;
	validate_say("  percent, on rows that nothing was fitted to       model         roofline"
		     "   roofline + 4 us%s",
		     second_here() ? "  nvMatmulHeur." : "");
	validate_say(
		"  table        type                   n suspect   median   p90   median   p90   "
		"median   p90%s",
		second_here() ? "   median   p90" : "");
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		const struct group *g = &groups[i];
		struct measured *row;
		size_t n = pick(&row, &all, g);
		struct error e = errors(row, n, by_model);

		line(g->device, g->name, row, n);
		if (g->type == GPU_FP8 && !strcmp(g->device, "sm_90")) {
			struct error two = errors(row, n, by_two_kernels);

			validate_say("  %-12s %-18s %5zu %7zu   %6.1f %5.1f", "",
				     "  as two kernels", two.n, two.suspect, two.median, two.p90);
		}
		if (g->median) {
			validate_bar(g->median, e.median, 10, "%zu held-out shapes", e.n);
			validate_bar(g->p90, e.p90, 25, "%zu held-out shapes", e.n);
		} else if (!(e.median <= worst)) {
			worst = e.median;
			whose = g->name;
			where = g->device;
		}
		free(row);
	}
	validate_bar("gemm_other_median", worst, 15, "the worst of the others: %s %s", where,
		     whose);
	measured_free(&all);
	return 0;
}

/* --- tables that nothing was fitted to: every row counts --- */

struct rows {
	struct measured row[8192];
	size_t count;
	const struct gpu *gpu;
};

static int deepgemm_row(void *arg, char *f[MEASURED_FIELDS])
{
	struct rows *t = arg;
	struct measured *r = &t->row[t->count];

	if (t->count == sizeof(t->row) / sizeof(*t->row))
		return -EFBIG;
	*r = (struct measured){ .gpu = t->gpu, .odd = true };
	r->x = (struct gemm){ .m = strtoull(f[0], NULL, 10),
			      .n = strtoull(f[1], NULL, 10),
			      .k = strtoull(f[2], NULL, 10),
			      .batch = 1,
			      .type = GPU_FP8,
			      .out = GPU_BF16 };
	r->ns = 2.0 * (double)(r->x.m * r->x.n * r->x.k) / (atof(f[3]) * 1e12) * 1e9;
	t->count++;
	return 0;
}

static int deepgemm(struct rows *t)
{
	struct error e;
	int err;

	t->count = 0;
	t->gpu = gpu_find("H800_SXM");
	err = measured_rows("perf_tables/deepgemm_h800_fp8.csv", deepgemm_row, t);
	if (err < 0)
		return err;
	e = errors(t->row, t->count, by_model);
	line("DeepGEMM", "fp8, H800", t->row, t->count);
	validate_bar("deepgemm_median", e.median, 15, "%zu shapes, nothing fitted to them", e.n);
	return 0;
}

/* TraceLens' reports on traces of jobs: where a file has the sizes, the type and the time. */
static const struct trace_report {
	const char *file, *device;
	int m, batch, type, us;
} reports[] = {
#define H100  "tracelens/traces/h100/"
#define MI300 "tracelens/traces/mi300/"
#define CSVS  "_perf_report_csvs/GEMM.csv"
	{ H100 "Qwen_Qwen1.5-0.5B-Chat__1016005" CSVS, "H100_SXM", 2, 1, 8, 33 },
	{ H100 "gaunernst_bert-small-uncased__1016001" CSVS, "H100_SXM", 1, 8, 7, 33 },
	{ H100 "Falconsai_nsfw_image_detection__1016002" CSVS, "H100_SXM", 1, 8, 7, 33 },
	{ MI300 "Qwen_Qwen1.5-0.5B-Chat__1016005" CSVS, "MI300X", 2, 1, 8, 34 },
	{ "tracelens/traces/inference/vllm_decode_full/perf_csvs/GEMM.csv", "MI300X", 1, 6, 5, 35 },
};

struct trace_rows {
	struct rows *to;
	const struct trace_report *from;
};

static int report_row(void *arg, char *f[MEASURED_FIELDS])
{
	struct trace_rows *t = arg;
	const struct trace_report *c = t->from;
	struct measured *r = &t->to->row[t->to->count];
	uint64_t batch = (uint64_t)atof(f[c->batch]);

	if (t->to->count == sizeof(t->to->row) / sizeof(*t->to->row))
		return -EFBIG;
	*r = (struct measured){ .gpu = gpu_find(c->device), .odd = true };
	r->x = (struct gemm){ .m = strtoull(f[c->m], NULL, 10),
			      .n = strtoull(f[c->m + 1], NULL, 10),
			      .k = strtoull(f[c->m + 2], NULL, 10),
			      .batch = batch ? batch : 1 };
	r->x.type = r->x.out = strstr(f[c->type], "BFloat16") ? GPU_BF16 : GPU_FP32;
	r->ns = 1e3 * atof(f[c->us]);
	t->to->count += r->ns > 0;
	return 0;
}

/* No bar: small models leave the device idle between kernels, which is neither of the two cases. */
static void traces(struct rows *t, const char *device)
{
	t->count = 0;
	for (size_t i = 0; i < sizeof(reports) / sizeof(*reports); i++) {
		struct trace_rows to = { t, &reports[i] };

		if (!strcmp(reports[i].device, device))
			measured_rows(reports[i].file, report_row, &to);
	}
	if (t->count)
		line("TraceLens", device, t->row, t->count);
}

int validate_gemm(void)
{
	struct rows *t = calloc(1, sizeof(*t));
	int err = t ? xla() : -ENOMEM;

	if (!err)
		err = deepgemm(t);
	if (!err) {
		traces(t, "H100_SXM");
		traces(t, "MI300X");
	}
	free(t);
	return err;
}
