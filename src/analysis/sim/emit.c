/* SPDX-License-Identifier: Apache-2.0 */
/* emit.c - writes a step of a simulated job as trace events, as a profiler would record it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/layer.h"
#include "sim/noise.h"
#include "sim/engine.h"

#define EPOCH_NS 1000000000ll /* clocks of nodes differ, and no time is below 0 */
#define PID      1000u
#define MS       1e6

static const uint64_t stream_id[ON_STREAMS] = { 7, 13, 20, 22, 24, 28, 32, 36, 40, 44 };

struct play_out {
	const struct job *j;
	struct trace *t;
	uint32_t (*track)[ON_STREAMS + 1]; /* by rank: + 1, 0: not yet; the last is the host's */
	uint32_t *corr;                    /* by rank: the last one used */
	int64_t *clock;                    /* by rank: its node's clock is so much ahead */
	uint32_t **name;                   /* by stage and op: id of its name */
	uint32_t step, launch, copy, dtype, device;
};

static int name_of(struct trace *t, const char *s, uint32_t *id)
{
	return trace_name(t, s, strlen(s), id);
}

static int file_of(struct play_out *o, uint32_t rank)
{
	char path[48];
	uint32_t file, process, device, name;
	int err;

	snprintf(path, sizeof(path), "simulated rank %" PRIu32, rank);
	err = trace_file_add(o->t, path, &file);
	if (err < 0)
		return err;
	o->t->file[file].rank = (int32_t)rank;
	o->t->file[file].world = (int32_t)job_ranks(o->j);
	o->t->file[file].tick_ns = 1;
	o->t->file[file].broke_at = UINT64_MAX;
	err = trace_process(o->t, file, PID + rank, &process);
	err = err ? err : name_of(o->t, "aon sim", &name);
	if (!err)
		o->t->process[process].name = name;
	snprintf(path, sizeof(path), "node%" PRIu32, job_node(o->j, rank));
	err = err ? err : name_of(o->t, path, &o->t->process[process].node);
	err = err ? err : trace_device(o->t, process, rank % o->j->ranks_per_node, &device);
	if (!err) {
		o->t->device[device].name = o->device;
		o->t->device[device].sms = o->j->gpu->sms;
		o->t->device[device].memory_bytes = o->j->gpu->memory_bytes;
	}
	return err;
}

int play_out_new(struct play_out **out, const struct job *j, struct trace *t)
{
	struct play_out *o = calloc(1, sizeof(*o));
	uint32_t ranks = job_ranks(j);
	int err;

	if (!o)
		return -ENOMEM;
	o->j = j;
	o->t = t;
	o->track = calloc(ranks, sizeof(*o->track));
	o->corr = calloc(ranks, sizeof(*o->corr));
	o->clock = calloc(ranks, sizeof(*o->clock));
	o->name = calloc(j->pp, sizeof(*o->name));
	err = o->track && o->corr && o->clock && o->name ? 0 : -ENOMEM;
	err = err ? err : name_of(t, "step", &o->step);
	err = err ? err : name_of(t, "cudaLaunchKernel", &o->launch);
	err = err ? err : name_of(t, "cudaMemcpyAsync", &o->copy);
	err = err ? err : name_of(t, gpu_type_word[layer_type(j->gpu)], &o->dtype);
	err = err ? err : name_of(t, j->gpu->name, &o->device);
	for (uint32_t r = 0; r < ranks && !err; r++) {
		uint64_t node = job_node(j, r),
			 bits = noise_bits(j->seed, NOISE_OF_CLOCK, node, 0, 0);

		err = file_of(o, r);
		o->clock[r] =
			node ? (int64_t)(j->noise * j->clock_ms * MS * noise_normal(bits)) : 0;
		if (o->clock[r] < -EPOCH_NS / 2)
			o->clock[r] = -EPOCH_NS / 2;
	}
	if (err < 0) {
		play_out_free(o);
		return err;
	}
	*out = o;
	return 0;
}

void play_out_free(struct play_out *o)
{
	if (!o)
		return;
	for (uint32_t s = 0; o->name && s < o->j->pp; s++)
		free(o->name[s]);
	free(o->track);
	free(o->corr);
	free(o->clock);
	free(o->name);
	free(o);
}

/* --- ids --- */

