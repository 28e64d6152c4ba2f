/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer.c - see layer.h.
 *
 * A pass over memory: T = base + bytes / (share x bandwidth), less by `gain` while its tensors fit
 * half of the L2 cache, and in between linearly until they fill it. base, share and gain are in
 * layer_fit.tbl.h; of a device that was not measured the nearest one's.
 *
 * Attention: an SM has a block of 128 queries of one head and goes over the keys, 128 at a time: tiles
 * and ENDS_TILES more for its start and end; blocks run in waves. A tile takes its operations at a
 * share of the tensor cores' peak that grows with the head, top x d / (d + half), or its
 * exponentials, whichever is longer. Or memory is slower than all. A few queries (decoding) are no
 * block: keys and values are split over the SMs, and memory is what counts.
 */
#include "theory/layer.h"

#include <errno.h>
#include <math.h>

#include "theory/gemm.h"

#define MOST 0x1p60

#define TILE 128.0
#define ENDS_TILES \
	1.75 /* FlashAttention-3, d 128: 430 TFLOPS at 512 keys, 620 at 16,384: pytorch/benchmark 2391 */
#define BACK_SHARE   0.87 /* of the forward share: FlashAttention-2 on A100 has 63 of 73 % */
#define FP8_SHARE    0.81 /* FlashAttention-3: 1.2 of 1.98 PFLOPS, fp16 740 of 989 */
#define FEW_ROWS     64.0 /* that tensor cores take at least */
#define EXP_A_CLOCK  16.0 /* special function units of an SM */
#define STREAM_SHARE 0.85 /* of memory's bandwidth that a long read gets */

enum { A100, H100, FAMILIES };

static const struct pass {
	double base_us, share, gain;
} passes[FAMILIES][PASS_KINDS] = {
#define PASS(key, kind, base, share, gain) [key][PASS_##kind] = { base, share, gain },
#include "theory/layer_fit.tbl.h"
};

static const struct pass *pass_of(const struct gpu *g, enum pass_kind kind)
{
	return &passes[g->cc == 0 || g->cc >= 90 ? H100 : A100][kind];
}

int pass_time(struct layer_time *out, const struct gpu *g, enum pass_kind kind, double bytes)
{
	const struct pass *p;
	double beyond = 1, ns;

	if ((unsigned)kind >= PASS_KINDS || !(bytes > 0))
		return -EINVAL;
	if (bytes > MOST)
		return -ERANGE;
	if (!(g->memory_Bps > 0))
		return -ENOTSUP;
	p = pass_of(g, kind);
	if (g->l2_bytes)
		beyond = fmin(fmax(bytes / (0.5 * (double)g->l2_bytes) - 1, 0), 1);
	ns = bytes / (p->share * g->memory_Bps) * (beyond + (1 - beyond) / p->gain) * 1e9;
	*out = (struct layer_time){
		.ns = p->base_us * 1e3 + ns,
		.limiter = p->base_us * 1e3 > ns ? "launch" : "memory",
		.bytes = bytes,
	};
	return 0;
}

int elementwise_time(struct layer_time *out, const struct gpu *g, uint64_t elements,
		     uint32_t inputs, enum gpu_type type)
{
	double n = (double)elements;
	int err;

	if (inputs == 0)
		return -EINVAL;
	err = pass_time(out, g, PASS_ELEMENTWISE, n * (inputs + 1.0) * gemm_type_bytes(type));
	if (!err)
		out->flops = inputs > 1 ? n * (inputs - 1.0) : n;
	return err;
}

int norm_time(struct layer_time *out, const struct gpu *g, uint64_t rows, uint64_t width,
	      enum gpu_type type)
{
	double n = (double)rows * (double)width;
	int err = pass_time(out, g, PASS_NORM, 2 * n * gemm_type_bytes(type));

	if (!err)
		out->flops = 4 * n; /* square, add, scale, weigh */
	return err;
}

/* --- attention --- */

