/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fit_gemm.c - prints src/analysis/theory/gemm_fit.tbl.h: the constants of the GEMM model, by the simplex of
 * Nelder and Mead over their logarithms, from the even rows of XLA's table that are not suspect.
 * In C, so that what is fitted is the model itself. tools/fit-gemm runs it.
 *
 * The loss is bounded, so that rows which measured something else do not pull: of a row, what
 * exp() leaves of the relative error. XLA notes the median over all kernels of a run. On sm_90
 * an fp8 product is two, because B has first to be transposed; with as many of each the median
 * is the mean of both, and the transpose (a start, and bytes a nanosecond) is fitted beside.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measured.h"

#define GPU_ANY   GPU_TYPES
#define CONSTANTS 9
#define MOST      (CONSTANTS + 2)

struct group {
	const char *name, *device;
	uint32_t cc;
	enum gpu_type type;
	const char *word;  /* of the type and of the result's, in the table of constants */
	enum gpu_type out; /* of this only; GPU_TYPES: of any but `but` */
	enum gpu_type but;
	bool transposed;
	const struct measured **row;
	size_t count;
	double start[MOST], least[MOST], most[MOST];
	int dims;
};

static struct gemm_fit fit_at(const struct group *g, const double *x)
{
	return (struct gemm_fit){ g->name,   g->cc,     g->type,   g->out,    exp(x[0]),
				  exp(x[1]), exp(x[2]), exp(x[3]), exp(x[4]), exp(x[5]),
				  exp(x[6]), exp(x[7]), exp(x[8]) };
}

static double loss(const struct group *g, const double *x)
{
	struct gemm_fit f = fit_at(g, x);
	double sum = 0, out = 0;

	for (int i = 0; i < g->dims; i++) { /* A wall, so that a constant stays physical. */
		out += fmax(0, x[i] - log(g->most[i])) + fmax(0, log(g->least[i]) - x[i]);
		out += 1e-4 * fabs(x[i] - log(g->start[i]));
	}
	for (size_t i = 0; i < g->count; i++) {
		const struct measured *r = g->row[i];
		struct gemm_time t;
		double e;

		if (gemm_time_by(&t, r->gpu, &r->x, &f) < 0)
			return INFINITY;
		e = 1 - exp(-fabs(t.ns / r->ns - 1) / 0.25);
		if (g->transposed) {
			double turn =
				exp(x[9]) + (double)(r->x.batch * r->x.k * r->x.n) / exp(x[10]);

			e = 0.2 * e + 1 - exp(-fabs((t.ns + turn) / 2 / r->ns - 1) / 0.25);
		}
		sum += e;
	}
	return sum / (double)g->count + out;
}

struct simplex {
	double x[MOST + 1][MOST], y[MOST + 1];
};

static void order(struct simplex *s, int n)
{
	for (int i = 1; i <= n; i++)
		for (int j = i; j && s->y[j] < s->y[j - 1]; j--) {
			double y = s->y[j], x[MOST];

			memcpy(x, s->x[j], sizeof(x));
			memcpy(s->x[j], s->x[j - 1], sizeof(x));
			memcpy(s->x[j - 1], x, sizeof(x));
			s->y[j] = s->y[j - 1];
			s->y[j - 1] = y;
		}
}

/* The worst corner moved through the middle of the others by `by`. */
static double moved(const struct group *g, const struct simplex *s, const double *mid, double by,
		    double *to)
{
	for (int i = 0; i < g->dims; i++)
		to[i] = mid[i] + by * (mid[i] - s->x[g->dims][i]);
	return loss(g, to);
}

static void shrink(const struct group *g, struct simplex *s)
{
	for (int i = 1; i <= g->dims; i++) {
		for (int j = 0; j < g->dims; j++)
			s->x[i][j] = s->x[0][j] + 0.5 * (s->x[i][j] - s->x[0][j]);
		s->y[i] = loss(g, s->x[i]);
	}
}

static void turn(const struct group *g, struct simplex *s)
{
	int n = g->dims;
	double mid[MOST] = { 0 }, a[MOST], b[MOST], ya, yb = INFINITY;

	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			mid[j] += s->x[i][j] / n;
	ya = moved(g, s, mid, 1, a);
	if (ya < s->y[0])
		yb = moved(g, s, mid, 1 + 2.0 / n, b);
	else if (ya >= s->y[n - 1])
		yb = moved(g, s, mid, ya < s->y[n] ? 0.75 - 0.5 / n : -0.75 + 0.5 / n, b);
	if (yb < ya) {
		memcpy(a, b, sizeof(a));
		ya = yb;
	}
	if (ya < s->y[n]) {
		memcpy(s->x[n], a, sizeof(a));
		s->y[n] = ya;
	} else {
		shrink(g, s);
	}
	order(s, n);
}

static double search(const struct group *g, double *x)
{
	struct simplex s;
	int n = g->dims;

	for (int round = 0; round < 6; round++) {
		for (int i = 0; i <= n; i++) {
			memcpy(s.x[i], x, sizeof(s.x[i]));
			if (i)
				s.x[i][i - 1] += round % 2 ? -0.2 : 0.3;
			s.y[i] = loss(g, s.x[i]);
		}
		order(&s, n);
		for (int i = 0; i < 150 * n && s.y[n] - s.y[0] > 1e-7; i++)
			turn(g, &s);
		memcpy(x, s.x[0], sizeof(s.x[0]));
	}
	return s.y[0];
}

