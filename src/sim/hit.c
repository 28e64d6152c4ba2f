/* SPDX-License-Identifier: Apache-2.0 */
/* hit.c - what noise and faults make of a step: how much longer what of whom takes. */
#include <math.h>

#include "sim/noise.h"
#include "sim/play.h"

#define MS 1e6

/* Of the forward pass's excess in the last stage, what the backward pass has: 2.07 and 1.41 were
 * measured together ("Understanding Stragglers", OSDI 2025). */
#define BACKWARD_EXCESS (0.41 / 1.07)
#define NET_BY_PCIE     0.5 /* of a narrower host link, what exchanges between nodes feel */

static void slow(double *part, double by, double share)
{
	*part *= 1 + (by - 1) * share;
}

static void hit_by(struct play_hit *h, const struct fault *f, double share)
{
	switch (fault_table[f->kind].part) {
	case PART_COMPUTE:
		slow(&h->compute, f->by, share);
		break;
	case PART_MEMORY:
		slow(&h->memory, f->by, share);
		break;
	case PART_KERNEL:
		slow(&h->compute, f->by, share);
		slow(&h->memory, f->by, share);
		break;
	case PART_LINK:
		slow(&h->link, f->by, share);
		break;
	case PART_NET:
		slow(&h->net, f->by, share);
		break;
	case PART_PCIE:
		slow(&h->copy, f->by, share);
		slow(&h->net, 1 + (f->by - 1) * NET_BY_PCIE, share);
		break;
	case PART_CPU:
		slow(&h->load, f->by, share);
		/* fall through */
	case PART_HOST:
		slow(&h->host, f->by, share);
		break;
	case PART_LOAD:
		slow(&h->load, f->by, share);
		break;
	case PART_STAGE:
		slow(&h->forward, f->by, share);
		slow(&h->backward, 1 + (f->by - 1) * BACKWARD_EXCESS, share);
		break;
	case PART_EXPERT:
		slow(&h->expert, f->by, share);
		break;
	case PART_LOAD_ADD:
		h->load_ns += (int64_t)(f->by * share * MS);
		break;
	case PART_NET_ADD:
		h->net_ns += (int64_t)(f->by * share * MS);
		break;
	case PART_GC:
		h->pause_ns[PAUSE_GC] += (int64_t)(f->by * share * MS);
		break;
	case PART_ALLOC:
		h->pause_ns[PAUSE_ALLOC] += (int64_t)(f->by * share * MS);
		break;
	case PART_CHECKPOINT:
		h->pause_ns[PAUSE_CHECKPOINT] += (int64_t)(f->by * share * MS);
		break;
	default: /* those that are there or not */
		h->sync |= fault_table[f->kind].part == PART_SYNC;
		h->serial |= fault_table[f->kind].part == PART_SERIAL;
		h->crash |= fault_table[f->kind].part == PART_CRASH;
		h->transport |= fault_table[f->kind].part == PART_TRANSPORT;
		h->desync |= fault_table[f->kind].part == PART_DESYNC;
		h->host_hang |= fault_table[f->kind].part == PART_HOST_HANG;
	}
}

static void hit_rank(struct play *p, uint32_t rank)
{
	struct play_hit *h = &p->hit[rank];

	*h = (struct play_hit){ 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, { 0 }, 0, 0, 0, 0, 0, 0 };
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

/* Work of a micro-batch, alike on all ranks that see it. The mean stays what it was. */
static double length(const struct play *p, uint32_t rank, uint32_t micro)
{
	const struct job *j = p->job;
	double sum = 0;

	for (uint32_t i = 0; i < j->faults; i++) {
		const struct fault *f = &j->fault[i];
		double s;

		if (fault_table[f->kind].part != PART_LENGTH || p->without >> i & 1)
			continue;
		s = log(f->by) * fault_share(f, j, rank, p->step);
		sum += s * noise_normal(noise_bits(j->seed, NOISE_OF_LENGTH, job_replica(j, rank),
						   p->step, micro)) -
		       s * s / 2;
	}
	return exp(sum);
}

int64_t play_kernel_ns(const struct play *p, uint32_t rank, uint32_t op)
{
	const struct op *o = &play_program(p, rank)->op[op];
	const struct play_hit *h = &p->hit[rank];
	double ns = sim_cost_slower(&o->cost, h->compute, h->memory) * p->now[rank];

	if (p->job->noise > 0)
		ns *= 1 +
		      p->job->noise * NOISE_KERNEL *
			      noise_quick(noise_bits(p->job->seed, NOISE_OF_OP, rank, p->step, op));
	if (o->pass == PASS_FORWARD)
		ns *= h->forward;
	else if (o->pass == PASS_BACKWARD)
		ns *= h->backward;
	if (o->expert)
		ns *= h->expert;
	if (o->pass != PASS_REST)
		ns *= length(p, rank, o->micro);
	return ns > 0 ? (int64_t)ns : 0;
}