static int track_of(struct play_out *o, uint32_t rank, uint32_t stream, uint32_t *id)
{
	uint32_t *known = &o->track[rank][stream];
	struct trace_track l = { .process = rank, .device = TRACK_HOST, .stream = PID + rank };
	int err = 0;

	if (stream < ON_STREAMS) {
		l.device = rank;
		l.context = 1;
		l.stream = stream_id[stream];
	}
	if (!*known) {
		err = trace_track(o->t, &l, id);
		*known = err ? 0 : *id + 1;
	}
	if (!err)
		*id = *known - 1;
	return err;
}

static int names_of(struct play_out *o, const struct play *p)
{
	int err = 0;

	for (uint32_t s = 0; s < o->j->pp && !err; s++) {
		const struct program *g = p->program[s];

		if (o->name[s])
			continue;
		o->name[s] = calloc(g->ops + 1, sizeof(**o->name));
		if (!o->name[s])
			return -ENOMEM;
		for (uint32_t i = 0; i < g->ops && !err; i++)
			err = name_of(o->t, g->op[i].name, &o->name[s][i]);
	}
	return err;
}

/* --- events --- */

struct emit {
	struct play_out *o;
	const struct play *p;
	const struct program *g;
	uint32_t rank, host; /* track */
	int64_t sight;       /* the last that was seen of the job */
};

static int put(struct emit *e, struct event ev, int64_t from, int64_t to, uint32_t comm)
{
	int64_t at = from + EPOCH_NS + e->o->clock[e->rank];

	if (from >= SIM_NEVER || to >= SIM_NEVER)
		return 0;
	ev.start_ns = (uint64_t)at;
	ev.dur_ns = (uint64_t)(to - from);
	e->o->t->file[e->rank].rows++;
	e->o->t->file[e->rank].imported++;
	return trace_add(e->o->t, &ev, comm);
}

static int comm_of(struct emit *e, const struct op *op, uint32_t *id)
{
	static const char *const word[JOB_GROUPS] = { "tp", "ep", "dp", "pp" };
	const struct job *j = e->p->job;
	struct job_team team = job_team(j, (enum job_group)op->what, e->rank);
	struct trace_comm c = { .dtype = e->o->dtype,
				.rank = (int32_t)((e->rank - team.first) / team.stride),
				.size = team.size,
				.bytes_in = op->bytes,
				.bytes_out = op->bytes,
				.sequence = (uint64_t)e->p->step * e->g->sequence[op->what] +
					    op->sequence };
	char group[64];
	int err;

	if (e->p->hit[e->rank].desync) /* it has left one out: its numbers lag behind */
		c.sequence--;
	snprintf(group, sizeof(group), "%s:%" PRIu32, word[op->what], team.first);
	if (op->what == GROUP_PP) { /* of two ranks and a direction; the first sends */
		uint32_t which = op->stream - ON_FIRST_PP;
		bool act = which == P2P_SEND_ACT || which == P2P_RECV_ACT;

		snprintf(group, sizeof(group), "pp:%" PRIu32 ":%s",
			 act == op->leads ? e->rank : play_peer(e->p, e->rank, op),
			 act ? "act" : "grad");
		c.rank = !op->leads;
		c.sequence =
			(uint64_t)e->p->step * e->g->sequence[JOB_GROUPS + which] + op->sequence;
	}
	err = name_of(e->o->t, op->coll_name, &c.name);
	err = err ? err : name_of(e->o->t, group, &c.group);
	err = err ? err : trace_comm_add(e->o->t, &c, id);
	*id += 1;
	return err;
}

/* The desynchronised rank never issues the first operation of its groups. */
static bool left_out(const struct emit *e, uint32_t i)
{
	const struct op *op = &e->g->op[i];

	return op->kind == OP_COLL && op->what != GROUP_PP && op->sequence == 1 &&
	       e->p->hit[e->rank].desync;
}

/* An operation that never ends is known to be issued, as NCCL's plugin would report it. */
static int put_issued(struct emit *e, uint32_t i, uint32_t comm)
{
	const struct op *op = &e->g->op[i];
	int64_t at = e->p->time[sim_end(play_call(e->p, e->rank, i))];
	struct event ev = { .kind = EVENT_COLLECTIVE, .track = e->host, .a = op->bytes };
	int err = name_of(e->o->t, op->coll_name, &ev.name);

	ev.b = e->o->t->comm[comm - 1].sequence;
	return err ? err : put(e, ev, at, at, comm);
}

