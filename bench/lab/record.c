/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.c - a step of a simulated job as the records that its ranks' nodes would ship.
 *
 * It uses only the times of the net, and nothing that a profiler could not see. Counters are the
 * exception: a fault that affects counters sets them.
 */
#include "lab/record.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/noise.h"
#include "theory/collective.h"

#define EPOCH_NS 1000000000ll
#define MS       1e6

struct span {
	int64_t from, to;
};

struct recorder {
	const struct play *p; /* borrowed */
	struct span *busy;    /* of the rank in hand: kernels, in order */
	struct span *comm;    /* communication, by start */
	struct span *all;     /* with copies, by start */
	int64_t *before;      /* of busy: how long kernels ran before this one */
	size_t busys, comms, alls;
	int64_t ran;   /* of busy, together */
	int64_t sight; /* of a step that never ends: when it was looked at */
	int64_t begin; /* of the rank's step */
};

int recorder_new(struct recorder **out, const struct play *p)
{
	struct recorder *r = calloc(1, sizeof(*r));
	size_t ops = 1;

	if (!r)
		return -ENOMEM;
	r->p = p;
	for (uint32_t s = 0; s < p->job->pp; s++)
		ops = p->program[s]->ops > ops ? p->program[s]->ops : ops;
	r->busy = malloc(ops * sizeof(*r->busy));
	r->comm = malloc(ops * sizeof(*r->comm));
	r->all = malloc(ops * sizeof(*r->all));
	r->before = malloc(ops * sizeof(*r->before));
	if (!r->busy || !r->comm || !r->all || !r->before) {
		recorder_free(r);
		return -ENOMEM;
	}
	*out = r;
	return 0;
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	free(r->busy);
	free(r->comm);
	free(r->all);
	free(r->before);
	free(r);
}

void recorder_step(struct recorder *r)
{
	const struct play *p = r->p;

	r->sight = INT64_MAX;
	if (!p->hung)
		return;
	r->sight = 0;
	for (size_t i = 0; i < 2 * p->net->tasks; i++)
		if (p->time[i] < SIM_NEVER && p->time[i] > r->sight)
			r->sight = p->time[i];
	r->sight += SIM_STALL_NS;
}

int64_t recorder_sight(const struct recorder *r)
{
	return r->sight;
}

static int64_t seen(const struct recorder *r, int64_t at)
{
	return at < r->sight ? at : r->sight;
}

/* --- spans --- */

/* Streams are in order each, so what comes is nearly sorted. */
static void put_span(struct span *list, size_t *n, struct span s)
{
	size_t i = (*n)++;

	for (; i && list[i - 1].from > s.from; i--)
		list[i] = list[i - 1];
	list[i] = s;
}

static int64_t length_of(const struct span *s, size_t n)
{
	int64_t sum = 0, end = INT64_MIN;

	for (size_t i = 0; i < n; i++) {
		int64_t from = s[i].from > end ? s[i].from : end;

		if (s[i].to > from) {
			sum += s[i].to - from;
			end = s[i].to;
		}
	}
	return sum;
}

/* How long kernels ran until then. */
static int64_t ran_until(const struct recorder *r, int64_t at)
{
	size_t lo = 0, hi = r->busys;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->busy[mid].from < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return 0;
	return r->before[lo - 1] +
	       ((at < r->busy[lo - 1].to ? at : r->busy[lo - 1].to) - r->busy[lo - 1].from);
}

/* --- communication --- */

static enum step_op op_of(const struct op *o)
{
	static const enum step_op is[COLL_OPS] = { [COLL_ALL_REDUCE] = STEP_OP_ALL_REDUCE,
						   [COLL_ALL_GATHER] = STEP_OP_ALL_GATHER,
						   [COLL_REDUCE_SCATTER] = STEP_OP_REDUCE_SCATTER,
						   [COLL_ALL_TO_ALL] = STEP_OP_ALL_TO_ALL,
						   [COLL_BROADCAST] = STEP_OP_BROADCAST };

	if (o->coll == COLL_P2P)
		return o->leads ? STEP_OP_SEND : STEP_OP_RECV;
	return is[o->coll];
}

