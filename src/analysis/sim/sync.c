/* SPDX-License-Identifier: Apache-2.0 */
/* sync.c - finds calls that waited for a device: they returned when its work ended. */
#include <string.h>

#include "sim/build.h"

#define CALL_NS 5000 /* what such a call takes when there is nothing to wait for, at most */
#define LOOK    256  /* pieces of work to look at for the one that was waited for */

/* Words in the names of calls that may wait for the device. Copies wait when memory is pageable. */
static const char *const waits[] = { "ynchronize", "emcpy",      "emFree",     "cudaFree",
				     "hipFree",    "EventQuery", "StreamQuery" };

static bool may_wait(const struct trace *t, size_t event)
{
	if (t->event[event].kind == EVENT_SYNC)
		return true;
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++)
		if (strstr(trace_text(t, t->event[event].name), waits[i]))
			return true;
	return false;
}

/* Launched before the call, or by it. Work whose launch was not seen might have been. */
static bool was_launched(const struct sim_build *b, uint32_t work, uint32_t call)
{
	const struct sim_graph *g = b->g;
	uint32_t by = sim_launch_get(&b->launch, g->trace->track[g->task[work].track].process,
				     g->trace->event[g->task[work].event].corr);

	return by == SIM_NONE || g->time[sim_start(by)] <= g->time[sim_start(call)];
}

static int wait_for(struct sim_build *b, uint32_t call)
{
	struct sim_graph *g = b->g;
	uint32_t process = g->trace->track[g->task[call].track].process;
	int64_t start = g->time[sim_start(call)], end = g->time[sim_end(call)];
	size_t i = sim_ends_behind(b, process, end), first = b->end_first[process];

	for (int look = 0; i > first && look < LOOK; i--, look++) {
		uint32_t work = b->by_end[i - 1];

		if (g->time[sim_end(work)] <= start)
			return 0;
		if (!was_launched(b, work, call))
			continue;
		g->task[call].waited = true;
		if (g->edge[g->task[call].own].lag > CALL_NS)
			g->edge[g->task[call].own].lag = CALL_NS;
		return sim_edge_add(g, sim_end(work), sim_end(call), 0, SIM_SYNC);
	}
	return 0;
}

int sim_build_sync(struct sim_build *b)
{
	struct sim_graph *g = b->g;
	int err = 0;

	for (uint32_t i = 0; i < g->tasks && !err; i++)
		if (g->task[i].kind == SIM_CALL && may_wait(g->trace, g->task[i].event))
			err = wait_for(b, i);
	return err;
}
