/* SPDX-License-Identifier: Apache-2.0 */
/* layer.h - how long a network's layers should take, other than matrix products. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "theory/gpu.h"

/*
 * All functions: 0; -EINVAL: a size is 0 or does not fit the others; -ERANGE: more than 2^60 bytes
 * or operations; -ENOTSUP: no such type on the device, or its memory's bandwidth is not known.
 */
struct layer_time {
	double ns;
	const char *limiter; /* "compute" "memory" "launch" */
	double flops, bytes; /* bytes: each argument read once, each result written once */
};

/* Kernels that go over memory and compute little. */
enum pass_kind {
	PASS_ELEMENTWISE, /* additions, copies */
	PASS_ACTIVATION,  /* SwiGLU and the like: two halves read, one written */
	PASS_ROPE,        /* rotation of queries and keys */
	PASS_NORM,   /* LayerNorm, RMSNorm, softmax: a row is read again when its sum is known */
	PASS_GATHER, /* embedding: rows from anywhere */
	PASS_KINDS
};

int pass_time(struct layer_time *out, const struct gpu *g, enum pass_kind kind, double bytes);

/* Each of `elements` is read from `inputs` tensors and written to one. */
int elementwise_time(struct layer_time *out, const struct gpu *g, uint64_t elements,
		     uint32_t inputs, enum gpu_type type);
int norm_time(struct layer_time *out, const struct gpu *g, uint64_t rows, uint64_t width,
	      enum gpu_type type);

/* As FlashAttention does it: scores stay on the chip. Decoding is q = 1. */
struct attention {
	uint64_t batch, heads, kv_heads, head_dim;
	uint64_t q, kv; /* tokens that ask, and that are looked at; causal: the last q of kv */
	bool causal;
	bool backward; /* the gradients of q, k and v, scores computed again */
	enum gpu_type type;
};

int attention_time(struct layer_time *out, const struct gpu *g, const struct attention *a);

/* As an implicit matrix product: [n p q, c/groups r s] x [c/groups r s, k/groups], `groups` times. */
struct conv {
	uint64_t n, c, h, w; /* images, channels, height, width */
	uint64_t k, r, s;    /* filters, their height and width */
	uint64_t stride, pad, dilation, groups;
	enum gpu_type type;
};

int conv_time(struct layer_time *out, const struct gpu *g, const struct conv *c);
int conv_out(uint64_t *p, uint64_t *q, const struct conv *c); /* height and width of the result */