static void gather(struct group *g, const struct measured_gemms *all)
{
	g->row = calloc(all->count, sizeof(*g->row));
	for (size_t i = 0; g->row && i < all->count; i++)
		if (!strcmp(all->row[i].device, g->device) && all->row[i].x.type == g->type &&
		    (g->out == GPU_ANY || all->row[i].x.out == g->out) &&
		    all->row[i].x.out != g->but && !all->row[i].odd && !all->row[i].suspect)
			g->row[g->count++] = &all->row[i];
}

static void fit(struct group *g)
{
	static const double start[2][MOST] = {
		{ 4500, 400, 0.85, 700, 60, 20, 1500, 0.9, 1, 5500, 1000 }, /* NVIDIA */
		{ 2300, 550, 0.7, 500, 22, 8, 60, 0.9, 7, 5500, 1000 },
	};
	static const double least[MOST] = { 1500, 250, 0.3, 1, 8, 2, 10, 0.7, 0.1, 2000, 200 };
	static const double most[MOST] = { 9000,  4000, 1, 16384, 256, 512,
					   20000, 0.95, 1, 9000,  3000 };
	double best[MOST] = { 0 }, x[MOST], least_loss = INFINITY, y;
	uint64_t seed = 88172645463325252u;

	memcpy(g->start, start[!g->cc], sizeof(g->start));
	memcpy(g->least, least, sizeof(least));
	memcpy(g->most, most, sizeof(most));
	g->dims = g->transposed ? MOST : CONSTANTS;
	if (!g->cc) /* Infinity Cache: eight times L2. */
		g->most[8] = 8;
	for (int go = 0; go < 6; go++) {
		for (int i = 0; i < MOST; i++) {
			seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
			x[i] = log(g->start[i]) + (go ? (double)(seed % 1000) / 500 - 1 : 0);
		}
		y = search(g, x);
		if (y < least_loss) {
			least_loss = y;
			memcpy(best, x, sizeof(best));
		}
	}
	fprintf(stderr, "%-22s %4zu rows, loss %.4f\n", g->name, g->count, least_loss);
	printf("GEMM_FIT(%-21s %3u, %s, %6.0f, %5.0f, %.3f, %6.0f, %6.1f, %6.1f, %6.0f, %.3f, "
	       "%.2f)\n",
	       g->name, g->cc, g->word, exp(best[0]), exp(best[1]), exp(best[2]), exp(best[3]),
	       exp(best[4]), exp(best[5]), exp(best[6]), exp(best[7]), exp(best[8]));
	if (g->transposed)
		printf("GEMM_TURN(%u, FP8, %.0f, %.0f)\n", g->cc, exp(best[9]), exp(best[10]));
}

static const char head[] = "/* SPDX-License-Identifier: Apache-2.0 */\n"
			   "/*\n"
			   " * gemm_fit.tbl.h - constants of the GEMM model, printed by "
			   "tools/fit-gemm. Fitted to the rows of\n"
			   " * XLA's measured table (docs/models.md) whose hash is even and that "
			   "are not above the dense\n"
			   " * peak. struct gemm_fit says what they mean.\n"
			   " *\n"
			   " *\tGEMM_FIT(\"name\", cc (0: AMD), TYPE, result's TYPE or ANY, "
			   "start_ns, tile_ns, peak, small,\n"
			   " *\t\t load_B, store_B, split_ns, dram, cache)\n"
			   " *\tGEMM_TURN(cc, TYPE, ns, bytes a ns): the transpose that XLA runs "
			   "before, which its figure\n"
			   " *\t\t also holds; for tests/validate only\n"
			   " */\n"
			   "/* clang-format off */\n";

int main(int argc, char *argv[])
{
	static struct group groups[] = {
#define GROUP(name_, device_, cc_, type_, out_, but_, turned) \
	{ .name = "\"" name_ "\",",                           \
	  .device = device_,                                  \
	  .cc = cc_,                                          \
	  .type = GPU_##type_,                                \
	  .word = #type_ ", " #out_,                          \
	  .out = GPU_##out_,                                  \
	  .but = GPU_##but_,                                  \
	  .transposed = turned }
		GROUP("sm_90 bf16", "sm_90", 90, BF16, ANY, ANY, false),
		GROUP("sm_90 tf32", "sm_90", 90, TF32, ANY, ANY, false),
		GROUP("sm_90 fp8", "sm_90", 90, FP8, ANY, ANY, true),
		GROUP("sm_100 bf16", "sm_100_B200", 100, BF16, ANY, ANY, false),
		GROUP("sm_100 tf32", "sm_100_B200", 100, TF32, ANY, ANY, false),
		GROUP("sm_100 fp8", "sm_100_B200", 100, FP8, ANY, ANY, false),
		GROUP("gfx950 bf16", "gfx950", 0, BF16, ANY, ANY, false),
		GROUP("gfx950 fp16", "gfx950", 0, FP16, ANY, ANY, false),
		GROUP("gfx950 fp32", "gfx950", 0, FP32, ANY, ANY, false),
		GROUP("gfx950 fp8", "gfx950", 0, FP8, ANY, FP32, false),
		GROUP("gfx950 fp8 to fp32", "gfx950", 0, FP8, FP32, ANY, false),
	};
	struct measured_gemms all;
	int err = measured_xla(&all);

	if (err < 0) {
		fprintf(stderr, "fit_gemm: no table: %s\n", strerror(-err));
		return 1;
	}
	fputs(head, stdout);
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		if (argc > 1 && !strstr(groups[i].name, argv[1]))
			continue;
		gather(&groups[i], &all);
		fit(&groups[i]);
		free(groups[i].row);
	}
	puts("/* clang-format on */\n#undef GEMM_FIT\n#undef GEMM_TURN");
	measured_free(&all);
	return 0;
}
