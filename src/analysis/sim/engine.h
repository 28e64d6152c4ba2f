/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - a job, step by step: when every operation of every rank starts and ends.
 *
 * All ranks' operations of a step are one net (graph.h), built once. A step runs that net with its
 * own lags, and begins when each host has finished the step before. Noise and faults are lags, as
 * are the changes of a what-if. The same job and seed give the same times; a fault changes only
 * what depends on it.
 */
#pragma once

#include "sim/graph.h"
#include "sim/job.h"
#include "sim/program.h"

/* The effects of faults on a rank in a step. */
struct play_hit {
	double compute, memory, host, load, expert, forward, backward, link, net, copy;
	int64_t load_ns, net_ns, pause_ns[3]; /* by enum op_pause */
	bool sync, serial, crash, transport, desync, host_hang;
};

/* The contents of a micro-batch, the same for all ranks that get it. */
struct play_batch {
	double tokens;    /* of what it would have: all work but attention's */
	double attention; /* the same, of attention's */
	double len2;      /* sum of the squares of its sequences' lengths */
	uint32_t sequences;
	bool prefill;
};

/* A communication operation between nodes that share links (contend.c). */
struct play_meet {
	size_t edge; /* the first of its edges */
	uint32_t rank, op, size;
	int64_t ns, more; /* that it takes alone, and with others */
	int64_t at;       /* all had come */
};

struct play {
	const struct job *job;    /* borrowed */
	uint32_t without;         /* bits of the faults that are disabled */
	struct program **program; /* by stage */
	struct sim_graph *net;
	uint32_t *first;          /* by rank: its first task, that of its loader */
	int64_t *time;            /* of points, in the last step */
	struct play_hit *hit;     /* by rank */
	struct play_batch *batch; /* by replica and micro-batch */
	double *always, *now;     /* by rank: how much longer its work takes; in this step */
	struct play_meet *meet;
	uint32_t meets, met; /* met: laid in this step */
	size_t meet_cap;
	uint32_t step, ranks;
	double common;            /* of all ranks: AR(1) */
	int64_t begin_ns, end_ns; /* of the last step: first host's begin, last host's end */
	bool hung;
	bool laid;
	size_t edge; /* next to be laid, or laid anew */
};

/* `without`: bits of the faults in job->fault that are disabled. -EFBIG: too large. */
int play_new(struct play **out, const struct job *j, uint32_t without);
void play_free(struct play *p); /* NULL is allowed */
/* The next step. -ENODATA: there is none, or the one before never ended. */
int play_step(struct play *p);

/* After a run: lengthens operations that share a link, and delays all that waits for them. */
int play_contend(struct play *p);

/* How much longer a rank's work always takes; from 1 + SLOW_FOR_GOOD on, a report is correct. */
#define SLOW_FOR_GOOD 0.01
double play_always(const struct job *j, uint32_t rank);
/* The effects of noise and faults on the next step (fault_effects.c). */
void play_hits(struct play *p);
int64_t play_kernel_ns(const struct play *p, uint32_t rank, uint32_t op);
/* The same by class, into class_ns[STEP_CLASSES] (NULL: not wanted). */
double play_kernel_parts(const struct play *p, uint32_t rank, uint32_t op, double *class_ns);
static inline const struct play_batch *play_batch(const struct play *p, uint32_t rank,
						  uint32_t micro)
{
	return &p->batch[job_replica(p->job, rank) * p->job->micro_batches + micro];
}
static inline double play_tokens(const struct job *j, const struct play_batch *b)
{
	double each = !j->infer    ? (double)j->seq * j->micro_batch
		      : b->prefill ? j->seq
				   : j->micro_batch;

	return each * b->tokens;
}
void play_lengths(struct play *p); /* draws them (length.c) */

static inline const struct program *play_program(const struct play *p, uint32_t rank)
{
	return p->program[job_stage(p->job, rank)];
}
/* Tasks of an op: its call, and its work. */
static inline uint32_t play_call(const struct play *p, uint32_t rank, uint32_t op)
{
	return p->first[rank] + 1 + play_program(p, rank)->op[op].task;
}
static inline uint32_t play_work(const struct play *p, uint32_t rank, uint32_t op)
{
	return play_call(p, rank, op) + 1;
}

/* The rank at the other end of a transfer between stages. */
static inline uint32_t play_peer(const struct play *p, uint32_t rank, const struct op *o)
{
	uint32_t at = job_stage(p->job, rank), each = p->job->dp * p->job->tp;

	return rank % each +
	       program_peer(p->job, (enum op_p2p)(o->stream - ON_FIRST_PP), at) * each;
}

/* The members of the operation that `rank` leads as `op`, and which op of theirs it is. */
struct play_meeting {
	struct job_team team;
	uint32_t op, peer_op; /* of the leader, of the others */
	bool far;             /* between nodes */
};
bool play_meeting(const struct play *p, uint32_t rank, uint32_t op, struct play_meeting *out);
static inline uint32_t play_member(const struct play_meeting *m, uint32_t i)
{
	return m->team.first + i * m->team.stride;
}

/* --- events (emit.c) --- */

/* Makes a file, process and tracks of the trace for each rank. */
struct play_out;
int play_out_new(struct play_out **out, const struct job *j, struct trace *t);
void play_out_free(struct play_out *o); /* NULL is allowed */
/* Events of the last step. */
int play_out_step(struct play_out *o, const struct play *p);
