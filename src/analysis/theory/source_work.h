/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_work.h - the work of kernels from their OpenCL source. aond reports it for each kernel in
 * a mark,
 *
 *	opencl work: NAME flops=12 type=6 mem=9:4,0:8 at most
 *
 * with a work-item's operations, their type (c10::ScalarType), and for sets of ids (bits: group 0,
 * 1, 2, local 0, 1, 2) the bytes of global memory for each combination of their values. Several
 * texts may have a kernel of the same name: then its work is known if they agree.
 */
#pragma once

#include "model/process.h"
#include "theory/roofline.h"

#define SOURCE_WORK_MARK "opencl work: "

struct source_works; /* of one program, or of a node */

int source_works_new(struct source_works **out);
void source_works_free(struct source_works *w); /* NULL is allowed */

/* Adds a name of a store or trace. 1: a new mark, 0: no mark or a known one, -ENOMEM. */
int source_works_add(struct source_works *w, const char *text);

/* Of one call that was launched so; false: not known, or they do not agree. */
uint64_t source_kernel(const char *name); /* the key of a kernel of that name */
bool source_work(struct roof_work *out, const struct source_works *w, uint64_t kernel,
		 const struct geo *g);
