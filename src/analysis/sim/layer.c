/* SPDX-License-Identifier: Apache-2.0 */
/* layer.c - the cost of the parts of a decoder: work from shapes, time from the models. */
#include "sim/layer.h"

#include <errno.h>

#include "theory/gemm.h"
#include "theory/layer.h"

#define WIDTH 2.0 /* bytes of a number */

enum gpu_type layer_type(const struct gpu *g)
{
	return gpu_peak(g, GPU_BF16) > 0 ? GPU_BF16 : GPU_FP16;
}

const struct layer_row layer_table[LAYER_PARTS] = {
#define PART(ID, where, kind, forward, backward, a, b, before, after)                      \
	[LAYER_##ID] = {                                                                   \
		forward, backward, WHERE_##where, KIND_##kind, MEET_##before, MEET_##after \
	},
#include "sim/layer.tbl.h"
};

static double part_a(const struct job *j, enum layer_part p, double *b)
{
	double H = j->hidden, F = j->ffn, V = j->vocab, TP = j->tp, G = j->gated;
	double KV = H * j->kv_heads / j->heads;
	const double size[LAYER_PARTS][2] = {
#define PART(ID, where, kind, forward, backward, a, b, before, after) [LAYER_##ID] = { a, b },
#include "sim/layer.tbl.h"
	};

	*b = size[p][1];
	return size[p][0];
}

/* Splits the model's time into arithmetic and memory: a fault slows one of the two. */
static int gemm(struct sim_cost *out, const struct gpu *g, double m, double n, double k,
		double batch)
{
	struct gemm x = { .m = (uint64_t)m,
			  .n = (uint64_t)n,
			  .k = (uint64_t)k,
			  .batch = (uint64_t)batch,
			  .type = layer_type(g),
			  .out = layer_type(g) };
	struct gemm_time t;
	int err = gemm_time(&t, g, &x);

	if (!err)
		*out = (struct sim_cost){ t.ns, t.tiles_ns, t.memory_ns };
	return err;
}

static struct sim_cost cost_of(const struct gpu *g, const struct layer_time *t)
{
	return (struct sim_cost){ t->ns, t->flops / gpu_peak(g, layer_type(g)) * 1e9,
				  t->bytes / g->memory_Bps * 1e9 };
}

/* Tokens that go through a layer at once. A batch of prompts has as many as a sequence may have. */
static double tokens_of(const struct job *j, enum layer_mode mode)
{
	return mode == MODE_DECODE    ? j->micro_batch
	       : mode == MODE_PREFILL ? j->seq
				      : (double)j->seq * j->micro_batch;
}

static int attention(struct sim_cost *out, const struct job *j, enum layer_mode mode, bool backward)
{
	struct attention a = { .batch = mode == MODE_PREFILL ? 1 : j->micro_batch,
			       .heads = j->heads / j->tp,
			       .kv_heads = j->kv_heads > j->tp ? j->kv_heads / j->tp : 1,
			       .head_dim = j->hidden / j->heads,
			       .q = mode == MODE_DECODE ? 1 : j->seq,
			       .kv = j->seq,
			       .causal = true,
			       .backward = backward,
			       .type = layer_type(j->gpu) };
	struct layer_time t;
	int err = attention_time(&t, j->gpu, &a);

	if (!err)
		*out = cost_of(j->gpu, &t);
	return err;
}

/* `again`: the bytes that the backward pass moves, as a multiple: inputs again, and gradients. */
static int pass_costs(struct layer_costs *c, const struct job *j, enum layer_part p, double bytes)
{
	static const struct {
		enum pass_kind kind;
		double again;
	} pass[] = { [KIND_GATHER] = { PASS_GATHER, 1 },
		     [KIND_NORM] = { PASS_NORM, 1.5 },
		     [KIND_GATE] = { PASS_ACTIVATION, 5 / 3.0 },
		     [KIND_ROPE] = { PASS_ROPE, 1 },
		     [KIND_ADD] = { PASS_ELEMENTWISE, 1 } };
	enum pass_kind kind = pass[layer_table[p].kind].kind;
	struct layer_time t;
	int err = pass_time(&t, j->gpu, kind, bytes);

	if (err < 0)
		return err;
	c->forward[p] = cost_of(j->gpu, &t);
	err = pass_time(&t, j->gpu, kind, bytes * pass[layer_table[p].kind].again);
	if (!err)
		c->backward[p] = cost_of(j->gpu, &t);
	return err;
}

