/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.c - see step.h.
 *
 * A stage of a pipeline has layers / pp layers and works on one micro-batch after the other; with m
 * of them and p stages all are done after m + p - 1 turns of the slowest stage, p - 1 of which a
 * stage waits; a turn is the shorter, and sends the more, the more parts of the model a stage has. tp ranks are neighbours, then dp, then pp: that says which exchanges leave a node.
 * Exchanges of tp, ep and pp are waited for; that of gradients runs beside the backward pass of
 * the last micro-batch, and what is longer than it, or the last layer's share, is waited for.
 */
#include "theory/step.h"

#include <errno.h>
#include <math.h>
#include <strings.h>

#include "theory/collective.h"
#include "theory/gemm.h"
#include "theory/layer.h"
#include "theory/step_block.h"

#define MASTER_BYTES 12.0 /* of a parameter, fp32: itself and Adam's two moments */
#define ADAM_BYTES   30.0 /* those read and written, the gradient read, the weight written */
#define LOGIT_BYTES  4.0

const char *const step_mode_word[STEP_MODES] = { "train", "prefill", "decode" };
const char *const step_part_word[STEP_PARTS] = { "gemm", "attention", "passes", "optimizer", "tp",
						 "ep",   "pp",        "dp",     "bubble" };

static const struct step_model models[] = {
#define MODEL(...) { __VA_ARGS__ },
#include "theory/step_model.tbl.h"
};

const struct step_model *step_model_at(size_t i)
{
	return i < sizeof(models) / sizeof(*models) ? &models[i] : NULL;
}

const struct step_model *step_model_find(const char *name)
{
	const struct step_model *m;

	for (size_t i = 0; (m = step_model_at(i)); i++)
		if (strcasecmp(m->name, name) == 0)
			return m;
	return NULL;
}

/* Of a layer: what every token meets, and one expert (or the only one). */
static double shared_params(const struct step_model *m)
{
	double h = (double)m->hidden, kv = h * (double)m->kv_heads / (double)m->heads;

	return 2 * h * h + 2 * h * kv + 2 * h + h * (double)m->experts;
}

static double expert_params(const struct step_model *m)
{
	return (m->gated ? 3.0 : 2.0) * (double)m->hidden * (double)m->ffn;
}

double step_params(const struct step_model *m, double *active)
{
	double ends =
		(m->tied ? 1.0 : 2.0) * (double)m->vocab * (double)m->hidden + (double)m->hidden;
	double l = (double)m->layers, shared = shared_params(m), expert = expert_params(m);

	if (active)
		*active = ends + l * (shared + expert * (m->experts ? (double)m->chosen : 1));
	return ends + l * (shared + expert * (m->experts ? (double)m->experts : 1));
}

/* --- checks --- */

#define AT_MOST (1ull << 32) /* each size: so that products of three fit a double well */

static int check_model(const struct step_model *m, const char **why)
{
	const uint64_t size[] = { m->layers, m->hidden, m->heads, m->kv_heads, m->ffn, m->vocab };

	for (size_t i = 0; i < sizeof(size) / sizeof(*size); i++) {
		*why = size[i] ? "a size of the model is more than 2^32"
			       : "a size of the model is 0";
		if (size[i] == 0 || size[i] > AT_MOST)
			return size[i] ? -ERANGE : -EINVAL;
	}
	*why = "hidden is no multiple of heads";
	if (m->hidden % m->heads)
		return -EINVAL;
	*why = "heads is no multiple of kv heads";
	if (m->heads % m->kv_heads)
		return -EINVAL;
	*why = "more experts chosen than there are, or none";
	if (m->experts > AT_MOST || m->chosen > m->experts || (m->experts && !m->chosen))
		return -EINVAL;
	return 0;
}

static int check_work(const struct step *s, const char **why)
{
	uint64_t each = (uint64_t)s->dp * s->micro;

	*why = "no tokens: seq or batch is 0";
	if (!s->seq || !s->batch)
		return -EINVAL;
	*why = "more than 2^32 tokens";
	if (s->seq > AT_MOST || s->batch > AT_MOST || s->seq * s->batch / s->seq != s->batch ||
	    s->seq * s->batch > AT_MOST)
		return -ERANGE;
	*why = "batch is no multiple of dp x micro";
	if (s->batch % each)
		return -EINVAL;
	*why = "heads or ffn is no multiple of tp";
	if (s->model.heads % s->tp || s->model.ffn % s->tp)
		return -EINVAL;
	*why = "layers is no multiple of pp x interleave";
	if (s->model.layers % ((uint64_t)s->pp * s->interleave))
		return -EINVAL;
	*why = "interleave needs micro-batches that are a multiple of pp";
	if (s->interleave > 1 && s->micro % s->pp)
		return -EINVAL;
	*why = "dp or experts is no multiple of ep";
	if (s->dp % s->ep || (s->ep > 1 && (!s->model.experts || s->model.experts % s->ep)))
		return -EINVAL;
	*why = "zero is 0 to 3";
	if (s->zero > 3)
		return -EINVAL;
	*why = "more than 2^24 GPUs";
	if ((double)s->tp * s->pp * s->dp > 0x1p24)
		return -ERANGE;
	return 0;
}