static struct step_slot *slot_of(const struct recorder *r, struct step_rec *out, uint32_t rank,
				 const struct op *o)
{
	const struct job *j = r->p->job;
	struct job_team t = job_team(j, (enum job_group)o->what, rank);
	bool p2p = o->what == GROUP_PP;
	uint32_t peer = p2p ? play_peer(r->p, rank, o) : UINT32_MAX;
	uint32_t way = o->stream - ON_FIRST_PP;
	bool act = way == P2P_SEND_ACT || way == P2P_RECV_ACT;
	/* Of two stages: who sends to whom, the same at both ends. */
	uint32_t is[] = { o->what, p2p ? act : 0, !p2p ? t.first : o->leads ? rank : peer };
	struct step_slot *s = step_rec_slot(out, step_hash(is, sizeof(is), j->seed), op_of(o));

	if (s->members || s->flags & STEP_SLOT_MERGED)
		return s;
	s->members = p2p ? 2 : t.size;
	s->peer = peer;
	if (p2p ? job_node(j, rank) != job_node(j, peer) : t.per_node < t.size)
		s->flags |= STEP_SLOT_FAR;
	return s;
}

static uint32_t sequence_of(const struct play *p, const struct program *g, uint32_t rank,
			    const struct op *o)
{
	uint32_t row = o->what == GROUP_PP ? JOB_GROUPS + o->stream - ON_FIRST_PP : o->what;

	return p->step * g->sequence[row] + o->sequence -
	       (p->hit[rank].desync && o->what != GROUP_PP);
}

/* The rank that skips an operation never issues the first one of its groups. */
static bool left_out(const struct play *p, uint32_t rank, const struct op *o)
{
	return o->what != GROUP_PP && o->sequence == 1 && p->hit[rank].desync;
}

static void put_coll(struct recorder *r, struct step_rec *out, uint32_t rank, uint32_t op)
{
	const struct play *p = r->p;
	const struct program *g = play_program(p, rank);
	const struct op *o = &g->op[op];
	int64_t from = p->time[sim_start(play_work(p, rank, op))],
		to = p->time[sim_end(play_work(p, rank, op))];
	struct step_slot *s;
	uint32_t done, sequence = sequence_of(p, g, rank, o);

	if (left_out(p, rank, o))
		return;
	if (p->time[sim_end(play_call(p, rank, op))] >= SIM_NEVER) { /* where it stood before */
		s = slot_of(r, out, rank, o);
		if (!s->count && !s->what && !s->issued)
			s->issued = s->done = sequence - 1;
		return;
	}
	s = slot_of(r, out, rank, o);
	done = s->count || s->what ? s->done : sequence - 1;
	if (to >= SIM_NEVER) { /* issued, and never done */
		uint64_t is[] = { o->coll, o->bytes };

		s->done = done;
		s->issued = sequence;
		if (!s->what)
			s->what = (uint32_t)step_hash(is, sizeof(is), 0);
		if (from < SIM_NEVER)
			put_span(r->comm, &r->comms, (struct span){ from, r->sight });
		return;
	}
	step_slot_add(s, sequence, o->bytes, (double)(from - r->begin), (double)(to - from));
	s->exposed += (float)(to - from - (ran_until(r, to) - ran_until(r, from)));
	put_span(r->comm, &r->comms, (struct span){ from, to });
}

/* --- kernels and calls --- */

static void put_kernel(struct recorder *r, struct step_rec *out, uint32_t rank, uint32_t op)
{
	const struct play *p = r->p;
	const struct program *g = play_program(p, rank);
	const struct op *o = &g->op[op];
	int64_t from = p->time[sim_start(play_work(p, rank, op))],
		to = seen(r, p->time[sim_end(play_work(p, rank, op))]);
	double part[STEP_CLASSES], sum = 0;

	if (from >= SIM_NEVER)
		return;
	play_kernel_parts(p, rank, op, part);
	for (uint32_t i = o->piece; i < o->piece + o->pieces; i++)
		sum += part[g->piece[i].class];
	for (uint32_t i = o->piece; i < o->piece + o->pieces && sum > 0; i++) {
		struct step_kernels *k = &out->class[g->piece[i].class];

		k->count += g->piece[i].count;
		k->sum += (float)((double)(to - from) * part[g->piece[i].class] / sum);
	}
	if (o->pass == PASS_FORWARD)
		out->t.pass += (float)(to - from);
	out->t.issue += (float)(from - p->time[sim_end(play_call(p, rank, op))]);
	r->before[r->busys] = r->ran;
	r->ran += to - from;
	r->busy[r->busys++] = (struct span){ from, to };
}

