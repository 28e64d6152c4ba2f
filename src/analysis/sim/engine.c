/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.c - a job's step as a net, and its runs.
 *
 * The lay_*() functions go over ranks and operations in one order. The first time they add tasks
 * and edges; in later steps they only set the lags of these edges.
 */
#include "sim/engine.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "sim/build.h"
#include "sim/noise.h"

#define US        1000.0
#define TASKS_MAX (1u << 24) /* of all ranks in a step: some 300 bytes each */
#define SYNC_NS   2000       /* from the end of work to the return of the waiting call */
#define LOAD_NS   20000      /* to take a batch that is there */
#define SKEW      0.005      /* of a transfer: who leaves first leaves so much before the last */

static int put_task(struct play *p, enum sim_kind kind, int64_t lag)
{
	struct sim_task task = { .event = SIM_NO_EVENT, .kind = (uint8_t)kind };
	uint32_t id;

	if (!p->laid)
		return sim_task_add(p->net, &task, 0, lag, &id);
	p->net->edge[p->edge++].lag = lag;
	return 0;
}

static int put_edge(struct play *p, uint32_t from, uint32_t to, int64_t lag, enum sim_kind kind)
{
	if (!p->laid)
		return sim_edge_put(p->net, from, to, lag, kind);
	p->net->edge[p->edge++].lag = lag;
	return 0;
}

/* --- one rank --- */

/* From the end of what the op waits for to the start of its work. */
static int lay_waits(struct play *p, uint32_t rank, uint32_t op)
{
	const struct op *o = &play_program(p, rank)->op[op];
	uint32_t start = sim_start(play_work(p, rank, op));
	int err = 0;

	if (o->before != OP_NONE)
		err = put_edge(p, sim_end(play_work(p, rank, o->before)), start,
			       p->job->forward ? 0 : SIM_ORDER_NS, SIM_ORDER);
	for (size_t i = 0; i < OP_WAITS && !err; i++)
		if (o->wait[i] != OP_NONE)
			err = put_edge(p, sim_end(play_work(p, rank, o->wait[i])), start, 0,
				       SIM_DEPEND);
	if (!err && o->serial != OP_NONE)
		err = put_edge(p, sim_end(play_work(p, rank, o->serial)), start,
			       p->hit[rank].serial ? 0 : SIM_CUT, SIM_DEPEND);
	return err;
}

static int64_t work_ns(const struct play *p, uint32_t rank, uint32_t op)
{
	const struct op *o = &play_program(p, rank)->op[op];
	const struct play_hit *h = &p->hit[rank];

	if (o->kind == OP_COLL)
		return 0; /* who has come waits for the others */
	if (o->kind == OP_COPY)
		return (int64_t)(o->ns[0] * h->copy);
	if (h->crash && o->pass == (p->job->infer ? PASS_FORWARD : PASS_BACKWARD))
		return SIM_NEVER;
	return play_kernel_ns(p, rank, op);
}

static int lay_work(struct play *p, uint32_t rank, uint32_t op)
{
	const struct op *o = &play_program(p, rank)->op[op];
	int64_t reach = (int64_t)p->job->gpu->launch_ns;
	int err = put_task(p,
			   o->kind == OP_COLL   ? SIM_COMM
			   : o->kind == OP_COPY ? SIM_COPY
						: SIM_COMPUTE,
			   work_ns(p, rank, op));

	if (p->job->forward)
		reach = 0;
	if (!err)
		err = put_edge(p, sim_end(play_call(p, rank, op)),
			       sim_start(play_work(p, rank, op)), reach, SIM_LAUNCH);
	return err ? err : lay_waits(p, rank, op);
}

/* What a call of the host takes by itself. */
static int64_t call_ns(const struct play *p, uint32_t rank, const struct op *o)
{
	const struct play_hit *h = &p->hit[rank];
	double host = h->host * (p->job->forward ? 0 : 1);

	switch (o->kind) {
	case OP_LOAD:
		return h->host_hang ? SIM_NEVER : (int64_t)(LOAD_NS * host);
	case OP_PAUSE:
		return h->pause_ns[o->what];
	case OP_STRAY:
		return 0;
	case OP_SYNC:
		return (int64_t)(SYNC_NS * host);
	default:
		return (int64_t)(p->job->call_us * US * h->host * o->calls);
	}
}

