/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - the operations of the ranks of one stage in a step, in the order in which the host
 * issues them: each with its stream, its dependencies and its cost.
 *
 *	host    load  copy F0 ... Fn B0 ... Bn  optimizer  sync
 *	streams       copy | kernels | communication of dp, tp and ep | to and from stages
 */
#pragma once

#include "sim/cost.h"
#include "sim/job.h"

enum op_kind {
	OP_LOAD,  /* the host waits for its batch */
	OP_PAUSE, /* of the host: no time unless a fault says so */
	OP_STRAY, /* the host waits for the GPU, if a fault says so */
	OP_SYNC,  /* the host waits for all of its GPU */
	OP_WORK,  /* from here on there is work of a stream, too */
	OP_KERNEL = OP_WORK,
	OP_COPY,
	OP_COLL,
};

enum op_stream {
	ON_COMPUTE,
	ON_COPY,
	ON_DP,
	ON_GATHER,
	ON_TP,
	ON_EP,
	ON_FIRST_PP,
	ON_STREAMS = ON_FIRST_PP + 4
};
enum op_pass { PASS_FORWARD, PASS_BACKWARD, PASS_REST };
enum op_pause { PAUSE_GC, PAUSE_ALLOC, PAUSE_CHECKPOINT };
enum op_p2p { P2P_SEND_ACT, P2P_RECV_ACT, P2P_SEND_GRAD, P2P_RECV_GRAD, P2PS };

#define OP_NONE  UINT32_MAX
#define OP_WAITS 2u

/* Kernels of one class that an OP_KERNEL stands for: one, or many where the job is coarse. */
struct op_piece {
	struct sim_cost cost[2]; /* 1: in a batch that reads prompts */
	uint32_t count;
	uint8_t class; /* enum step_class */
};

struct op {
	const char *name;
	const char *coll_name;   /* OP_COLL: "all_reduce" */
	double ns[2];            /* OP_COLL, OP_COPY: of the transfer; 1: as of a piece */
	uint32_t calls;          /* launches that it stands for */
	uint32_t piece, pieces;  /* OP_KERNEL: those of the program */
	uint64_t bytes;          /* OP_COLL, OP_COPY */
	uint32_t wait[OP_WAITS]; /* ops of the program whose work ends first */
	uint32_t serial;         /* the OP_COLL that it waits for if streams are serialised */
	uint32_t before;         /* the last op of its stream */
	uint32_t task;           /* of its call, from the rank's first on; its work's is the next */
	uint32_t micro;
	uint32_t
		sequence; /* OP_COLL: which of its group (of stages: of its stream) in the step, from 1 */
	uint8_t kind, stream, pass;
	uint8_t what;  /* enum op_pause; OP_COLL: enum job_group */
	uint8_t coll;  /* OP_COLL: enum coll_op */
	uint8_t chunk; /* of the stage */
	bool leads;    /* OP_COLL between stages: it sends */
};

struct program {
	struct op *op;
	struct op_piece *piece;
	uint32_t ops, pieces;
	uint32_t tasks;            /* of a rank */
	uint32_t last[ON_STREAMS]; /* of each stream */
	uint32_t sequence[JOB_GROUPS +
			  P2PS]; /* of a step: OP_COLLs of a group, of a stream of stages */
	uint32_t *p2p;           /* [P2PS][micro_batches][chunks] which op it is */
	int err;
};

int program_new(struct program **out, const struct job *j, uint32_t stage);
void program_free(struct program *p); /* NULL is allowed */

static inline uint32_t program_p2p(const struct program *p, const struct job *j, enum op_p2p which,
				   uint32_t micro, uint32_t chunk)
{
	return p->p2p[(which * j->micro_batches + micro) * j->chunks + chunk];
}

/* The stage at the other end. Of an interleaved pipeline the last one's is the first. */
static inline uint32_t program_peer(const struct job *j, enum op_p2p which, uint32_t stage)
{
	bool up = which == P2P_SEND_ACT || which == P2P_RECV_GRAD;

	return (stage + (up ? 1 : j->pp - 1)) % j->pp;
}
