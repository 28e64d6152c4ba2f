/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.c - CUDA graphs as templates: which launches of a graph are recorded node by node.
 *
 * A graph's nodes are the same every time, so a few launches show what is in it, and every other
 * launch is a single record; aond expands these into kernels (agg/graph.c). The first launches are
 * recorded by node, then fewer and fewer, then one in GRAPH_EVERY, so that a change is noticed,
 * too.
 *
 * The level is a setting of CUPTI for the whole process: it is switched at the launch, on its
 * thread, and stays until a launch needs the other one.
 */
#include "probe/cuda/cuda.h"

#define GRAPH_FIRST 2u
#define GRAPH_EVERY 4096u
#define PROBES      8u

/* 0, 1, 4, 16, 64, 256, 1024, then every GRAPH_EVERY: one in a hundred after a few hundred. */
bool graph_by_node(uint32_t launch)
{
	if (launch < GRAPH_FIRST || launch % GRAPH_EVERY == 0)
		return true;
	return launch < GRAPH_EVERY && (launch & (launch - 1)) == 0 &&
	       __builtin_ctz(launch) % 2 == 0;
}

static struct cuda_exec *find(struct cuda *c, uint64_t handle)
{
	uint32_t at = (uint32_t)(handle * 0x9e3779b97f4a7c15ull >> 54) % CUDA_EXECS, i;
	struct cuda_exec *e = &c->exec[at];

	for (i = 0; i < PROBES; i++) {
		e = &c->exec[(at + i) % CUDA_EXECS];
		if (e->handle == handle || !e->handle)
			break;
	}
	if (e->handle != handle) /* new, or the last of a full neighbourhood gives way */
		*e = (struct cuda_exec){ .handle = handle };
	return e;
}

void graph_launching(struct cuda *c, uint64_t handle)
{
	bool whole;

	if (c->graphs != GRAPH_TEMPLATE || c->multi || !handle)
		return;
	cuda_turn_take(&c->graph_turn);
	whole = !graph_by_node(find(c, handle)->launches++);
	cuda_turn_give(&c->graph_turn);
	/*
	 * CUPTI has locks of its own, which it may hold in callbacks, too: ours is only tried. A
	 * launch beside one that changes the level is recorded at whichever level it meets.
	 */
	if (whole == atomic_load_explicit(&c->graph_level, memory_order_relaxed) ||
	    !cuda_turn_try(&c->graph_changing))
		return;
	if (!atomic_load_explicit(&c->graph_shut, memory_order_relaxed))
		session_graph_level(c, whole);
	cuda_turn_give(&c->graph_changing);
}

void graph_gone(struct cuda *c, uint64_t handle)
{
	cuda_turn_take(&c->graph_turn);
	if (handle)
		find(c, handle)->launches = 0; /* the place stays: others may lie behind it */
	cuda_turn_give(&c->graph_turn);
}
