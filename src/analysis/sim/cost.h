/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cost.h - the time of a piece of work on a device by its roofline, for the simulator and the
 * stand-in GPU (tests/sim). It depends on the table of devices alone.
 */
#pragma once

#include "theory/gpu.h"

#define SIM_KERNEL_MIN_NS 1200.0 /* of a device whose launch_ns is not known */
#define SIM_COPY_MIN_NS   1500.0
#define SIM_ORDER_NS      300 /* from the end of a stream's work to the start of the next */

struct sim_cost {
	double ns;
	double compute_ns, memory_ns; /* what either would take alone */
};

enum sim_way { SIM_WAY_HOST, SIM_WAY_DEVICE };

/* share: of the device that the kernel fills, 0 to 1. */
struct sim_cost sim_cost_kernel(const struct gpu *g, enum gpu_type type, double flops, double bytes,
				double share);
double sim_cost_copy(const struct gpu *g, double bytes, enum sim_way way);

static inline void sim_cost_add(struct sim_cost *to, const struct sim_cost *c)
{
	to->ns += c->ns;
	to->compute_ns += c->compute_ns;
	to->memory_ns += c->memory_ns;
}

/* The same work where arithmetic and memory take so much longer. */
static inline double sim_cost_slower(const struct sim_cost *c, double compute, double memory)
{
	double was = c->compute_ns > c->memory_ns ? c->compute_ns : c->memory_ns;
	double is = c->compute_ns * compute > c->memory_ns * memory ? c->compute_ns * compute
								    : c->memory_ns * memory;

	return was > 0 ? c->ns * is / was : c->ns;
}
