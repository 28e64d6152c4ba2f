/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.h - a transformer's step, in training or inference, composed of the models of its layers:
 * time, memory, and what limits it. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "theory/gpu.h"

enum step_mode {
	STEP_TRAIN,   /* forward, backward, optimizer */
	STEP_PREFILL, /* forward over `seq` tokens of each sequence */
	STEP_DECODE,  /* one token of each sequence, `seq` tokens in the cache */
	STEP_MODES
};

extern const char *const step_mode_word[STEP_MODES];

struct step_model {
	const char *name; /* of a preset; NULL */
	uint64_t layers, hidden, heads, kv_heads, ffn, vocab;
	uint64_t experts, chosen; /* experts, and top-k experts per token; 0, 0: none */
	bool gated;               /* SwiGLU: three matrices, else two */
	bool tied;                /* input and output embedding are one */
	uint64_t seq;             /* of a preset: sequence length in training; else 0 */
};

struct step {
	struct step_model model;
	enum step_mode mode;
	uint64_t seq, batch; /* tokens of a sequence; sequences of a step, of all ranks */
	/*
	 * Type of the products. Below 16 bits all else is bf16: activations, attention,
	 * communication, and in training weights and gradients. Master weights are fp32.
	 */
	enum gpu_type type;
	uint32_t tp, pp, dp; /* ranks that share a layer, the layers, the batch; 0: 1 */
	uint32_t ep;         /* of the dp ranks those that share the experts; 0: 1 */
	uint32_t micro;      /* batches that follow one another through the stages; 0: 1 */
	uint32_t zero;       /* sharded over dp: 1 optimizer, 2 and gradients, 3 and weights */
	uint32_t interleave; /* parts of the model that a stage has, not in a row; 0: 1 */
	bool sequence;  /* between products, tp shares the tokens: norms and sums of each once */
	bool recompute; /* keep a layer's input only, compute the rest again */
	uint32_t gpus_per_node; /* 0: coll_domain() */
	double net_Bps;         /* of one adapter; 0: COLL_NET_BPS */
};

enum step_part {
	STEP_GEMM,
	STEP_ATTENTION,
	STEP_PASSES, /* norms, activations, additions, embeddings */
	STEP_OPTIMIZER,
	STEP_TP, /* exposed time of each communication: */
	STEP_EP,
	STEP_PP,
	STEP_DP,
	STEP_BUBBLE, /* stages without a micro-batch */
	STEP_PARTS
};

extern const char *const step_part_word[STEP_PARTS];

struct step_memory {
	double weights, gradients, optimizer, activations, kv_cache, total; /* bytes of a GPU */
};

struct step_cost {
	double ns;
	double part_ns[STEP_PARTS];     /* of a GPU of the slowest stage; their sum is ns */
	double forward_ns, backward_ns; /* of one micro-batch in that stage, with communication */
	double dp_ns;                   /* of the gradients' all-reduce, hidden or not */
	double params, active;          /* of the model, and those active per token */
	double flops;                   /* that the step needs; recomputing does not count */
	double mfu;                     /* of the GPUs' dense peak */
	double tokens_per_s;
	uint32_t gpus;
	struct step_memory memory;
	bool fits;           /* fits the GPU's memory; true if its size is not known */
	const char *limiter; /* "compute" "memory" "network" "bubble" */
};

/*
 * 0; -EINVAL: a size is 0, or sizes do not divide, *why says which (a literal); -ERANGE: too large;
 * -ENOTSUP: the device lacks the type or links.
 */
int step_cost(struct step_cost *out, const char **why, const struct gpu *g, const struct step *s);

const struct step_model *step_model_find(const char *name);     /* "llama2-7b"; NULL: not known */
const struct step_model *step_model_at(size_t i);               /* NULL behind the last */
double step_params(const struct step_model *m, double *active); /* active: NULL or filled */
