/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - see gemm.h; the constants are in gemm_fit.tbl.h. */
#include "theory/gemm.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define STEP_BYTES 128.0  /* of k that a tile takes at a time */
#define CLOCK_MHZ  1500.0 /* where a device does not tell its own */

static const struct gemm_fit fits[] = {
#define GPU_ANY                                GPU_TYPES
#define GEMM_FIT(name_, cc_, type_, out_, ...) { name_, cc_, GPU_##type_, GPU_##out_, __VA_ARGS__ },
#define GEMM_TURN(...)
#include "theory/gemm_fit.tbl.h"
};

static const struct {
	uint16_t m, n;
} tiles[] = {
	{ 64, 64 },  { 64, 128 },  { 128, 64 },  { 128, 128 }, { 64, 256 },
	{ 256, 64 }, { 128, 256 }, { 256, 128 }, { 256, 256 },
};

/* Before Blackwell the sums of a tile are in registers, which do not hold more. */
#define TILE_REGISTERS 32768u

static const uint32_t splits[] = { 1, 2, 4, 8 };

/* Which types' constants stand in for those of a type that was not measured, best first. */
static const enum gpu_type near[GPU_TYPES][3] = {
	[GPU_FP64] = { GPU_FP64, GPU_FP32, GPU_TF32 },
	[GPU_FP32] = { GPU_FP32, GPU_TF32, GPU_BF16 },
	[GPU_TF32] = { GPU_TF32, GPU_FP32, GPU_BF16 },
	[GPU_FP16] = { GPU_FP16, GPU_BF16, GPU_FP8 },
	[GPU_BF16] = { GPU_BF16, GPU_FP16, GPU_FP8 },
	[GPU_FP8] = { GPU_FP8, GPU_INT8, GPU_BF16 },
	[GPU_FP4] = { GPU_FP4, GPU_FP8, GPU_BF16 },
	[GPU_INT8] = { GPU_INT8, GPU_FP8, GPU_BF16 },
};

double gemm_type_bytes(enum gpu_type type)
{
	static const double bytes[GPU_TYPES] = {
		[GPU_FP64] = 8, [GPU_FP32] = 4, [GPU_TF32] = 4,  [GPU_FP16] = 2,
		[GPU_BF16] = 2, [GPU_FP8] = 1,  [GPU_FP4] = 0.5, [GPU_INT8] = 1,
	};

	return bytes[type];
}

double gemm_bytes(const struct gemm *x)
{
	double m = (double)x->m, n = (double)x->n, k = (double)x->k;

	return (double)x->batch *
	       ((m + n) * k * gemm_type_bytes(x->type) + m * n * gemm_type_bytes(x->out));
}

/* The architecture of the table that is nearest to the device's, by its compute capability. */
static uint32_t nearest(const struct gpu *g, bool *same)
{
	if (strstr(g->name, "AMD") || !strncmp(g->key, "MI", 2)) {
		*same = strstr(g->name, "MI35") != NULL;
		return 0;
	}
	*same = g->cc == 90 || g->cc == 100;
	return g->cc >= 100 ? 100 : 90;
}

static const struct gemm_fit *row_of(uint32_t cc, enum gpu_type type, enum gpu_type out)
{
	for (size_t i = 0; i < sizeof(fits) / sizeof(*fits); i++)
		if (fits[i].cc == cc && fits[i].type == type && fits[i].out == out)
			return &fits[i];
	return NULL;
}

const struct gemm_fit *gemm_fit_of(const struct gpu *g, const struct gemm *x, bool *fitted)
{
	const struct gemm_fit *f;
	bool same;
	uint32_t cc = nearest(g, &same);

	for (size_t t = 0; t < 3; t++) {
		f = row_of(cc, near[x->type][t], x->out);
		if (!f)
			f = row_of(cc, near[x->type][t], GPU_ANY);
		if (f) {
			*fitted = same && !t;
			return f;
		}
	}
	*fitted = false;
	return &fits[0];
}