/* The host's part of an op, behind that of the one before. */
static int lay_call(struct play *p, uint32_t rank, uint32_t op)
{
	const struct program *g = play_program(p, rank);
	const struct op *o = &g->op[op];
	const struct play_hit *h = &p->hit[rank];
	uint32_t end = sim_end(play_call(p, rank, op));
	int64_t gap = o->kind >= OP_WORK ? (int64_t)(p->job->gap_us * US * h->host * o->calls) : 0;
	int err = put_task(p, SIM_CALL, call_ns(p, rank, o));

	if (!err && op)
		err = put_edge(p, sim_end(play_call(p, rank, op - 1)),
			       sim_start(play_call(p, rank, op)), gap, SIM_HOST);
	if (!err && o->kind == OP_LOAD)
		err = put_edge(p, sim_end(p->first[rank]), end, 0, SIM_RELEASE);
	if (!err && o->kind == OP_STRAY)
		err = put_edge(p, sim_end(play_work(p, rank, o->wait[0])), end,
			       h->sync ? SYNC_NS : SIM_CUT, SIM_SYNC);
	if (!err && o->kind == OP_PAUSE && o->wait[0] != OP_NONE)
		err = put_edge(p, sim_end(play_work(p, rank, o->wait[0])), end,
			       h->pause_ns[o->what] ? h->pause_ns[o->what] : SIM_CUT, SIM_SYNC);
	for (size_t s = 0; s < ON_STREAMS && !err && o->kind == OP_SYNC; s++)
		if (g->last[s] != OP_NONE)
			err = put_edge(p, sim_end(play_work(p, rank, g->last[s])), end,
				       p->job->forward ? 0 : SYNC_NS, SIM_SYNC);
	return err;
}

static int64_t loader_ns(const struct play *p, uint32_t rank)
{
	return (int64_t)(p->job->loader_ms * US * US * p->hit[rank].load) + p->hit[rank].load_ns;
}

static int lay_rank(struct play *p, uint32_t rank)
{
	const struct program *g = play_program(p, rank);
	int err = put_task(p, SIM_HOST, loader_ns(p, rank));

	for (uint32_t op = 0; op < g->ops && !err; op++) {
		err = lay_call(p, rank, op);
		if (!err && g->op[op].kind >= OP_WORK)
			err = lay_work(p, rank, op);
	}
	return err;
}

/* --- meetings --- */

bool play_meeting(const struct play *p, uint32_t rank, uint32_t op, struct play_meeting *out)
{
	const struct job *j = p->job;
	const struct op *o = &play_program(p, rank)->op[op];
	uint32_t stage = j->dp * j->tp;

	*out = (struct play_meeting){ .op = op, .peer_op = op };
	if (o->kind != OP_COLL)
		return false;
	out->team = job_team(j, (enum job_group)o->what, rank);
	if (o->what == GROUP_PP) {
		enum op_p2p which = (enum op_p2p)(o->stream - ON_FIRST_PP);
		uint32_t at = job_stage(j, rank), peer = program_peer(j, which, at);
		bool act = which == P2P_SEND_ACT;
		uint32_t chunk = o->chunk;

		if (!o->leads)
			return false;
		if (act && peer < at)
			chunk++;
		else if (!act && peer > at)
			chunk--;
		out->team.stride = (peer - at) * stage; /* unsigned: it wraps back */
		out->peer_op = program_p2p(play_program(p, rank + out->team.stride), j,
					   act ? P2P_RECV_ACT : P2P_RECV_GRAD, o->micro, chunk);
		out->team.per_node =
			job_node(j, rank) == job_node(j, rank + out->team.stride) ? 2 : 1;
	} else if (out->team.first != rank) {
		return false;
	}
	out->far = out->team.per_node < out->team.size;
	return true;
}