static int gemm_costs(struct layer_costs *c, const struct job *j, enum layer_part p, double tokens)
{
	double b, a = part_a(j, p, &b), batch = 1;
	int err;

	if (layer_table[p].kind == KIND_EXPERT && j->experts) {
		/* Each rank's experts get as many tokens as it has, in all, and each a like share. */
		batch = (double)j->experts / j->ep;
		tokens = tokens * j->topk > batch ? tokens * j->topk / batch : 1;
	}
	c->gradient[p] = (uint64_t)(WIDTH * a * b * batch);
	err = gemm(&c->forward[p], j->gpu, tokens, a, b, batch);
	err = err ? err : gemm(&c->backward[p], j->gpu, tokens, b, a, batch);
	return err ? err : gemm(&c->weight[p], j->gpu, a, b, tokens, batch);
}

static int part_costs(struct layer_costs *c, const struct job *j, enum layer_part p,
		      enum layer_mode mode)
{
	double tokens = tokens_of(j, mode), b, a = part_a(j, p, &b);
	int err;

	switch (layer_table[p].kind) {
	case KIND_EXPERT:
	case KIND_GEMM:
		return gemm_costs(c, j, p, tokens);
	case KIND_ATTN:
		err = attention(&c->forward[p], j, mode, false);
		return err || mode != MODE_TRAIN ? err : attention(&c->backward[p], j, mode, true);
	default:
		if (p == LAYER_EMBED)
			c->gradient[p] = (uint64_t)(WIDTH * j->vocab * j->hidden / j->tp);
		if (p == LAYER_ACT && j->experts)
			tokens *= j->topk;
		return pass_costs(c, j, p, tokens * a);
	}
}

int layer_costs(struct layer_costs *out, const struct job *j, enum layer_mode mode)
{
	double tokens = tokens_of(j, mode);
	int err = 0;

	*out = (struct layer_costs){ 0 };
	if (gpu_peak(j->gpu, layer_type(j->gpu)) <= 0 || gpu_peak(j->gpu, GPU_FP32) <= 0)
		return -ENOTSUP;
	for (enum layer_part p = 0; p < LAYER_PARTS && !err; p++) {
		err = part_costs(out, j, p, mode);
		if (layer_table[p].where == WHERE_LAYER)
			out->layer_gradient += out->gradient[p];
	}
	out->activation = (uint64_t)(WIDTH * tokens * j->hidden);
	out->routed = out->activation * (j->experts ? j->topk : 0);
	return err;
}

enum step_class layer_class(const struct job *j, enum layer_part p)
{
	if (layer_table[p].where != WHERE_LAYER)
		return STEP_CLASS_EMBED;
	switch (layer_table[p].kind) {
	case KIND_EXPERT:
	case KIND_GATE:
		if (j->experts)
			return STEP_CLASS_EXPERT;
		return layer_table[p].kind == KIND_EXPERT ? STEP_CLASS_GEMM : STEP_CLASS_POINTWISE;
	case KIND_GEMM:
		return STEP_CLASS_GEMM;
	case KIND_ATTN:
		return STEP_CLASS_ATTENTION;
	default:
		return STEP_CLASS_POINTWISE;
	}
}

/* Adam reads and writes weight, gradient and, in fp32, master copy and two moments. */
struct sim_cost layer_optimizer(const struct job *j, uint64_t gradient)
{
	double weights = (double)gradient / WIDTH;

	return sim_cost_kernel(j->gpu, GPU_FP32, 12 * weights, 28 * weights, 1);
}

int layer_comm(double *ns, const struct job *j, enum coll_op op, uint64_t bytes,
	       const struct job_team *t)
{
	struct coll c = {
		.op = op,
		.bytes = bytes,
		.ranks = t->size,
		.ranks_per_node = t->per_node,
		.nics = j->nics < t->per_node ? j->nics : 0,
	};

	return coll_time(ns, j->gpu, &c);
}
