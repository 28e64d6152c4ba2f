/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_sum.h - what a recording has that says how long, but not when: a tree of scopes and kernels
 * with totals, instead of events. It is kept beside the trace: nothing that needs a time sees it.
 */
#pragma once

#include "model/trace.h"

/* A kernel, or a scope. A scope comes before what it holds; its own figures are without that. */
struct trace_sum {
	uint32_t file;
	uint32_t name;
	uint32_t parent; /* index + 1 of the scope; 0: none */
	uint32_t device; /* of a kernel */
	bool kernel;     /* it ran on a device: ns and count are known */
	uint64_t ns, count;
	double flops, bytes; /* that the program said; 0: nothing */
};

struct trace_sums {
	struct trace_sum *sum; /* owned by the trace; moves when one is added */
	size_t n;
};

struct trace_sums trace_sums(const struct trace *t);
int trace_sum_add(struct trace *t, const struct trace_sum *s, uint32_t *id); /* 0 or -ENOMEM */
void trace_sum_cut(struct trace *t, size_t n);                               /* keeps the first n */
