/* SPDX-License-Identifier: Apache-2.0 */
/* layer.h - the parts of a decoder and their cost on a device. */
#pragma once

#include "model/step_rec.h"
#include "sim/cost.h"
#include "sim/job.h"
#include "theory/collective.h"

enum layer_part {
#define PART(ID, ...) LAYER_##ID,
#include "sim/layer.tbl.h"
	LAYER_PARTS
};

enum layer_where { WHERE_FIRST, WHERE_LAYER, WHERE_LAST };
enum layer_kind {
	KIND_GEMM,
	KIND_EXPERT,
	KIND_ATTN,
	KIND_GATHER,
	KIND_NORM,
	KIND_GATE,
	KIND_ROPE,
	KIND_ADD,
};
enum layer_meet { MEET_NONE, MEET_TP, MEET_EP, MEET_EP_TP };

struct layer_row {
	const char *forward, *backward;
	uint8_t where, kind, before, after;
};
extern const struct layer_row layer_table[LAYER_PARTS];

struct layer_costs {
	struct sim_cost forward[LAYER_PARTS];
	struct sim_cost backward[LAYER_PARTS]; /* of a GEMM: the gradient of its input */
	struct sim_cost weight[LAYER_PARTS];   /* of a GEMM: that of its weights; else not there */
	uint64_t gradient[LAYER_PARTS];        /* bytes of weights, on one rank */
	uint64_t layer_gradient;               /* of a layer's together */
	uint64_t activation;                   /* bytes that go from stage to stage */
	uint64_t routed;                       /* bytes of tokens that go to their experts */
};

/* Of weights and activations: bf16, or fp16 where that is not. */
enum gpu_type layer_type(const struct gpu *g);
enum layer_mode { MODE_TRAIN, MODE_PREFILL, MODE_DECODE }; /* prompts; a token of each sequence */
int layer_costs(struct layer_costs *out, const struct job *j, enum layer_mode mode);
enum step_class layer_class(const struct job *j, enum layer_part p);
struct sim_cost layer_optimizer(const struct job *j, uint64_t gradient); /* of so many bytes */

/* The time of a collective or transfer once all ranks have come. */
int layer_comm(double *ns, const struct job *j, enum coll_op op, uint64_t bytes,
	       const struct job_team *t);
