/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net.c - points, edges with lags, and the time of each point. Both replayed recordings (graph.c)
 * and simulated jobs (engine.c) run here.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "sim/build.h"

/* Room for one more. */
static int grow(void *array, size_t n, size_t size)
{
	return n >= UINT32_MAX / 4 ? -EFBIG /* ids of points are 32 bits wide */
				   : vec_more(array, n, size);
}

int sim_edge_put(struct sim_graph *g, uint32_t from, uint32_t to, int64_t lag, enum sim_kind kind)
{
	int err = grow(&g->edge, g->edges, sizeof(*g->edge));

	if (err < 0)
		return err;
	g->edge[g->edges++] =
		(struct sim_edge){ .from = from, .to = to, .lag = lag, .kind = (uint8_t)kind };
	return 0;
}

int sim_task_add(struct sim_graph *g, const struct sim_task *t, int64_t start, int64_t end,
		 uint32_t *id)
{
	int err = grow(&g->task, g->tasks, sizeof(*g->task));

	err = err ? err : grow(&g->time, g->tasks, 2 * sizeof(*g->time));
	if (err < 0)
		return err;
	g->task[g->tasks] = *t;
	g->time[2 * g->tasks] = start;
	g->time[2 * g->tasks + 1] = end;
	*id = (uint32_t)g->tasks++;
	g->task[*id].own = (uint32_t)g->edges;
	return sim_edge_put(g, sim_start(*id), sim_end(*id), end - start, t->kind);
}

/* Offsets into `list` of the edges by target, or by source. */
static int index_edges(const struct sim_graph *g, bool by_to, uint32_t **first, uint32_t **list)
{
	size_t points = 2 * g->tasks;
	uint32_t *f = calloc(points + 2, sizeof(*f));
	uint32_t *l = malloc((g->edges + 1) * sizeof(*l));

	if (!f || !l) {
		free(f);
		free(l);
		return -ENOMEM;
	}
	for (size_t i = 0; i < g->edges; i++)
		f[(by_to ? g->edge[i].to : g->edge[i].from) + 2]++;
	for (size_t p = 2; p < points + 2; p++)
		f[p] += f[p - 1];
	for (size_t i = 0; i < g->edges; i++)
		l[f[(by_to ? g->edge[i].to : g->edge[i].from) + 1]++] = (uint32_t)i;
	*first = f;
	*list = l;
	return 0;
}

/* Kahn's: a point comes behind all that it waits for. */
static int put_in_order(struct sim_graph *g)
{
	size_t points = 2 * g->tasks, head = 0, tail = 0;
	uint32_t *left = malloc((points + 1) * sizeof(*left)), *first = NULL, *out = NULL;
	int err = -ENOMEM;

	g->order = malloc((points + 1) * sizeof(*g->order));
	if (!left || !g->order)
		goto done;
	err = index_edges(g, false, &first, &out);
	if (err < 0)
		goto done;
	for (size_t p = 0; p < points; p++) {
		left[p] = g->in[p + 1] - g->in[p];
		if (!left[p])
			g->order[tail++] = (uint32_t)p;
	}
	while (head < tail) {
		uint32_t p = g->order[head++];

		for (uint32_t i = first[p]; i < first[p + 1]; i++)
			if (!--left[g->edge[out[i]].to])
				g->order[tail++] = g->edge[out[i]].to;
	}
	err = tail == points ? 0 : -ELOOP;
done:
	free(left);
	free(first);
	free(out);
	return err;
}

int sim_net_close(struct sim_graph *g)
{
	int err = index_edges(g, true, &g->in, &g->by_to);

	return err < 0 ? err : put_in_order(g);
}

void sim_graph_free(struct sim_graph *g)
{
	if (!g)
		return;
	free(g->task);
	free(g->time);
	free(g->edge);
	free(g->offset);
	free(g->order);
	free(g->in);
	free(g->by_to);
	free(g);
}

void sim_run(const struct sim_graph *g, const int64_t *lag, int64_t *time)
{
	for (size_t i = 0; i < 2 * g->tasks; i++) {
		uint32_t p = g->order[i];
		int64_t at = INT64_MIN;

		for (uint32_t k = g->in[p]; k < g->in[p + 1]; k++) {
			uint32_t id = g->by_to[k];
			int64_t l = lag ? lag[id] : g->edge[id].lag;

			if (l != SIM_CUT && time[g->edge[id].from] + l > at)
				at = time[g->edge[id].from] + l;
		}
		/* What waits for nothing that was seen comes when it came. */
		at = at != INT64_MIN ? at : g->time[p];
		time[p] = at < SIM_NEVER ? at : SIM_NEVER;
	}
}
