/* SPDX-License-Identifier: Apache-2.0 */
/* path.h - the critical path of a graph, and the slack of each task. */
#pragma once

#include "sim/graph.h"

struct sim_path {
	int64_t span_ns;
	int64_t by_kind[SIM_KINDS]; /* time of the path; adds up to span_ns with `before` */
	int64_t before_ns;          /* of the window, before the path's first task */
	size_t tasks;               /* on the path */
	int64_t *task_ns;           /* by task: its time on the path; owned */
	int64_t *slack_ns;          /* by task: how much later it could end; owned */
};

/* Of a run with these lags and times (both NULL: of the recording). */
int sim_path_new(struct sim_path **out, const struct sim_graph *g, const int64_t *lag,
		 const int64_t *time);
void sim_path_free(struct sim_path *p);
