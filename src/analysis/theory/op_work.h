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
 *
 * Where a compiler has counted the work itself (XLA), the text is that instead:
 *
 *	flops=2097152 bytes=98304 type=15 gemm=128x128x64x1
 *
 * with the type of what is computed with, and of a product m, n, k and batch.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define OP_TENSORS    4u /* of the arguments, and of the results: the first ones */
#define OP_DIMS       6u
#define OP_TYPE_FLOAT 6u /* c10::ScalarType: what a type that is not said is taken for */

struct op_tensor {
	uint64_t size[OP_DIMS];
	uint32_t dims;
	uint32_t type;
	bool is; /* false: written as `-` */
};

struct op_work {
	uint64_t flops;
	uint64_t bytes; /* each argument read once, each result written once */
};

/* A product: batch times m x k by k x n. */
struct op_gemm {
	uint64_t m, n, k, batch;
	uint32_t type; /* of its arguments */
};

struct op_shapes {
	struct op_tensor in[OP_TENSORS], out[OP_TENSORS];
	uint32_t ins, outs;
	bool causal;
	bool counted;        /* the text says the work: */
	struct op_work work; /* that */
	struct op_gemm gemm; /* its type; k 0: it is no product */
};

/* 0; -EINVAL: not written so, -E2BIG: more tensors or dimensions than there is room for. */
int op_shapes_parse(struct op_shapes *out, const char *text);

#define OP_COUNTED_MAX 160u

/* The text of work that was counted; out has room for OP_COUNTED_MAX. */
void op_counted_text(char *out, const struct op_work *w, const struct op_gemm *g);

/* 0; -ENOENT: no formula for that name, -EINVAL: the shapes do not fit it, -ERANGE: too many. */
int op_work(struct op_work *out, const char *name, const struct op_shapes *s);

/* The product that an operator is. 0; -ENOENT: it is none, -EINVAL: the shapes do not fit. */
int op_gemm(struct op_gemm *out, const char *name, const struct op_shapes *s);

/* All that the shapes of an operator tell. */
struct op_known {
	struct op_work work;
	uint32_t scalar;     /* the type of what is computed with */
	bool counted;        /* a compiler has counted the work */
	bool product;        /* it is one: */
	struct op_gemm gemm; /* that */
};

/* 0; -errno as op_shapes_parse() and op_work(). */
int op_known(struct op_known *out, const char *name, const char *shapes);

uint32_t op_type_bytes(uint32_t type); /* of an element; 0: not known */
