/* SPDX-License-Identifier: Apache-2.0 */
/* cost.c - the time of a piece of work on a device by its roofline. */
#include "sim/cost.h"

/* A kernel that does nothing: back to back they come every launch_ns. */
static double least_ns(const struct gpu *g)
{
	return g->launch_ns > SIM_ORDER_NS ? g->launch_ns - SIM_ORDER_NS : SIM_KERNEL_MIN_NS;
}

struct sim_cost sim_cost_kernel(const struct gpu *g, enum gpu_type type, double flops, double bytes,
				double share)
{
	struct sim_cost c = { .compute_ns = flops / (gpu_peak(g, type) * share) * 1e9,
			      .memory_ns = bytes / g->memory_Bps * 1e9 };

	c.ns = c.compute_ns > c.memory_ns ? c.compute_ns : c.memory_ns;
	if (c.ns < least_ns(g))
		c.ns = least_ns(g);
	return c;
}

/* Within the device each byte is read and written. */
double sim_cost_copy(const struct gpu *g, double bytes, enum sim_way way)
{
	double ns = bytes / (way == SIM_WAY_HOST ? g->pcie_Bps : g->memory_Bps / 2) * 1e9;

	return ns > SIM_COPY_MIN_NS ? ns : SIM_COPY_MIN_NS;
}