/* Whether it is the step's first operation of these ranks. */
static bool is_first(const struct play *p, uint32_t rank, uint32_t op)
{
	const struct program *g = play_program(p, rank);
	struct play_meeting m;

	for (uint32_t i = 0; i < op; i++)
		if (g->op[i].kind == OP_COLL && g->op[i].what == g->op[op].what &&
		    play_meeting(p, rank, i, &m))
			return false;
	return true;
}

/* How long the data takes once all have come. */
static int64_t transfer_ns(const struct play *p, uint32_t rank, const struct play_meeting *m)
{
	const struct op *o = &play_program(p, rank)->op[m->op];
	double slow = 1, busiest = 1,
	       chance = noise_quick(noise_bits(p->job->seed, NOISE_OF_OP, rank, p->step, m->op));
	int64_t add = 0;
	bool never = false;

	for (uint32_t i = 0; i < m->team.size; i++) {
		const struct play_hit *h = &p->hit[play_member(m, i)];
		double by = m->far ? h->net : h->link;

		slow = by > slow ? by : slow;
		if (o->what == GROUP_EP && h->expert > busiest)
			busiest = h->expert;
		add = m->far && h->net_ns > add ? h->net_ns : add;
		never |= h->transport;
	}
	if ((add || never) && !is_first(p, rank, m->op))
		add = 0, never = false;
	if (never)
		return SIM_NEVER;
	return add + (int64_t)(o->ns[play_batch(p, rank, o->micro)->prefill] * slow * busiest *
			       (1 + p->job->noise * NOISE_KERNEL * chance));
}

static int put_meet(struct play *p, uint32_t rank, const struct play_meeting *m, int64_t ns)
{
	if (vec_room(&p->meet, &p->meet_cap, p->met + 1, sizeof(*p->meet)) < 0)
		return -ENOMEM;
	p->meet[p->met++] = (struct play_meet){ .edge = p->laid ? p->edge : p->net->edges,
						.rank = rank,
						.op = m->op,
						.size = m->team.size,
						.ns = ns };
	p->meets = p->met;
	return 0;
}

static int lay_meeting(struct play *p, uint32_t rank, const struct play_meeting *m)
{
	uint32_t id = p->laid ? p->net->edge[p->edge].from / 2 : (uint32_t)p->net->tasks;
	int64_t ns = transfer_ns(p, rank, m);
	uint8_t what = play_program(p, rank)->op[m->op].what;
	int err = p->job->contend && m->far ? put_meet(p, rank, m, ns) : 0;

	err = err ? err : put_task(p, SIM_HOST, 0);
	for (uint32_t i = 0; i < m->team.size && !err; i++) {
		uint32_t who = play_member(m, i), op = i ? m->peer_op : m->op;
		uint32_t work = play_work(p, who, op);
		bool skips = p->hit[who].desync && what != GROUP_PP && is_first(p, rank, m->op);
		double skew = noise_uniform(
			noise_bits(p->job->seed, NOISE_OF_OP, who, p->step, ~(uint64_t)op));

		err = put_edge(p, sim_start(work), sim_start(id), skips ? SIM_NEVER : 0,
			       SIM_DEPEND);
		if (!err)
			err = put_edge(p, sim_end(id), sim_end(work),
				       skips ? SIM_CUT
					     : ns + (int64_t)(SKEW * p->job->noise * skew *
							      (ns < SIM_NEVER ? (double)ns : 0)),
				       SIM_COMM);
	}
	return err;
}

static int lay(struct play *p)
{
	struct play_meeting m;
	int err = 0;

	p->edge = 0;
	p->met = 0;
	for (uint32_t r = 0; r < p->ranks && !err; r++)
		err = lay_rank(p, r);
	for (uint32_t r = 0; r < p->ranks && !err; r++)
		for (uint32_t op = 0; op < play_program(p, r)->ops && !err; op++)
			if (play_meeting(p, r, op, &m))
				err = lay_meeting(p, r, &m);
	if (err || p->laid)
		return err;
	p->laid = true;
	return sim_net_close(p->net);
}

/* --- steps --- */