/* What is reached at best: d 128 and 256. Of AMD: one kernel of d 64 in a recorded trace of MI300X. */
static const struct flash {
	uint32_t cc; /* at least */
	double top, half;
} flashes[] = {
	{ 90, 0.92, 59 }, /* FlashAttention-3: 620 and 740 of 989 TFLOPS */
	{ 1, 0.93, 35 },  /* FlashAttention-2 on A100: 50 to 73 % */
	{ 0, 0.28, 59 },
};

static double flash_share(const struct gpu *g, const struct attention *a)
{
	const struct flash *f = flashes;
	double d = (double)a->head_dim, share;

	while (g->cc < f->cc)
		f++;
	share = f->top * d / (d + f->half);
	if (a->type == GPU_FP8)
		share *= FP8_SHARE;
	return a->backward ? share * BACK_SHARE : share;
}

/* Seconds of a tile of 128 queries and keys on an SM. */
static double tile_s(const struct gpu *g, const struct attention *a)
{
	double sms = g->sms ? g->sms : 1,
	       flops = 4 * TILE * TILE * (double)a->head_dim * (a->backward ? 2.5 : 1);
	double tensor = flops / (gpu_peak(g, a->type) / sms * flash_share(g, a));

	if (!g->clock_mhz)
		return tensor;
	return fmax(tensor, TILE * TILE / (EXP_A_CLOCK * g->clock_mhz * 1e6));
}

static double compute_s(const struct gpu *g, const struct attention *a)
{
	double sms = g->sms ? g->sms : 1, heads = (double)a->batch * (double)a->heads;
	double rows = ceil((double)a->q / TILE), cols = ceil((double)a->kv / TILE);
	double tiles = a->causal ? rows * cols - rows * (rows - 1) / 2 : rows * cols;
	double packed = (double)a->q * (double)a->heads / (double)a->kv_heads;

	if (a->q < FEW_ROWS) /* the queries of all heads that share a key are one block */
		return (double)a->batch * (double)a->kv_heads * ceil(packed / FEW_ROWS) * cols / 2 *
		       tile_s(g, a) / sms;
	return ceil(heads * rows / sms) * (tiles / rows + ENDS_TILES) * tile_s(g, a);
}

static int attention_check(const struct attention *a)
{
	if (!a->batch || !a->heads || !a->kv_heads || !a->head_dim || !a->q || !a->kv)
		return -EINVAL;
	if (a->heads % a->kv_heads || (a->causal && a->q > a->kv))
		return -EINVAL;
	return 0;
}

int attention_time(struct layer_time *out, const struct gpu *g, const struct attention *a)
{
	double b = (double)a->batch, h = (double)a->heads, d = (double)a->head_dim,
	       q = (double)a->q;
	double kv = (double)a->kv, size = gemm_type_bytes(a->type), scores, flops, bytes;
	double tensor, memory, base = pass_of(g, PASS_NORM)->base_us * 1e3;
	int err = attention_check(a);

	if (err)
		return err;
	scores = b * h * (a->causal ? q * kv - q * (q - 1) / 2 : q * kv);
	flops = 4 * d * scores * (a->backward ? 2.5 : 1); /* 2 products, or 5 */
	bytes = b * d * size * (2 * q * h + 2 * kv * (double)a->kv_heads) * (a->backward ? 2 : 1);
	if (flops > MOST || bytes > MOST)
		return -ERANGE;
	if (!(gpu_peak(g, a->type) > 0) || !(g->memory_Bps > 0))
		return -ENOTSUP;
	tensor = compute_s(g, a) * 1e9;
	memory = bytes / (g->memory_Bps * STREAM_SHARE) * 1e9;
	*out = (struct layer_time){
		.ns = base + fmax(tensor, memory),
		.limiter = base > fmax(tensor, memory) ? "launch"
			   : tensor > memory           ? "compute"
						       : "memory",
		.flops = flops,
		.bytes = bytes,
	};
	return 0;
}

/* --- convolution --- */

/* Of the product's speed that cuDNN's kernels have in fp32, without tensor cores: the median of the even
 * rows of tests/validate/conv.tbl.h (ResNet-50 on V100). Others were not measured. */
#define CONV_SHARE 0.92

