/* SPDX-License-Identifier: Apache-2.0 */
/* kname.h - what a kernel's name tells of its work: types, tensor cores, tiles, loop sizes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/process.h"
#include "theory/roofline.h"

struct kname {
	bool typed;                      /* it names a type: */
	enum gpu_type type;              /* of what goes in */
	int tensor;                      /* 1: on tensor cores, 0: not, -1: unknown */
	uint32_t tile_m, tile_n, tile_k; /* of one block; 0: unknown */
	uint32_t per_thread;             /* elements; 0: it is not elementwise */
	uint32_t threads;                /* of a block, from the name; 0: unknown */
	uint32_t tensors;                /* that an elementwise kernel reads and writes */
	uint64_t loops;                  /* of all its loops together, as tinygrad names them */
	bool sums;                       /* these loops multiply and add */
};

struct knames; /* the tables, ready to be used */

int knames_new(struct knames **out);
void knames_free(struct knames *k); /* NULL is allowed */

void kname_of(struct kname *out, const struct knames *k, const char *name);

/* The work of a call with this launch, if the name tells it; false: it does not. */
bool kname_work(struct roof_work *out, const struct kname *n, const struct geo *g);

/* The type of what is computed with, of a tensor's (c10::ScalarType) and what the name says. */
enum gpu_type kname_type(const struct kname *n, uint32_t scalar);
/* matrix: it is a product, an attention or a convolution. */
bool kname_on_tensor_cores(const struct kname *n, bool matrix, enum gpu_type type);

/* Bytes of an element. */
double type_bytes(enum gpu_type t);