/*
 * Devices whose power does not let them keep their clock while they multiply: shares of the dense peak at
 * best. MI300X: AMD's own Max-Achievable FLOPs, 654, 708 and 1,273 TFLOPS at 1.1 to 1.2 of 2.1 GHz (ROCm
 * blogs, "Measuring Max-Achievable FLOPs", part 2, 2025).
 */
static const struct {
	const char *key;
	enum gpu_type type;
	double peak;
} held[] = {
	{ "MI300X", GPU_FP16, 0.500 },
	{ "MI300X", GPU_BF16, 0.542 },
	{ "MI300X", GPU_FP8, 0.487 },
};

static double peak_of(const struct gpu *g, enum gpu_type type, double peak)
{
	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		if (held[i].type == type && !strcmp(held[i].key, g->key))
			return fmin(peak, held[i].peak);
	return peak;
}

/* What does not change from tile to tile. */
struct task {
	const struct gpu *g;
	const struct gemm *x;
	const struct gemm_fit *fit;
	double in, out;          /* bytes of an element */
	double compulsory;       /* bytes that have to be read and written once */
	double peak;             /* share of the dense peak that a large tile reaches */
	double sm_flops, sm_clk; /* of an SM, a nanosecond */
	double start_ns;
};

static double ceil_div(uint64_t a, double b)
{
	return ceil((double)a / b);
}

/* Sizes whose sums of bytes or operations do not fit 64 bits are no matrices. */
static int check(const struct gemm *x)
{
	const uint64_t pair[3][2] = { { x->m, x->k }, { x->k, x->n }, { x->m, x->n } };
	uint64_t v;

	if (!x->m || !x->n || !x->k || !x->batch)
		return -EINVAL;
	for (int i = 0; i < 3; i++)
		if (__builtin_mul_overflow(pair[i][0], pair[i][1], &v) ||
		    __builtin_mul_overflow(v, x->batch, &v) || __builtin_mul_overflow(v, 8u, &v))
			return -ERANGE;
	if (__builtin_mul_overflow(x->m, x->n, &v) || __builtin_mul_overflow(v, x->k, &v) ||
	    __builtin_mul_overflow(v, x->batch, &v) || __builtin_mul_overflow(v, 2u, &v))
		return -ERANGE;
	return 0;
}

/*
 * Bytes to and from memory. The SMs of a wave work on a block of neighbouring tiles, whose rows
 * of A and columns of B they read once; if A and B fit L2, waves also share them.
 */
static double traffic(const struct task *t, uint32_t tm, uint32_t tn)
{
	const struct gemm *x = t->x;
	double rows = ceil_div(x->m, tm), cols = ceil_div(x->n, tn);
	double wave = fmin(rows * cols, t->g->sms), waves = rows * cols / wave;
	double high = fmin(rows, ceil(sqrt(wave * tn / tm))), wide = fmin(cols, ceil(wave / high));
	double operands = ((double)x->m + (double)x->n) * (double)x->k * t->in;
	double again = waves * (high * tm + wide * tn) * (double)x->k * t->in - operands;
	double kept = t->fit->cache * (double)t->g->l2_bytes, bytes = t->compulsory;

	if (x->alone) /* Cyclic reuse: nothing is found again of what is twice as large. */
		bytes = fmax(0, fmin(bytes, 2 * (bytes - kept)));
	if (operands > (double)t->g->l2_bytes && again > 0)
		bytes += (double)x->batch * again;
	return bytes;
}

static const char *limiter(const struct gemm_time *r, bool loads, double loop_ns)
{
	if (r->start_ns + r->split_ns > r->ns / 2)
		return "launch";
	if (r->memory_ns > r->tiles_ns)
		return "memory";
	if (r->wave_efficiency < 0.5 || loop_ns < r->tiles_ns / 2)
		return "latency";
	return loads ? "memory" : "compute";
}