static uint32_t at_least_1(uint32_t v)
{
	return v ? v : 1;
}

/* --- memory --- */

static double layers_here(const struct step *s)
{
	return (double)s->model.layers / s->pp;
}

/* Parameters of a GPU of the stage that has most: the ends are of the first and the last. */
static double params_here(const struct step *s)
{
	const struct step_model *m = &s->model;
	double experts = m->experts ? (double)m->experts / s->ep : 1;
	double ends = (double)m->vocab * (double)m->hidden * (s->pp == 1 && !m->tied ? 2 : 1);

	return (layers_here(s) * (shared_params(m) + expert_params(m) * experts) + ends) / s->tp;
}

static void memory_of(struct step_memory *out, const struct step *s, double tokens)
{
	const struct step_model *m = &s->model;
	double size = gemm_type_bytes(step_block_type(s)), params = params_here(s),
	       flying = fmin(s->pp, s->micro);
	double kept = step_block_kept(s, s->recompute) * tokens * size;
	struct step_memory r = { .weights = params * size / (s->zero >= 3 ? s->dp : 1) };

	if (s->interleave > 1) /* the first stage is further ahead */
		kept *= 1 + (s->pp - 1.0) / ((double)s->pp * s->interleave);
	if (s->mode == STEP_TRAIN) {
		r.gradients = params * size / (s->zero >= 2 ? s->dp : 1);
		r.optimizer = params * MASTER_BYTES / (s->zero >= 1 ? s->dp : 1);
		r.activations = layers_here(s) * kept * flying;
		if (s->recompute)
			r.activations += step_block_kept(s, false) * tokens * size;
		r.activations += tokens * (double)m->vocab / s->tp * LOGIT_BYTES;
	} else {
		double kv =
			fmax((double)m->kv_heads / s->tp, 1) * (double)m->hidden / (double)m->heads;

		r.weights = params * gemm_type_bytes(s->type);
		r.kv_cache =
			2 * layers_here(s) * kv * size * (double)s->seq * (double)s->batch / s->dp;
		r.activations =
			step_block_kept(s, false) * tokens * size; /* of one layer at a time */
	}
	r.total = r.weights + r.gradients + r.optimizer + r.activations + r.kv_cache;
	*out = r;
}

/* --- time --- */

/* What a stage does for a micro-batch, one way. */
static int stage_time(struct step_cost *c, double *ns, struct step_block *b, bool backward,
		      double times)
{
	double part[STEP_PARTS] = { 0 }, ends[STEP_PARTS] = { 0 };
	double before = b->memory_ns;
	int err = step_block_time(part, b, backward);

	b->memory_ns = before + (b->memory_ns - before) * layers_here(b->s);
	err = err ? err : step_block_ends(ends, b, backward);
	if (err)
		return err;
	*ns = 0;
	for (int i = 0; i < STEP_PARTS; i++) {
		double all = part[i] * layers_here(b->s) + ends[i];

		*ns += all;
		c->part_ns[i] += all * times;
	}
	return 0;
}

/* Gradients of a GPU, or with zero 3 its weights as well, over dp. */
static int reduce_gradients(struct step_cost *c, const struct step_block *b)
{
	const struct step *s = b->s;
	double bytes = params_here(s) * gemm_type_bytes(step_block_type(s)), ns = 0, gather = 0,
	       hidden;
	int err;

	if (s->dp == 1 || s->mode != STEP_TRAIN)
		return 0;
	err = step_block_comm(&ns, b, STEP_DP, s->zero ? COLL_REDUCE_SCATTER : COLL_ALL_REDUCE,
			      bytes);
	if (!err && s->zero)
		err = step_block_comm(&gather, b, STEP_DP, COLL_ALL_GATHER, bytes);
	if (err)
		return err;
	/* Weights that are nowhere whole are gathered for each pass of each micro-batch. */
	c->dp_ns = ns + gather * (s->zero >= 3 ? 2.0 * s->micro : 1);
	hidden = s->zero >= 3 ? s->micro * (c->forward_ns + c->backward_ns) : c->backward_ns;
	c->part_ns[STEP_DP] = fmax(c->dp_ns - hidden, ns / layers_here(s));
	return 0;
}

