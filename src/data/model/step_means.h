/* SPDX-License-Identifier: Apache-2.0 */
/* step_means.h - what a name means to the record of a step. Data only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/step_rec.h"

enum step_range {
	STEP_RANGE_NONE,
	STEP_RANGE_INPUT,
	STEP_RANGE_GC,
	STEP_RANGE_CKPT,
	STEP_RANGE_FORWARD,
	STEP_RANGE_COMPILE,
};

enum step_call { STEP_CALL_NONE, STEP_CALL_LAUNCH, STEP_CALL_SYNC, STEP_CALL_ALLOC };

enum step_count {
	STEP_COUNT_NONE,
	STEP_COUNT_TOKENS,
	STEP_COUNT_SEQUENCES,
	STEP_COUNT_EXPERT_TOKENS,
	STEP_COUNT_MICRO_BATCHES,
	STEP_COUNT_SUM_LEN2,
	STEP_COUNT_CONTEXT,
};

#define STEP_KERNEL_COMM STEP_CLASSES /* as class: a communication kernel */
#define STEP_NO_OP       STEP_OPS     /* as op: no communication */
#define STEP_NO_PEER     UINT16_MAX

struct step_means {
	uint8_t kernel; /* enum step_class, or STEP_KERNEL_COMM */
	uint8_t call, range, count;
	uint8_t op;    /* enum step_op, of a collective or transfer, and of its kernel */
	bool p2p;      /* of such a kernel: sends and receives, any number of them */
	uint16_t peer; /* of a send or receive: rank in the communicator */
	uint8_t part;  /* of a range: the part of a step that it is (enum host_part) + 1; 0: none */
};
