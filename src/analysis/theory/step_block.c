/* SPDX-License-Identifier: Apache-2.0 */
/* step_block.c - see step_block.h. */
#include "theory/step_block.h"

#include <math.h>
#include <string.h>

#include "theory/gemm.h"
#include "theory/layer.h"

/* How much more than forwards a pass moves backwards: what it reads again, and the gradients. */
static const double backward_bytes[PASS_KINDS] = {
	[PASS_ELEMENTWISE] = 1, [PASS_ACTIVATION] = 5 / 3.0, [PASS_ROPE] = 1,
	[PASS_NORM] = 1.5,      [PASS_GATHER] = 1,
};

enum gpu_type step_block_type(const struct step *s)
{
	return gemm_type_bytes(s->type) < 2 ? GPU_BF16 : s->type;
}

static double type_bytes(const struct step_block *b)
{
	return gemm_type_bytes(step_block_type(b->s));
}

static int product(double *ns, struct step_block *b, uint64_t m, uint64_t n, uint64_t k,
		   uint64_t batch)
{
	struct gemm x = { .m = m,
			  .n = n,
			  .k = k,
			  .batch = batch,
			  .type = b->s->type,
			  .out = step_block_type(b->s) };
	struct gemm_time t;
	int err = gemm_time(&t, b->g, &x);

	if (err)
		return err;
	*ns += t.ns;
	if (strcmp(t.limiter, "memory") == 0)
		b->memory_ns += t.ns;
	return 0;
}

static int pass(double *ns, const struct step_block *b, enum pass_kind kind, double bytes,
		bool backward)
{
	struct layer_time t;
	int err = pass_time(&t, b->g, kind, bytes * (backward ? backward_bytes[kind] : 1));

	if (!err)
		*ns += t.ns;
	return err;
}

/*
 * y[m,n] = x[m,k] w[k,n]; backwards dx = dy w' and dw = x' dy. In less than 16 bits x, or dy, is
 * read and written in the smaller type first.
 */
static int matrix(double part[STEP_PARTS], struct step_block *b, bool backward, uint64_t m,
		  uint64_t n, uint64_t k, uint64_t batch)
{
	double small = gemm_type_bytes(b->s->type), cast = (double)(backward ? n : k);
	int err = 0;

	if (small < 2)
		err = pass(&part[STEP_PASSES], b, PASS_ELEMENTWISE,
			   (double)m * cast * (double)batch * (2 + small), false);
	if (err)
		return err;
	if (!backward)
		return product(&part[STEP_GEMM], b, m, n, k, batch);
	err = product(&part[STEP_GEMM], b, m, k, n, batch);
	return err ? err : product(&part[STEP_GEMM], b, k, n, m, batch);
}

int step_block_comm(double *ns, const struct step_block *b, enum step_part part, enum coll_op op,
		    double bytes)
{
	const struct step *s = b->s;
	uint32_t node = s->gpus_per_node ? s->gpus_per_node : coll_domain(b->g);
	struct coll c = { .op = op, .bytes = (uint64_t)fmax(bytes, 1), .net_Bps = s->net_Bps };
	double t;
	int err;

	switch (part) {
	case STEP_TP:
		c.ranks = s->tp;
		c.ranks_per_node = node;
		break;
	case STEP_PP: /* the next stage is a node further, unless a node has room for two */
		c.ranks = s->pp > 1 ? 2 : 1;
		c.ranks_per_node = (double)s->tp * s->dp < node ? 2 : 1;
		break;
	default:
		c.ranks = part == STEP_EP ? s->ep : s->dp;
		c.ranks_per_node = node > s->tp ? node / s->tp : 1;
	}
	if (c.ranks < 2)
		return 0;
	err = coll_time(&t, b->g, &c);
	if (!err)
		*ns += t;
	return err;
}

static int attention(double *part, struct step_block *b, bool backward)
{
	const struct step_model *m = &b->s->model;
	bool decode = b->s->mode == STEP_DECODE;
	struct attention a = {
		.batch = b->sequences,
		.heads = m->heads / b->s->tp,
		.kv_heads = m->kv_heads > b->s->tp ? m->kv_heads / b->s->tp : 1,
		.head_dim = m->hidden / m->heads,
		.q = decode ? 1 : b->s->seq,
		.kv = b->s->seq,
		.causal = !decode,
		.backward = backward,
		.type = step_block_type(b->s),
	};
	double t = (double)b->tokens, size = type_bytes(b);
	uint64_t q = a.heads * a.head_dim, kv = a.kv_heads * a.head_dim;
	struct layer_time l;
	int err;

	if ((err = matrix(part, b, backward, b->tokens, q + 2 * kv, m->hidden, 1)) ||
	    (err = pass(&part[STEP_PASSES], b, PASS_ROPE, 2 * t * (double)(q + kv) * size,
			backward)) ||
	    (err = attention_time(&l, b->g, &a)) ||
	    (err = matrix(part, b, backward, b->tokens, m->hidden, q, 1)))
		return err;
	part[STEP_ATTENTION] += l.ns;
	if (strcmp(l.limiter, "memory") == 0)
		b->memory_ns += l.ns;
	return 0;
}