static int conv_side(uint64_t *out, uint64_t in, uint64_t filter, const struct conv *c)
{
	uint64_t padded, reach;

	if (__builtin_mul_overflow(c->pad, 2, &padded) ||
	    __builtin_add_overflow(padded, in, &padded) ||
	    __builtin_mul_overflow(filter - 1, c->dilation, &reach) || reach == UINT64_MAX)
		return -ERANGE;
	if (padded < reach + 1)
		return -EINVAL;
	*out = (padded - reach - 1) / c->stride + 1;
	return 0;
}

int conv_out(uint64_t *p, uint64_t *q, const struct conv *c)
{
	int err;

	if (!c->n || !c->c || !c->h || !c->w || !c->k || !c->r || !c->s || !c->stride ||
	    !c->dilation || !c->groups || c->c % c->groups || c->k % c->groups)
		return -EINVAL;
	err = conv_side(p, c->h, c->r, c);
	return err ? err : conv_side(q, c->w, c->s, c);
}

/*
 * Winograd's way for 3 x 3 without a stride, in tiles of 4 x 4 results: 36 products with a quarter of the
 * multiplications together, between a pass that spreads the images to 36/16 of their size and one that
 * gathers the results. cuDNN takes it in fp32; on tensor cores the plain product is faster. INFINITY:
 * it is not possible.
 */
static double winograd_ns(const struct gpu *g, const struct conv *c, uint64_t p, uint64_t q)
{
	struct gemm x = { .n = c->k, .k = c->c, .batch = 36, .type = c->type, .out = c->type };
	double size = gemm_type_bytes(c->type), spread, plain;
	struct gemm_time t;

	if (c->type != GPU_FP32 || c->r != 3 || c->s != 3 || c->stride != 1 || c->dilation != 1 ||
	    c->groups != 1 || __builtin_mul_overflow((p + 3) / 4, (q + 3) / 4, &x.m) ||
	    __builtin_mul_overflow(x.m, c->n, &x.m) || gemm_time(&t, g, &x))
		return INFINITY;
	spread = 36 * (double)x.m * (double)(c->c + c->k);
	plain = (double)c->n *
		((double)c->c * (double)c->h * (double)c->w + (double)c->k * (double)p * (double)q);
	return 2 * g->launch_ns + t.ns +
	       (spread + plain) * size / (g->memory_Bps * STREAM_SHARE) * 1e9;
}

int conv_time(struct layer_time *out, const struct gpu *g, const struct conv *c)
{
	struct gemm x = { .batch = c->groups, .type = c->type, .out = c->type };
	struct gemm_time t;
	uint64_t p, q;
	double size = gemm_type_bytes(c->type), bytes, memory, tiles, other;
	int err = conv_out(&p, &q, c);

	if (err)
		return err;
	if (__builtin_mul_overflow(p, q, &x.m) || __builtin_mul_overflow(x.m, c->n, &x.m) ||
	    __builtin_mul_overflow(c->c / c->groups, c->r, &x.k) ||
	    __builtin_mul_overflow(x.k, c->s, &x.k))
		return -ERANGE;
	x.n = c->k / c->groups;
	err = gemm_time(&t, g, &x);
	if (err)
		return err;
	bytes = size * ((double)c->n * (double)c->c * (double)c->h * (double)c->w +
			(double)x.k * (double)c->k + (double)x.m * (double)c->k);
	memory = bytes / (g->memory_Bps * STREAM_SHARE) * 1e9;
	*out = (struct layer_time){ t.ns, t.limiter, t.flops, bytes };
	tiles = t.tiles_ns / (c->type == GPU_FP32 ? CONV_SHARE : 1);
	/* The matrix of patches is never in memory: what the product pays for reading it is not due. */
	memory = fmin(memory, t.memory_ns);
	out->ns = t.start_ns + hypot(tiles, memory) + t.split_ns;
	if (memory < tiles && t.memory_ns > t.tiles_ns)
		out->limiter = "compute";
	other = winograd_ns(g, c, p, q);
	if (other < out->ns) {
		out->ns = other;
		out->limiter = "compute";
	}
	return 0;
}