static int optimize(struct step_cost *c, const struct step_block *b)
{
	const struct step *s = b->s;
	struct layer_time t;
	double params = params_here(s) / (s->zero ? s->dp : 1);
	int err;

	if (s->mode != STEP_TRAIN)
		return 0;
	err = pass_time(&t, b->g, PASS_ELEMENTWISE, params * ADAM_BYTES);
	if (!err)
		c->part_ns[STEP_OPTIMIZER] = t.ns;
	return err;
}

/* Operations that are due: two a parameter and token, and the causal half of attention. */
static double due(const struct step *s, double active)
{
	const struct step_model *m = &s->model;
	double tokens = (double)s->batch * (s->mode == STEP_DECODE ? 1 : (double)s->seq);
	double seen = s->mode == STEP_DECODE ? (double)s->seq : ((double)s->seq + 1) / 2;
	double head = (double)m->vocab * (double)m->hidden, asked = (double)s->batch, flops;
	double body = active - head * (m->tied ? 1 : 2); /* the input embedding is a look-up */

	flops = tokens * (2 * body + 4 * (double)m->layers * (double)m->hidden * seen);
	flops += 2 * head * (s->mode == STEP_TRAIN ? tokens : asked); /* asked: the last token */
	return flops * (s->mode == STEP_TRAIN ? 3 : 1);
}

static const char *limiter(const struct step_cost *c, bool memory_bound)
{
	const double *p = c->part_ns;
	const struct {
		const char *name;
		double ns;
	} of[] = {
		{ "compute", p[STEP_GEMM] + p[STEP_ATTENTION] },
		{ "memory", p[STEP_PASSES] + p[STEP_OPTIMIZER] },
		{ "network", p[STEP_TP] + p[STEP_EP] + p[STEP_PP] + p[STEP_DP] },
		{ "bubble", p[STEP_BUBBLE] },
	};
	size_t most = 0;

	for (size_t i = 1; i < sizeof(of) / sizeof(*of); i++)
		if (of[i].ns > of[most].ns)
			most = i;
	/* Matrices that are read for a few tokens: their time is that of memory. */
	return most == 0 && memory_bound ? "memory" : of[most].name;
}

static void sum_up(struct step_cost *c, const struct step_block *b)
{
	const struct gpu *g = b->g;
	const struct step *s = b->s;
	double tokens = (double)s->batch * (s->mode == STEP_DECODE ? 1 : (double)s->seq);
	double memory_ns = b->memory_ns * s->micro;

	for (int i = 0; i < STEP_PARTS; i++)
		c->ns += c->part_ns[i];
	c->gpus = s->tp * s->pp * s->dp;
	c->params = step_params(&s->model, &c->active);
	c->flops = due(s, c->active);
	c->mfu = c->flops / (c->ns * 1e-9 * c->gpus * gpu_peak(g, s->type));
	c->tokens_per_s = tokens / (c->ns * 1e-9);
	c->fits = !g->memory_bytes || c->memory.total <= (double)g->memory_bytes;
	/* A stage saw each pass once; the parts have it once a micro-batch. */
	c->limiter =
		limiter(c, memory_ns > (c->part_ns[STEP_GEMM] + c->part_ns[STEP_ATTENTION]) / 2);
}

int step_cost(struct step_cost *out, const char **why, const struct gpu *g,
	      const struct step *asked)
{
	struct step s = *asked;
	struct step_block b = { .g = g, .s = &s };
	struct step_cost c = { 0 };
	int err;

	s.tp = at_least_1(s.tp), s.pp = at_least_1(s.pp), s.dp = at_least_1(s.dp);
	s.ep = at_least_1(s.ep), s.micro = at_least_1(s.micro);
	s.interleave = at_least_1(s.interleave);
	err = check_model(&s.model, why);
	err = err ? err : check_work(&s, why);
	if (err)
		return err;
	*why = "the device lacks the type or a link";
	b.sequences = s.batch / s.dp / s.micro;
	b.tokens = b.sequences * (s.mode == STEP_DECODE ? 1 : s.seq);
	memory_of(&c.memory, &s, (double)b.tokens);
	err = stage_time(&c, &c.forward_ns, &b, false, s.micro);
	if (!err && s.mode == STEP_TRAIN)
		err = stage_time(&c, &c.backward_ns, &b, true, s.micro);
	if (err)
		return err;
	c.part_ns[STEP_BUBBLE] = (s.pp - 1.0) / s.interleave * (c.forward_ns + c.backward_ns);
	err = reduce_gradients(&c, &b);
	err = err ? err : optimize(&c, &b);
	if (err)
		return err;
	sum_up(&c, &b);
	*out = c;
	return 0;
}
