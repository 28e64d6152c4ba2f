/* SPDX-License-Identifier: Apache-2.0 */
/* layer.c - what the parts of a decoder cost: work from shapes, time from the models. */
#include "sim/layer.h"

#include <errno.h>

#define TYPE  GPU_BF16
#define WIDTH 2.0 /* bytes of a number */

#define NET_Bps         50e9 /* a 400 Gb/s NIC for each GPU */
#define NET_LATENCY_NS  15000.0
#define LINK_LATENCY_NS 5000.0

const struct layer_row layer_table[LAYER_PARTS] = {
#define PART(ID, where, kind, forward, backward, a, b, before, after)                      \
	[LAYER_##ID] = {                                                                   \
		forward, backward, WHERE_##where, KIND_##kind, MEET_##before, MEET_##after \
	},
#include "sim/layer.tbl.h"
};

static double part_a(const struct job *j, enum layer_part p, double *b)
{
	double H = j->hidden, F = j->ffn, V = j->vocab, TP = j->tp;
	double KV = H * j->kv_heads / j->heads;
	const double size[LAYER_PARTS][2] = {
#define PART(ID, where, kind, forward, backward, a, b, before, after) [LAYER_##ID] = { a, b },
#include "sim/layer.tbl.h"
	};

	*b = size[p][1];
	return size[p][0];
}

static struct sim_cost gemm(const struct gpu *g, double m, double n, double k)
{
	return sim_cost_kernel(g, TYPE, 2 * m * n * k, WIDTH * (m * k + k * n + m * n), 1);
}

/* Causal: half of the square. The backward pass does two and a half times the arithmetic. */
static struct sim_cost attention(const struct job *j, double tokens, double times)
{
	double width = (double)j->hidden / j->tp;

	return sim_cost_kernel(j->gpu, TYPE, times * 2 * tokens * j->seq * width,
			       times * WIDTH * 4 * tokens * width, 1);
}

static void part_costs(struct layer_costs *c, const struct job *j, enum layer_part p)
{
	double tokens = (double)j->seq * j->micro_batch, b, a = part_a(j, p, &b);
	double local = j->experts ? (double)j->experts / j->ep : 1;

	switch (layer_table[p].kind) {
	case KIND_EXPERT:
		if (j->experts) /* each rank's experts get as many tokens as it has, in all */
			tokens *= j->topk;
		/* fall through */
	case KIND_GEMM:
		c->forward[p] = gemm(j->gpu, tokens, a, b);
		c->backward[p] = gemm(j->gpu, tokens, b, a);
		c->weight[p] = gemm(j->gpu, a, b, tokens);
		c->gradient[p] = (uint64_t)(WIDTH * a * b *
					    (layer_table[p].kind == KIND_EXPERT ? local : 1));
		break;
	case KIND_ATTN:
		c->forward[p] = attention(j, tokens, 1);
		c->backward[p] = attention(j, tokens, 2.5);
		break;
	default:
		c->forward[p] = c->backward[p] =
			sim_cost_kernel(j->gpu, TYPE, tokens * a, tokens * a, 1);
		if (p == LAYER_EMBED)
			c->gradient[p] = (uint64_t)(WIDTH * j->vocab * j->hidden / j->tp);
	}
}

int layer_costs(struct layer_costs *out, const struct job *j)
{
	double tokens = (double)j->seq * j->micro_batch, weights = 0;

	*out = (struct layer_costs){ 0 };
	for (enum layer_part p = 0; p < LAYER_PARTS; p++) {
		part_costs(out, j, p);
		if (layer_table[p].where == WHERE_LAYER)
			out->layer_gradient += out->gradient[p];
	}
	/* Adam reads and writes weight, gradient and, in fp32, master copy and two moments. */
	weights = (double)out->layer_gradient / WIDTH * j->layers / j->pp;
	out->optimizer = sim_cost_kernel(j->gpu, GPU_FP32, 12 * weights, 28 * weights, 1);
	out->activation = (uint64_t)(WIDTH * tokens * j->hidden);
	out->routed = out->activation * (j->experts ? j->topk : 0);
	return gpu_peak(j->gpu, TYPE) > 0 && gpu_peak(j->gpu, GPU_FP32) > 0 ? 0 : -ENOTSUP;
}

int layer_exchange(double *ns, const struct job *j, enum layer_op op, uint64_t bytes,
		   const struct job_team *t)
{
	bool far = t->per_node < t->size;
	double rate = far || j->gpu->link_Bps <= 0 ? NET_Bps : j->gpu->link_Bps, n = t->size;
	double moves = op == EXCHANGE_ALL_REDUCE   ? 2 * (n - 1) / n
		       : op == EXCHANGE_ALL_TO_ALL ? (n - 1) / n
						   : 1;

	*ns = (far ? NET_LATENCY_NS : LINK_LATENCY_NS) + moves * (double)bytes / rate * 1e9;
	return 0;
}
