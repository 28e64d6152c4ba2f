/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_work.h - how many floating-point operations an operator takes, and how many bytes it has to
 * move, from the shapes of its tensors. Pure.
 *
 * Shapes are written as the probe for PyTorch records them: each tensor as its sizes and the
 * number of its type (c10::ScalarType), results after a `>`, a tensor that is not there as `-`:
 *
 *	[32]t6 [8,16]t6 [16,32]t6 > [8,32]t6
 *
 * Imported traces may say no results: then they are those that the formula gives. A word `causal`
 * says that an attention looks at no key behind its query.
 */
#ifndef AON_OP_WORK_H
#define AON_OP_WORK_H

#include <stdbool.h>
#include <stdint.h>

#define OP_TENSORS 4u /* of the arguments, and of the results: the first ones */
#define OP_DIMS    6u

struct op_tensor {
	uint64_t size[OP_DIMS];
	uint32_t dims;
	uint32_t type;
	bool is; /* false: written as `-` */
};

struct op_shapes {
	struct op_tensor in[OP_TENSORS], out[OP_TENSORS];
	uint32_t ins, outs;
	bool causal;
};

struct op_work {
	uint64_t flops;
	uint64_t bytes; /* each argument read once, each result written once */
};

/* 0; -EINVAL: not written so, -E2BIG: more tensors or dimensions than there is room for. */
int op_shapes_parse(struct op_shapes *out, const char *text);

/* The product that an operator is: batch times m x k by k x n. */
struct op_gemm {
	uint64_t m, n, k, batch;
	uint32_t type; /* of its arguments */
};

/* 0; -ENOENT: no formula for that name, -EINVAL: the shapes do not fit it, -ERANGE: too many. */
int op_work(struct op_work *out, const char *name, const struct op_shapes *s);

/* 0; -ENOENT: it is no such product, -EINVAL: the shapes do not fit. */
int op_gemm(struct op_gemm *out, const char *name, const struct op_shapes *s);

uint32_t op_type_bytes(uint32_t type); /* of an element; 0: not known */

#endif /* AON_OP_WORK_H */