/* The matrices after attention: of all, or of the experts that this GPU has. */
static int feed_forward(double *part, struct step_block *b, bool backward)
{
	const struct step *s = b->s;
	const struct step_model *m = &s->model;
	double t = (double)b->tokens * (m->experts ? (double)m->chosen : 1), size = type_bytes(b);
	uint64_t width = m->ffn / s->tp, here = m->experts ? m->experts / s->ep : 1;
	uint64_t rows = (uint64_t)ceil(t * (m->experts ? s->ep : 1) /
				       (m->experts ? (double)m->experts : 1));
	int err;

	if ((err = matrix(part, b, backward, rows, (m->gated ? 2 : 1) * width, m->hidden, here)) ||
	    (err = pass(&part[STEP_PASSES], b, PASS_ACTIVATION,
			(m->gated ? 3 : 2) * (double)(rows * here) * (double)width * size,
			backward)) ||
	    (err = matrix(part, b, backward, rows, m->hidden, width, here)))
		return err;
	for (int way = 0; way < 2; way++) { /* to the experts and back */
		err = step_block_comm(&part[STEP_EP], b, STEP_EP, COLL_ALL_TO_ALL,
				      t * (double)m->hidden * size);
		if (err)
			return err;
	}
	return 0;
}

/* Tensor parallelism: an all-reduce, or a reduce-scatter and later an all-gather. */
static int share(double *ns, const struct step_block *b, double bytes)
{
	int err;

	if (!b->s->sequence)
		return step_block_comm(ns, b, STEP_TP, COLL_ALL_REDUCE, bytes);
	err = step_block_comm(ns, b, STEP_TP, COLL_REDUCE_SCATTER, bytes);
	return err ? err : step_block_comm(ns, b, STEP_TP, COLL_ALL_GATHER, bytes);
}

int step_block_time(double part[STEP_PARTS], struct step_block *b, bool backward)
{
	double x = (double)b->tokens * (double)b->s->model.hidden * type_bytes(b);
	double mine = b->s->sequence ? x / b->s->tp : x;
	int err;

	if (backward && b->s->recompute) {
		err = step_block_time(part, b, false);
		if (err)
			return err;
	}
	err = attention(part, b, backward);
	err = err ? err : feed_forward(part, b, backward);
	for (int half = 0; half < 2 && !err; half++) { /* a norm before it, a sum behind */
		err = pass(&part[STEP_PASSES], b, PASS_NORM, 2 * mine, backward);
		err = err ? err : pass(&part[STEP_PASSES], b, PASS_ELEMENTWISE, 3 * mine, backward);
		err = err ? err : share(&part[STEP_TP], b, x);
	}
	return err;
}

int step_block_ends(double part[STEP_PARTS], struct step_block *b, bool backward)
{
	const struct step *s = b->s;
	const struct step_model *m = &s->model;
	double x = (double)b->tokens * (double)m->hidden * type_bytes(b), send = 0;
	uint64_t words = (m->vocab + s->tp - 1) / s->tp;
	uint64_t rows =
		s->mode == STEP_TRAIN ? b->tokens : b->sequences; /* asked: the last token */
	int err = 0;

	if (s->pp == 1) /* else of the first stage, and the last is slower */
		err = pass(&part[STEP_PASSES], b, PASS_GATHER, 2 * x, backward);
	err = err ? err : matrix(part, b, backward, rows, words, m->hidden, 1);
	if (!err) /* softmax and loss, in fp32 */
		err = pass(&part[STEP_PASSES], b, PASS_NORM, 8.0 * (double)rows * (double)words,
			   backward);
	if (!err)
		err = step_block_comm(&send, b, STEP_PP, COLL_P2P, s->sequence ? x / s->tp : x);
	part[STEP_PP] += send * s->interleave;
	return err;
}

double step_block_kept(const struct step *s, bool recompute)
{
	const struct step_model *m = &s->model;
	double h = (double)m->hidden, kv = h * (double)m->kv_heads / (double)m->heads;
	double ffn = (double)m->ffn * (m->gated ? 3 : 2) * (m->experts ? (double)m->chosen : 1);

	/* Inputs and outputs of both norms; q, k, v and what attention gives; before and after the
	 * activation. Scores are not kept. */
	return (recompute ? h : 4 * h) / (s->sequence ? s->tp : 1) +
	       (recompute ? 0 : (2 * h + 2 * kv + ffn) / s->tp);
}