static void put_call(struct recorder *r, struct step_rec *out, uint32_t rank, uint32_t op)
{
	const struct play *p = r->p;
	const struct op *o = &play_program(p, rank)->op[op];
	float *pause[] = { [PAUSE_GC] = &out->t.gc,
			   [PAUSE_ALLOC] = &out->t.alloc,
			   [PAUSE_CHECKPOINT] = &out->t.ckpt };
	int64_t from = p->time[sim_start(play_call(p, rank, op))],
		to = seen(r, p->time[sim_end(play_call(p, rank, op))]);
	float *to_add = &out->t.launch;

	if (from >= SIM_NEVER)
		return;
	if (o->kind == OP_LOAD)
		to_add = &out->t.input;
	else if (o->kind == OP_PAUSE)
		to_add = pause[o->what];
	else if (o->kind == OP_STRAY || o->kind == OP_SYNC)
		to_add = &out->t.sync;
	*to_add += (float)(to - from);
}

/* --- idle --- */

/* The host waits in these, and that the GPU has nothing to do is not its doing. */
static bool is_wait(const struct op *o)
{
	return o->kind == OP_LOAD || o->kind == OP_SYNC || o->kind == OP_STRAY ||
	       (o->kind == OP_PAUSE && o->what == PAUSE_CHECKPOINT);
}

static int64_t waited(const struct recorder *r, uint32_t rank, int64_t from, int64_t to)
{
	const struct play *p = r->p;
	const struct program *g = play_program(p, rank);
	int64_t sum = 0;

	for (uint32_t i = 0; i < g->ops; i++) {
		int64_t a, b;

		if (!is_wait(&g->op[i]))
			continue;
		a = p->time[sim_start(play_call(p, rank, i))];
		b = seen(r, p->time[sim_end(play_call(p, rank, i))]);
		a = a > from ? a : from;
		b = b < to ? b : to;
		sum += b > a ? b - a : 0;
	}
	return sum;
}

static void put_idle(const struct recorder *r, struct step_rec *out, uint32_t rank, int64_t end)
{
	int64_t at = r->begin, idle = 0, host = 0, stall = 0;

	for (size_t i = 0; i <= r->alls; i++) {
		int64_t next = i < r->alls ? r->all[i].from : end, gap = next - at;

		if (gap > 0) {
			idle += gap;
			host += gap - (gap > SIM_ORDER_NS ? waited(r, rank, at, next) : 0);
			stall = gap > stall ? gap : stall;
		}
		if (i < r->alls && r->all[i].to > at)
			at = r->all[i].to;
	}
	out->t.idle = (float)idle;
	out->t.host = (float)(host > 0 ? host : 0);
	out->t.stall = (float)stall;
}

/* --- the rest --- */

/* What other tools would show about a fault: clocks, errors, queues. */
static void put_counters(const struct play *p, uint32_t rank, struct step_rec *out)
{
	const struct job *j = p->job;
	double clock = j->gpu->clock_mhz ? j->gpu->clock_mhz : 1500;

	out->have = (1u << STEP_COUNTERS) - 1;
	out->mem_mhz = (uint16_t)j->gpu->memory_mhz;
	out->power_w = 600;
	out->temp_c = 60;
	out->nic_cnp = (uint32_t)(noise_bits(j->seed, NOISE_OF_FAULT, rank, p->step, 7) % 20);
	for (uint32_t i = 0; i < j->faults; i++) {
		const struct fault *f = &j->fault[i];
		double share = p->without >> i & 1 ? 0 : fault_share(f, j, rank, p->step);

		if (share <= 0)
			continue;
		switch (f->kind) {
		case FAULT_THERMAL:
			out->throttle |= 0x20; /* NVML: software, thermal */
			out->temp_c = 87;
			clock /= 1 + (f->by - 1) * share;
			break;
		case FAULT_POWER:
			out->throttle |= 0x4; /* software, power cap */
			clock /= 1 + (f->by - 1) * share;
			break;
		case FAULT_HBM:
			out->ecc += 5;
			break;
		case FAULT_NVLINK:
			out->nvlink_err += 100;
			break;
		case FAULT_CONTENTION:
			out->runq_ns += (float)(out->t.launch * (1 - 1 / f->by) * share);
			break;
		case FAULT_STORAGE:
			out->iowait_ns += (float)(f->by * MS * share);
			break;
		case FAULT_FLAP:
		case FAULT_LOSS:
			out->nic_retrans += 500;
			break;
		case FAULT_CONGESTION:
			out->nic_cnp += 20000;
			break;
		default:
			break;
		}
	}
	out->sm_mhz = out->sm_mhz_min = (uint16_t)clock;
}