/* A host begins where it ended; its loader prepares the next batch when the last was taken. */
static void carry(struct play *p)
{
	for (uint32_t r = 0; r < p->ranks; r++) {
		uint32_t loader = p->first[r], load = play_call(p, r, 0),
			 last = play_call(p, r, play_program(p, r)->ops - 1);
		int64_t taken = p->time[sim_end(load)], ready = p->time[sim_end(loader)];

		p->net->time[sim_start(load)] = p->time[sim_end(last)];
		p->net->time[sim_start(loader)] = taken > ready ? taken : ready;
	}
}

/* The first batch was prepared before the job began. */
static void begin(struct play *p)
{
	for (uint32_t r = 0; r < p->ranks; r++) {
		p->net->time[sim_start(p->first[r])] = -loader_ns(p, r);
		p->net->time[sim_start(play_call(p, r, 0))] = 0;
	}
}

static void measure(struct play *p)
{
	p->begin_ns = INT64_MAX;
	p->end_ns = INT64_MIN;
	for (uint32_t r = 0; r < p->ranks; r++) {
		int64_t from = p->time[sim_start(play_call(p, r, 0))],
			to = p->time[sim_end(play_call(p, r, play_program(p, r)->ops - 1))];

		p->begin_ns = from < p->begin_ns ? from : p->begin_ns;
		p->end_ns = to > p->end_ns ? to : p->end_ns;
	}
	p->hung = p->end_ns >= SIM_NEVER;
}

int play_step(struct play *p)
{
	bool first = !p->time;
	int err;

	if (p->hung || (!first && p->step + 1 >= p->job->steps))
		return -ENODATA;
	p->step += !first;
	play_hits(p);
	play_lengths(p);
	err = lay(p);
	if (err < 0)
		return err;
	if (first) {
		p->time = malloc(2 * p->net->tasks * sizeof(*p->time));
		if (!p->time)
			return -ENOMEM;
		begin(p);
	} else {
		carry(p);
	}
	sim_run(p->net, NULL, p->time);
	if (p->job->contend)
		err = play_contend(p);
	measure(p);
	return err;
}

double play_always(const struct job *j, uint32_t rank)
{
	uint64_t bits = noise_bits(j->seed, NOISE_OF_RANK, rank, 0, 0),
		 odd = noise_bits(j->seed, NOISE_OF_RANK, rank, 1, 0);
	double slow = odd % NOISE_ODD ? 0 : 0.02 + 0.06 * noise_uniform(odd);

	return 1 + j->noise * (NOISE_STATIC * noise_normal(bits) + slow);
}

static int make(struct play *p)
{
	const struct job *j = p->job;
	uint64_t task = 0;
	int err = 0;

	p->ranks = job_ranks(j);
	p->net = calloc(1, sizeof(*p->net));
	p->program = calloc(j->pp, sizeof(*p->program));
	p->first = calloc(p->ranks, sizeof(*p->first));
	p->hit = calloc(p->ranks, sizeof(*p->hit));
	p->batch = calloc((size_t)j->dp * j->micro_batches, sizeof(*p->batch));
	p->always = calloc(2 * (size_t)p->ranks, sizeof(*p->always));
	if (!p->net || !p->program || !p->first || !p->hit || !p->batch || !p->always)
		return -ENOMEM;
	p->now = p->always + p->ranks;
	for (uint32_t s = 0; s < j->pp && !err; s++)
		err = program_new(&p->program[s], j, s);
	for (uint32_t r = 0; r < p->ranks && !err; r++) {
		p->always[r] = play_always(j, r);
		p->first[r] = (uint32_t)task;
		task += 1 + play_program(p, r)->tasks;
		if (task > TASKS_MAX)
			err = -EFBIG;
	}
	return err;
}

int play_new(struct play **out, const struct job *j, uint32_t without)
{
	struct play *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->job = j;
	p->without = without;
	err = make(p);
	if (err < 0) {
		play_free(p);
		return err;
	}
	*out = p;
	return 0;
}

void play_free(struct play *p)
{
	if (!p)
		return;
	for (uint32_t s = 0; p->program && s < p->job->pp; s++)
		program_free(p->program[s]);
	sim_graph_free(p->net);
	free(p->program);
	free(p->first);
	free(p->hit);
	free(p->batch);
	free(p->meet);
	free(p->always);
	free(p->time);
	free(p);
}
