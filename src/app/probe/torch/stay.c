/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stay.c - the residual overhead in unsampled steps. These steps cannot show it, so it is estimated,
 * and aond adds it to the measured cost.
 *
 * Callbacks are timed, but only in unsampled steps; their mean counts for every step. Calls of
 * modules are too many to be timed: they are counted, and what one costs is measured once at the
 * start. Where the listener stays, torch copies the list of listeners at every node of a backward
 * pass: nodes are counted in the steps whose operators are recorded, and a copy is assumed to cost
 * what was measured elsewhere: a backward pass by the probe would start torch's threads before the
 * program does.
 */
#include "probe/torch/torch.h"

#include "base/clock.h"

#define LONG_NS   20000u /* a callback that took longer was held up by others */
#define NODE_NS   150u   /* a copy of the list: torch 2.15; 1.13: 100 */
#define AROUND_NS 250u   /* the caller's cost of a call: Python's arguments, and two clock reads */

static struct {
	_Atomic uint64_t ns, steps; /* of unsampled steps */
	uint64_t call_ns;           /* of a module, in 1/16 */
	_Atomic uint32_t nodes;     /* of a step */
} stay;

uint64_t stay_begin(void)
{
	return aon_wants(AON_WANT_MARK) ? 0 : clock_mono_ns();
}

void stay_end(uint64_t begin)
{
	uint64_t took = begin ? clock_mono_ns() - begin : LONG_NS;

	if (took < LONG_NS)
		atomic_fetch_add_explicit(&stay.ns, took + AROUND_NS, memory_order_relaxed);
}

void stay_call_costs(uint64_t sixteenths)
{
	stay.call_ns = sixteenths;
}

void stay_nodes(uint32_t nodes)
{
	atomic_store_explicit(&stay.nodes, nodes, memory_order_relaxed);
}

/* Before the next step begins: the gate still describes this one. */
void stay_step(struct torch_thread *t, bool listened)
{
	uint64_t steps = atomic_load_explicit(&stay.steps, memory_order_relaxed);
	uint64_t ns = t->called * stay.call_ns / 16;

	if (!aon_wants(AON_WANT_MARK))
		atomic_store_explicit(&stay.steps, ++steps, memory_order_relaxed);
	if (steps)
		ns += atomic_load_explicit(&stay.ns, memory_order_relaxed) / steps;
	if (listened)
		ns += (uint64_t)atomic_load_explicit(&stay.nodes, memory_order_relaxed) * NODE_NS;
	t->called = 0;
	aon_stays(ns);
}
