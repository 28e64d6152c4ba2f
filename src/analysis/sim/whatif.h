/* SPDX-License-Identifier: Apache-2.0 */
/* whatif.h - a change to a recording, and the time that its steps would take with the change. */
#pragma once

#include "sim/graph.h"

/* A time of a thread, on the clock of its file. */
struct sim_span {
	uint64_t start_ns, end_ns;
	uint32_t track;
};

struct sim_change {
	const float *work_scale;     /* by name: work of devices takes this much; NULL: as it did */
	const float *host_scale;     /* by name: so do ranges and calls of threads */
	const struct sim_span *gone; /* by track and time, none inside another: they take no time */
	size_t gones;
	bool no_sync;      /* no call waits for the device */
	bool free_host;    /* the program takes no time between calls */
	bool free_launch;  /* neither do calls, nor the way from a launch to the device */
	bool overlap_comm; /* nothing waits for communication but communication */
};

/* The lags of the graph's edges under the change: g->edges of them, into `lag`. */
int sim_change_lags(const struct sim_graph *g, const struct sim_change *c, int64_t *lag);

/* What the window takes under the change. Never longer than recorded if nothing is scaled up. */
int sim_whatif(const struct sim_graph *g, const struct sim_change *c, int64_t *span_ns);
