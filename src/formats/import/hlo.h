/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hlo.h - the work of XLA's operations, from the programs (HloProto) that its profiler stores
 * beside their times: floating-point operations and bytes, as XLA's HloCostAnalysis counts them.
 * hlo.c reads a program, hlo_cost.c counts.
 */
#pragma once

#include <stddef.h>

#include "base/pb.h"
#include "theory/op_work.h"

/* Of one call of an operation. Names are of the bytes that were read. */
struct hlo_work {
	uint64_t program;
	struct pb name;
	struct op_work work;
	struct op_gemm gemm; /* type: of what is computed with; k 0: it is no product */
};

struct hlo {
	struct hlo_work *work; /* owned */
	size_t n;
	bool sorted;
};

/* All operations of a program whose cost is known. 0 or -ENOMEM; of damaged bytes what is whole. */
int hlo_read(struct hlo *h, uint64_t program, struct pb proto);
void hlo_fini(struct hlo *h);

/* NULL: not known. */
const struct hlo_work *hlo_find(struct hlo *h, uint64_t program, const struct pb *name);

/* --- between hlo.c and hlo_cost.c --- */

enum hlo_form {
	HLO_OTHER,
	HLO_FREE,
	HLO_HOLDS,
	HLO_EACH,
	HLO_MOVE,
	HLO_SLICE,
	HLO_UPDATE,
	HLO_SCATTER,
	HLO_DOT,
	HLO_CONV,
	HLO_REDUCE,
	HLO_WINDOW,
	HLO_MAP,
	HLO_SORT,
	HLO_FUSION,
	HLO_CUSTOM,
};

#define HLO_DIMS  12u
#define HLO_DEPTH 64u
#define HLO_TURNS 100000000u

struct hlo_shape { /* of a tuple: its first array, and the bytes of all */
	uint64_t size[HLO_DIMS];
	uint32_t dims;
	uint32_t type; /* c10::ScalarType, as op_work.h has it; UINT32_MAX: none of them */
	uint64_t elements, bytes, all_bytes;
};

struct hlo_inst {
	uint64_t id;
	struct pb name, all; /* the message */
	uint8_t form;        /* enum hlo_form */
	struct hlo_shape shape;
};

struct hlo_comp {
	uint64_t id, root;
	size_t first, n; /* of inst[] */
	enum { COUNTED_NOT, COUNTING, COUNTED } state;
	bool known, fused; /* fused: a fusion's: its operations do not run by themselves */
	bool has_read;     /* read: what its fusion reads */
	uint64_t flops, read;
	struct op_gemm gemm; /* of its only product */
	uint32_t products;
};

struct hlo_module {
	struct hlo_inst *inst; /* owned */
	struct hlo_comp *comp; /* owned */
	size_t *by_id;         /* owned: places in inst[] by id */
	size_t insts, comps;
	uint32_t depth;  /* of computations that are being counted */
	uint64_t budget; /* limit of loop iterations, whatever a program says */
};

const struct hlo_inst *hlo_inst(const struct hlo_module *m, uint64_t id);
struct hlo_comp *hlo_comp(struct hlo_module *m, uint64_t id);
/* The i-th of a repeated number of a message; false: there is none. */
bool hlo_number(struct pb in, uint32_t field, uint32_t i, uint64_t *out);
struct pb hlo_part(struct pb in, uint32_t field); /* empty: not there */

/* False: not known. */
bool hlo_cost(struct hlo_module *m, const struct hlo_inst *i, struct hlo_work *out);
