/* SPDX-License-Identifier: Apache-2.0 */
/* fault_effects.c - how much longer each part of a step takes on each rank: noise and faults. */
#include <math.h>
#include <stddef.h>

#include "model/step_rec.h"
#include "sim/noise.h"
#include "sim/engine.h"

#define MS 1e6

/* Of the forward pass's excess in the last stage, what the backward pass has: 2.07 and 1.41 were
 * measured together ("Understanding Stragglers", OSDI 2025). */
#define BACKWARD_EXCESS (0.41 / 1.07)
#define ROUTING_LASTS   0.8 /* of the spread of experts' tokens, what lasts */
#define ROUTING_STEPS   64  /* so many steps */
#define NET_BY_PCIE     0.5 /* effect of a narrower host link on communication between nodes */

/* What a fault does to each part of a step: it takes `by` times as long (or `of` of that excess),
 * or ms longer, or is there. */
static const struct effect {
	enum fault_part part;
	enum { SLOWER, LONGER, IS_THERE } how;
	size_t at; /* of struct play_hit: a double, an int64_t, a bool */
	double of; /* 0: all */
} effects[] = {
/* clang-format off */
#define AT(field) offsetof(struct play_hit, field)
	{ PART_COMPUTE,    SLOWER,   AT(compute),   0 },
	{ PART_MEMORY,     SLOWER,   AT(memory),    0 },
	{ PART_KERNEL,     SLOWER,   AT(compute),   0 },
	{ PART_KERNEL,     SLOWER,   AT(memory),    0 },
	{ PART_LINK,       SLOWER,   AT(link),      0 },
	{ PART_NET,        SLOWER,   AT(net),       0 },
	{ PART_PCIE,       SLOWER,   AT(copy),      0 },
	{ PART_PCIE,       SLOWER,   AT(net),       NET_BY_PCIE },
	{ PART_CPU,        SLOWER,   AT(load),      0 },
	{ PART_CPU,        SLOWER,   AT(host),      0 },
	{ PART_HOST,       SLOWER,   AT(host),      0 },
	{ PART_LOAD,       SLOWER,   AT(load),      0 },
	{ PART_STAGE,      SLOWER,   AT(forward),   0 },
	{ PART_STAGE,      SLOWER,   AT(backward),  BACKWARD_EXCESS },
	{ PART_EXPERT,     SLOWER,   AT(expert),    0 },
	{ PART_LOAD_ADD,   LONGER,   AT(load_ns),   0 },
	{ PART_NET_ADD,    LONGER,   AT(net_ns),    0 },
	{ PART_GC,         LONGER,   AT(pause_ns[PAUSE_GC]),         0 },
	{ PART_ALLOC,      LONGER,   AT(pause_ns[PAUSE_ALLOC]),      0 },
	{ PART_CHECKPOINT, LONGER,   AT(pause_ns[PAUSE_CHECKPOINT]), 0 },
	{ PART_SYNC,       IS_THERE, AT(sync),      0 },
	{ PART_SERIAL,     IS_THERE, AT(serial),    0 },
	{ PART_CRASH,      IS_THERE, AT(crash),     0 },
	{ PART_TRANSPORT,  IS_THERE, AT(transport), 0 },
	{ PART_DESYNC,     IS_THERE, AT(desync),    0 },
	{ PART_HOST_HANG,  IS_THERE, AT(host_hang), 0 },
#undef AT
	/* clang-format on */
};

static void hit_by(struct play_hit *h, const struct fault *f, double share)
{
	for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++) {
		const struct effect *e = &effects[i];
		double by = e->of > 0 ? 1 + (f->by - 1) * e->of : f->by;
		void *at = (char *)h + e->at;

		if (e->part != fault_table[f->kind].part)
			continue;
		if (e->how == SLOWER)
			*(double *)at *= 1 + (by - 1) * share;
		else if (e->how == LONGER)
			*(int64_t *)at += (int64_t)(by * share * MS);
		else
			*(bool *)at = true;
	}
}

