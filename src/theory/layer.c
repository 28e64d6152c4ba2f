/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer.c - see layer.h.
 *
 * A pass over memory: T = base + bytes / (share x bandwidth), less by `gain` while its tensors fit
 * half of the L2 cache, and in between linearly until they fill it. base, share and gain are in
 * layer_fit.tbl.h; of a device that was not measured the nearest one's.
 *
 * Attention: a block of TILE_Q queries of one head on an SM, waves of them; tensor cores at
 * FLASH_SHARE of their peak, or the exponentials of the scores, or memory, whichever is slowest.
 * Keys and values are split over SMs when there are too few blocks, so that decoding is
 * memory bound. No measured table of it is at hand: the shares are what its authors publish.
 */
#include "theory/layer.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>

#include "theory/gemm.h"

#define MOST 0x1p60

#define TILE_Q         128.0
#define FLASH_SHARE    0.72 /* FlashAttention-2 on A100: 225 of 312 TFLOPS; -3 on H100: 740 of 989 */
#define FLASH_BACKWARD 0.58 /* -2: 187 of 312; -3: 560 of 989 */
#define FLASH_FP8      0.60 /* -3: 1.2 of 1.98 PFLOPS */
#define FLASH_AMD      0.45 /* of MI300X, AMD's composable kernels: 550 to 600 of 1307 TFLOPS */
#define EXP_A_CLOCK    16.0 /* special function units of an SM */
#define STREAM_SHARE   0.85 /* of memory's bandwidth that a long read gets */

enum { A100, H100, FAMILIES };

static const struct pass {
	double base_us, share, gain;
} passes[FAMILIES][PASS_KINDS] = {
#define PASS(key, kind, base, share, gain) [key][PASS_##kind] = { base, share, gain },
#include "theory/layer_fit.tbl.h"
};

const char *const pass_word[PASS_KINDS] = { "elementwise", "activation", "rope", "norm", "gather" };

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

static double flash_share(const struct gpu *g, const struct attention *a)
{
	if (g->cc == 0)
		return FLASH_AMD;
	if (a->type == GPU_FP8)
		return FLASH_FP8;
	return a->backward ? FLASH_BACKWARD : FLASH_SHARE;
}

/* How much longer the last, partly filled wave makes all; none where keys can be split. */
static double waves_of(const struct gpu *g, const struct attention *a)
{
	double blocks = (double)a->batch * (double)a->heads * ceil((double)a->q / TILE_Q);
	double sms = g->sms ? g->sms : 1;

	return blocks < sms ? 1 : ceil(blocks / sms) / (blocks / sms);
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
	double kv = (double)a->kv, size = gemm_type_bytes(a->type), peak, scores, flops, bytes;
	double tensor, exps, memory, base = pass_of(g, PASS_NORM)->base_us * 1e3;
	int err = attention_check(a);

	if (err)
		return err;
	scores = b * h * (a->causal ? q * kv - q * (q - 1) / 2 : q * kv);
	flops = 4 * d * scores * (a->backward ? 2.5 : 1); /* 2 products, or 5 */
	bytes = b * d * size * (2 * q * h + 2 * kv * (double)a->kv_heads) * (a->backward ? 2 : 1);
	if (flops > MOST || bytes > MOST)
		return -ERANGE;
	peak = gpu_peak(g, a->type);
	if (!(peak > 0) || !(g->memory_Bps > 0))
		return -ENOTSUP;
	tensor = flops / (peak * flash_share(g, a));
	exps = g->sms && g->clock_mhz ? scores / (EXP_A_CLOCK * g->sms * g->clock_mhz * 1e6) : 0;
	tensor = fmax(tensor, exps) * waves_of(g, a) * 1e9;
	/* Tensor cores take 64 rows at least: the queries of all heads that share a key. */
	tensor *= fmax(64 / (q * h / (double)a->kv_heads), 1);
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

int conv_time(struct layer_time *out, const struct gpu *g, const struct conv *c)
{
	struct gemm x = { .batch = c->groups, .type = c->type, .out = c->type };
	struct gemm_time t;
	uint64_t p, q;
	double size = gemm_type_bytes(c->type), bytes, memory;
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
	/* The matrix of patches is never in memory: what the product pays for reading it is not due. */
	if (memory < t.memory_ns) {
		out->ns = t.start_ns + hypot(t.tiles_ns, memory) + t.split_ns;
		if (memory < t.tiles_ns && t.memory_ns > t.tiles_ns)
			out->limiter = "compute";
	}
	return 0;
}
