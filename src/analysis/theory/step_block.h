/* SPDX-License-Identifier: Apache-2.0 */
/* step_block.h - the cost of a micro-batch: in a layer, at the ends, in a collective. Pure. */
#pragma once

#include "theory/collective.h"
#include "theory/step.h"

struct step_block {
	const struct gpu *g;
	const struct step *s;       /* checked; nothing of parallelism is 0 */
	uint64_t tokens, sequences; /* of the micro-batch on this GPU */
	double memory_ns; /* of products and attention: those that memory limited, added up */
};

/* Add to the parts' nanoseconds; 0 or what the layer's model said. */
int step_block_time(double part_ns[STEP_PARTS], struct step_block *b, bool backward);
int step_block_ends(double part_ns[STEP_PARTS], struct step_block *b, bool backward);

/* The communication of `part` (STEP_TP, STEP_EP, STEP_PP or STEP_DP): tells where its ranks are. */
int step_block_comm(double *ns, const struct step_block *b, enum step_part part, enum coll_op op,
		    double bytes);

/* Of all that is no product: the step's type, or bf16 if that has less than 16 bits. */
enum gpu_type step_block_type(const struct step *s);

/* Elements of a token that a layer keeps for its backward pass; of its input alone when `recompute`. */
double step_block_kept(const struct step *s, bool recompute);