/* Tokens that the router sends to the rank's experts: part of the imbalance lasts, the mean stays. */
static double routed(const struct play *p, uint32_t rank)
{
	const struct job *j = p->job;
	uint64_t who = rank / j->tp;
	double s = j->routing;

	if (s <= 0 || !j->experts || j->ep < 2)
		return 1;
	return exp(
		s * (ROUTING_LASTS * noise_normal(noise_bits(j->seed, NOISE_OF_EXPERT, who,
							     p->step / ROUTING_STEPS, 0)) +
		     sqrt(1 - ROUTING_LASTS * ROUTING_LASTS) *
			     noise_normal(noise_bits(j->seed, NOISE_OF_EXPERT, who, p->step, 1))) -
		s * s / 2);
}

static void hit_rank(struct play *p, uint32_t rank)
{
	struct play_hit *h = &p->hit[rank];

	*h = (struct play_hit){ 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, { 0 }, 0, 0, 0, 0, 0, 0 };
	h->expert = routed(p, rank);
	if (p->job->ckpt_every && (p->step + 1) % p->job->ckpt_every == 0)
		h->pause_ns[PAUSE_CHECKPOINT] = (int64_t)(p->job->ckpt_ms * MS);
	for (uint32_t i = 0; i < p->job->faults; i++) {
		const struct fault *f = &p->job->fault[i];
		double share = p->without >> i & 1 ? 0 : fault_share(f, p->job, rank, p->step);

		if (share > 0)
			hit_by(h, f, share);
	}
}

/* Noise of a rank and a step does not depend on faults: a run without them is a twin. */
void play_hits(struct play *p)
{
	const struct job *j = p->job;
	double shock = noise_normal(noise_bits(j->seed, NOISE_OF_ALL, p->step, 0, 0));

	p->common = NOISE_RHO * p->common +
		    NOISE_COMMON * sqrt(1 - NOISE_RHO * NOISE_RHO) * (p->step ? shock : 0);
	for (uint32_t r = 0; r < p->ranks; r++) {
		double own =
			NOISE_OWN * noise_t4(noise_bits(j->seed, NOISE_OF_STEP, r, p->step, 0));

		p->now[r] = p->always[r] * (1 + j->noise * (own + p->common));
		hit_rank(p, r);
	}
}

double play_kernel_parts(const struct play *p, uint32_t rank, uint32_t op, double *class_ns)
{
	const struct program *g = play_program(p, rank);
	const struct op *o = &g->op[op];
	const struct play_hit *h = &p->hit[rank];
	const struct play_batch *w = play_batch(p, rank, o->micro);
	double by = p->now[rank], sum = 0, count = 0, chance;

	if (o->pass == PASS_FORWARD)
		by *= h->forward;
	else if (o->pass == PASS_BACKWARD)
		by *= h->backward;
	for (uint32_t i = o->piece; i < o->piece + o->pieces; i++) {
		const struct op_piece *q = &g->piece[i];
		double ns = by * sim_cost_slower(&q->cost[w->prefill], h->compute, h->memory);

		if (q->class == STEP_CLASS_EXPERT)
			ns *= h->expert;
		if (o->pass != PASS_REST)
			ns *= q->class == STEP_CLASS_ATTENTION ? w->attention : w->tokens;
		if (class_ns)
			class_ns[q->class] = ns;
		sum += ns;
		count += q->count;
	}
	if (p->job->noise <= 0)
		return sum;
	chance = noise_quick(noise_bits(p->job->seed, NOISE_OF_OP, rank, p->step, op));
	return sum * (1 + p->job->noise * NOISE_KERNEL / sqrt(count) * chance);
}

int64_t play_kernel_ns(const struct play *p, uint32_t rank, uint32_t op)
{
	double ns = play_kernel_parts(p, rank, op, NULL);

	return ns > 0 ? (int64_t)ns : 0;
}