static int put_work(struct emit *e, uint32_t i, uint32_t corr)
{
	const struct op *op = &e->g->op[i];
	uint32_t work = play_work(e->p, e->rank, i), comm = 0;
	struct event ev = { .kind = EVENT_KERNEL,
			    .name = e->o->name[job_stage(e->p->job, e->rank)][i],
			    .corr = corr };
	int64_t from = e->p->time[sim_start(work)], to = e->p->time[sim_end(work)];
	int err = track_of(e->o, e->rank, op->stream, &ev.track);

	if (!err && op->kind == OP_COLL)
		err = comm_of(e, op, &comm);
	if (!err && op->kind == OP_COLL && to >= SIM_NEVER)
		return put_issued(e, i, comm);
	if (op->kind == OP_COPY) {
		ev.kind = EVENT_COPY;
		ev.a = op->bytes;
		ev.flags = 1 << EVENT_COPY_SHIFT; /* host to device */
	}
	return err ? err : put(e, ev, from, to, comm);
}

static int put_op(struct emit *e, uint32_t i)
{
	const struct op *op = &e->g->op[i];
	uint32_t call = play_call(e->p, e->rank, i);
	int64_t from = e->p->time[sim_start(call)], to = e->p->time[sim_end(call)];
	struct event ev = { .kind = EVENT_API,
			    .track = e->host,
			    .name = e->o->name[job_stage(e->p->job, e->rank)][i] };
	int err;

	if (((op->kind == OP_PAUSE || op->kind == OP_STRAY) && to == from) || left_out(e, i))
		return 0;
	if (op->kind == OP_LOAD || (op->kind == OP_PAUSE && op->what != PAUSE_ALLOC)) {
		ev.kind = EVENT_RANGE;
		ev.a = TRACE_USER;
		return put(e, ev, from, to, 0);
	}
	ev.corr = ++e->o->corr[e->rank];
	if (op->kind >= OP_WORK)
		ev.name = op->kind == OP_COPY ? e->o->copy : e->o->launch;
	err = put(e, ev, from, to, 0);
	return err || op->kind < OP_WORK ? err : put_work(e, i, ev.corr);
}

/* A step that never ends is open until the last sight of the job. */
static int put_step(struct emit *e)
{
	struct event ev = {
		.kind = EVENT_STEP, .track = e->host, .name = e->o->step, .a = e->p->step
	};
	int64_t from = e->p->time[sim_start(play_call(e->p, e->rank, 0))],
		to = e->p->time[sim_end(play_call(e->p, e->rank, e->g->ops - 1))];

	if (to >= SIM_NEVER) {
		ev.flags = EVENT_OPEN;
		to = e->sight > from ? e->sight : from;
	}
	return put(e, ev, from, to, 0);
}

/* What a rank's batches held, where they differ: without it a longer one looks like a slower rank. */
static int put_batch(struct emit *e)
{
	const struct job *j = e->p->job;
	const char *const name[] = { "tokens", "sum_len2" };
	int64_t at = e->p->time[sim_start(play_call(e->p, e->rank, 0))];
	double sum[] = { 0, 0 };
	int err = 0;

	if (j->packed <= 0 && !j->infer)
		return 0;
	for (uint32_t m = 0; m < j->micro_batches; m++) {
		const struct play_batch *b = play_batch(e->p, e->rank, m);

		sum[0] += play_tokens(j, b);
		sum[1] += b->len2;
	}
	for (size_t i = 0; i < 2 && !err; i++) {
		struct event ev = { .kind = EVENT_COUNTER,
				    .track = e->host,
				    .a = (uint64_t)sum[i] };

		err = name_of(e->o->t, name[i], &ev.name);
		err = err ? err : put(e, ev, at, at, 0);
	}
	return err;
}

static int64_t last_sight(const struct play *p)
{
	int64_t last = 0;

	for (size_t i = 0; p->hung && i < 2 * p->net->tasks; i++)
		if (p->time[i] < SIM_NEVER && p->time[i] > last)
			last = p->time[i];
	return last;
}

int play_out_step(struct play_out *o, const struct play *p)
{
	struct emit e = { .o = o, .p = p, .sight = last_sight(p) };
	int err = names_of(o, p);

	for (e.rank = 0; e.rank < p->ranks && !err; e.rank++) {
		e.g = play_program(p, e.rank);
		err = track_of(o, e.rank, ON_STREAMS, &e.host);
		err = err ? err : put_step(&e);
		err = err ? err : put_batch(&e);
		for (uint32_t i = 0; i < e.g->ops && !err; i++)
			err = put_op(&e, i);
	}
	return err;
}