static void put_batch(const struct play *p, uint32_t rank, struct step_rec *out)
{
	const struct job *j = p->job;
	double tokens = 0, len2 = 0, context = 0;

	for (uint32_t m = 0; m < j->micro_batches; m++) {
		const struct play_batch *b = play_batch(p, rank, m);

		tokens += play_tokens(j, b);
		len2 += b->len2;
		out->sequences += b->sequences;
		if (j->infer && b->prefill)
			out->flags |= STEP_F_PREFILL;
		else if (j->infer)
			context += (double)j->seq * j->micro_batch * b->attention;
	}
	out->flags |= j->infer ? STEP_F_INFER : 0;
	out->tokens = (uint32_t)tokens;
	out->sum_len2 = (float)len2;
	out->context = (float)context;
	if (j->experts)
		out->expert_tokens = (uint32_t)(tokens * j->topk * p->hit[rank].expert);
	out->micro_batches = (uint16_t)j->micro_batches;
	out->layers = (uint16_t)(j->layers / j->pp);
}

static void put_head(const struct play *p, uint32_t rank, struct step_rec *out)
{
	const struct job *j = p->job;
	uint64_t node = job_node(j, rank), bits = noise_bits(j->seed, NOISE_OF_CLOCK, node, 0, 0);
	int64_t from = p->time[sim_start(play_call(p, rank, 0))];

	step_rec_init(out);
	out->job = step_hash(&j->seed, sizeof(j->seed), 0);
	out->begin_ns =
		(uint64_t)(from + EPOCH_NS +
			   (node ? (int64_t)(j->noise * j->clock_ms * MS * noise_normal(bits))
				 : 0));
	out->clock_err_us = (uint32_t)(j->clock_ms * 1000);
	out->rank = rank;
	out->world = job_ranks(j);
	out->step = p->step;
	out->host = (uint32_t)node;
	out->leaf = (uint32_t)node / j->leaf + 1;
	out->gpu = out->nic = (uint16_t)(rank % j->ranks_per_node);
}

/* Kernels and communication by start, then copies among them. */
static void put_spans(struct recorder *r, struct step_rec *out, uint32_t rank)
{
	const struct play *p = r->p;
	const struct program *g = play_program(p, rank);
	size_t b = 0, c = 0;
	int64_t copy = 0;

	while (b < r->busys || c < r->comms)
		r->all[r->alls++] =
			c == r->comms || (b < r->busys && r->busy[b].from <= r->comm[c].from)
				? r->busy[b++]
				: r->comm[c++];
	out->t.compute = (float)r->ran;
	out->t.comm = (float)length_of(r->comm, r->comms);
	out->t.exposed = (float)(length_of(r->all, r->alls) - r->ran);
	for (uint32_t i = 0; i < g->ops; i++) {
		struct span s;

		if (g->op[i].kind != OP_COPY)
			continue;
		s.from = p->time[sim_start(play_work(p, rank, i))];
		s.to = seen(r, p->time[sim_end(play_work(p, rank, i))]);
		if (s.from >= SIM_NEVER)
			continue;
		copy += s.to - s.from;
		put_span(r->all, &r->alls, s);
	}
	out->t.copy = (float)copy;
}

void recorder_rank(struct recorder *r, uint32_t rank, struct step_rec *out)
{
	const struct play *p = r->p;
	const struct program *g = play_program(p, rank);
	int64_t end = seen(r, p->time[sim_end(play_call(p, rank, g->ops - 1))]);

	r->begin = p->time[sim_start(play_call(p, rank, 0))];
	r->busys = r->comms = r->alls = 0;
	r->ran = 0;
	put_head(p, rank, out);
	for (uint32_t i = 0; i < g->ops; i++) {
		put_call(r, out, rank, i);
		if (g->op[i].kind == OP_KERNEL)
			put_kernel(r, out, rank, i);
	}
	for (uint32_t i = 0; i < g->ops; i++) /* kernels first: they may hide it */
		if (g->op[i].kind == OP_COLL)
			put_coll(r, out, rank, i);
	put_spans(r, out, rank);
	put_idle(r, out, rank, end);
	out->t.step = (float)(end - r->begin);
	out->t.issue = r->busys ? out->t.issue / (float)r->busys : 0;
	put_batch(p, rank, out);
	put_counters(p, rank, out);
	if (p->hung)
		out->flags |= STEP_F_PARTIAL | (p->hit[rank].crash ? STEP_F_GONE : 0);
	if (out->t.ckpt > 0)
		out->flags |= STEP_F_CKPT;
	step_rec_seal(out);
}