static void try_tile(struct gemm_time *r, const struct task *t, uint32_t tm, uint32_t tn,
		     uint32_t split)
{
	const struct gemm *x = t->x;
	const struct gemm_fit *f = t->fit;
	double area = (double)tm * tn, step = STEP_BYTES / t->in;
	double all = ceil_div(x->m, tm) * ceil_div(x->n, tn) * (double)x->batch * split;
	double turns = ceil(all / t->g->sms), steps = ceil((double)x->k / split / step);
	double math = 2 * area * step / (t->sm_flops * t->peak * area / (area + f->small));
	double load = (tm + tn) * STEP_BYTES / (f->load_B * t->sm_clk);
	double loop = steps * fmax(math, load);
	double ends = f->tile_ns + area * t->out / (f->store_B * t->sm_clk);

	*r = (struct gemm_time){
		.tile_m = tm,
		.tile_n = tn,
		.split_k = split,
		.waves = all / t->g->sms,
		.wave_efficiency = all / (turns * t->g->sms),
		.flops = 2 * (double)x->m * (double)x->n * (double)x->k * (double)x->batch,
		.bytes = traffic(t, tm, tn),
		.start_ns = t->start_ns,
		.tiles_ns = turns * (loop + ends),
	};
	r->memory_ns = r->bytes / (t->g->memory_Bps * f->dram) * 1e9;
	if (split > 1) /* Each part is written and read once more, in fp32, through L2. */
		r->split_ns = f->split_ns + 8.0 * split * (double)x->m * (double)x->n *
						    (double)x->batch /
						    (f->load_B * t->sm_clk * t->g->sms);
	r->ns = r->start_ns + hypot(r->tiles_ns, r->memory_ns) + r->split_ns;
	r->limiter = limiter(r, load > math, turns * loop);
}

int gemm_time_by(struct gemm_time *out, const struct gpu *g, const struct gemm *x,
		 const struct gemm_fit *fit)
{
	struct task t = { .g = g, .x = x, .fit = fit };
	struct gemm_time best = { .ns = INFINITY }, r;
	int err = check(x);

	if (err < 0)
		return err;
	if (gpu_peak(g, x->type) <= 0 || g->memory_Bps <= 0 || !g->sms)
		return -ENOTSUP;
	t.in = gemm_type_bytes(x->type);
	t.out = gemm_type_bytes(x->out);
	t.compulsory = gemm_bytes(x);
	t.peak = peak_of(g, x->type, t.fit->peak);
	t.sm_flops = gpu_peak(g, x->type) / g->sms / 1e9;
	t.sm_clk = (g->clock_mhz ? g->clock_mhz : CLOCK_MHZ) / 1e3;
	t.start_ns = x->alone || g->launch_ns <= 0 ? fit->start_ns : g->launch_ns;
	for (size_t i = 0; i < sizeof(tiles) / sizeof(*tiles); i++) {
		if (fit->cc == 90 && (uint32_t)tiles[i].m * tiles[i].n > TILE_REGISTERS)
			continue;
		for (size_t s = 0; s < sizeof(splits) / sizeof(*splits); s++) {
			if (splits[s] > 1 && (double)x->k / splits[s] < STEP_BYTES / t.in)
				break;
			try_tile(&r, &t, tiles[i].m, tiles[i].n, splits[s]);
			if (r.ns < best.ns)
				best = r;
		}
	}
	best.constants = fit->name;
	*out = best;
	return 0;
}

int gemm_time(struct gemm_time *out, const struct gpu *g, const struct gemm *x)
{
	bool fitted;
	const struct gemm_fit *fit;
	int err;

	if ((unsigned)x->type >= GPU_TYPES || (unsigned)x->out >= GPU_TYPES)
		return -ENOTSUP;
	fit = gemm_fit_of(g, x, &fitted);
	err = gemm_time_by(out, g, x, fit);
	if (!err)
		out->fitted = fitted;
	return err;
}
