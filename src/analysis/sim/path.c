/* SPDX-License-Identifier: Apache-2.0 */
/* path.c - walks back from the last end through the edges that held each point back. */
#include "sim/path.h"

#include <errno.h>
#include <stdlib.h>

static int64_t lag_of(const struct sim_graph *g, const int64_t *lag, uint32_t edge)
{
	return lag ? lag[edge] : g->edge[edge].lag;
}

static uint32_t last_point(const struct sim_graph *g, const int64_t *time)
{
	uint32_t last = 1;

	for (uint32_t i = 0; i < g->tasks; i++)
		if (time[2 * i + 1] > time[last])
			last = 2 * i + 1;
	return last;
}

/* The edge that holds a point back; SIM_KINDS: none. */
static const struct sim_edge *held_by(const struct sim_graph *g, const int64_t *lag,
				      const int64_t *time, uint32_t point)
{
	for (uint32_t k = g->in[point]; k < g->in[point + 1]; k++) {
		const struct sim_edge *e = &g->edge[g->by_to[k]];
		int64_t l = lag_of(g, lag, g->by_to[k]);

		if (l != SIM_CUT && time[e->from] + l == time[point])
			return e;
	}
	return NULL;
}

static void walk(struct sim_path *p, const struct sim_graph *g, const int64_t *lag,
		 const int64_t *time)
{
	uint32_t point = last_point(g, time);
	const struct sim_edge *e;

	while ((e = held_by(g, lag, time, point))) {
		int64_t took = time[point] - time[e->from];

		p->by_kind[e->kind] += took;
		if (e->from / 2 == point / 2) {
			p->tasks++;
			p->task_ns[point / 2] += took;
		}
		point = e->from;
	}
	p->before_ns = time[point] - g->begin_ns;
}

/* The latest that each task may end without moving the last end. */
static int slacks(struct sim_path *p, const struct sim_graph *g, const int64_t *lag,
		  const int64_t *time)
{
	size_t points = 2 * g->tasks;
	int64_t *late = malloc((points + 1) * sizeof(*late));

	if (!late)
		return -ENOMEM;
	for (size_t i = 0; i < points; i++)
		late[i] = g->begin_ns + p->span_ns;
	for (size_t i = points; i-- > 0;) {
		uint32_t to = g->order[i];

		for (uint32_t k = g->in[to]; k < g->in[to + 1]; k++) {
			uint32_t from = g->edge[g->by_to[k]].from;
			int64_t l = lag_of(g, lag, g->by_to[k]);

			if (l != SIM_CUT && late[to] - l < late[from])
				late[from] = late[to] - l;
		}
	}
	for (size_t i = 0; i < g->tasks; i++)
		p->slack_ns[i] = late[2 * i + 1] - time[2 * i + 1];
	free(late);
	return 0;
}

int sim_path_new(struct sim_path **out, const struct sim_graph *g, const int64_t *lag,
		 const int64_t *time)
{
	struct sim_path *p = calloc(1, sizeof(*p));
	int err = -ENOMEM;

	if (!p)
		return err;
	if (!time)
		time = g->time;
	p->span_ns = sim_span(g, time);
	p->task_ns = calloc(g->tasks + 1, sizeof(*p->task_ns));
	p->slack_ns = calloc(g->tasks + 1, sizeof(*p->slack_ns));
	if (!p->task_ns || !p->slack_ns)
		goto fail;
	walk(p, g, lag, time);
	err = slacks(p, g, lag, time);
	if (err < 0)
		goto fail;
	*out = p;
	return 0;
fail:
	sim_path_free(p);
	return err;
}

void sim_path_free(struct sim_path *p)
{
	if (!p)
		return;
	free(p->task_ns);
	free(p->slack_ns);
	free(p);
}
