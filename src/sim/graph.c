/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - tasks, edges, which edge held its target back, and the order to run them in. */
#include "sim/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/build.h"

static int grow(void *array, size_t *cap, size_t n, size_t size)
{
	void **p = array, *q;
	size_t to = *cap ? *cap * 2 : 1024;

	if (n < *cap)
		return 0;
	if (to > UINT32_MAX / 4) /* ids of points are 32 bits wide */
		return -EFBIG;
	q = realloc(*p, to * size);
	if (!q)
		return -ENOMEM;
	*p = q;
	*cap = to;
	return 0;
}

int sim_edge_add(struct sim_graph *g, uint32_t from, uint32_t to, int64_t least, enum sim_kind kind)
{
	int64_t seen = g->time[to] - g->time[from];
	int err;

	if (seen < 0)
		return 0;
	err = grow(&g->edge, &g->edge_cap, g->edges, sizeof(*g->edge));
	if (err < 0)
		return err;
	g->edge[g->edges++] = (struct sim_edge){
		.from = from, .to = to, .lag = least < seen ? least : seen, .kind = (uint8_t)kind
	};
	return 0;
}

int sim_task_add(struct sim_graph *g, const struct sim_task *t, int64_t start, int64_t end,
		 uint32_t *id)
{
	size_t times = g->task_cap;
	int64_t *time;
	int err;

	err = grow(&g->task, &g->task_cap, g->tasks, sizeof(*g->task));
	if (err < 0)
		return err;
	if (times != g->task_cap) {
		time = realloc(g->time, 2 * g->task_cap * sizeof(*time));
		if (!time)
			return -ENOMEM;
		g->time = time;
	}
	g->task[g->tasks] = *t;
	g->time[2 * g->tasks] = start;
	g->time[2 * g->tasks + 1] = end;
	*id = (uint32_t)g->tasks++;
	g->task[*id].own = (uint32_t)g->edges;
	return sim_edge_add(g, sim_start(*id), sim_end(*id), end - start, t->kind);
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

/* Of the edges into each point, the one whose source and least lag come latest held it back. */
static void bind(struct sim_graph *g)
{
	for (size_t p = 0; p < 2 * g->tasks; p++) {
		struct sim_edge *bound = NULL;
		int64_t last = INT64_MIN;

		for (uint32_t i = g->in[p]; i < g->in[p + 1]; i++) {
			struct sim_edge *e = &g->edge[g->by_to[i]];

			if (g->time[e->from] + e->lag > last) {
				last = g->time[e->from] + e->lag;
				bound = e;
			}
		}
		if (bound) {
			bound->bound = true;
			bound->lag = g->time[p] - g->time[bound->from];
			if (bound->kind == SIM_ORDER && bound->lag > SIM_UNEXPLAINED_NS)
				bound->kind = SIM_UNKNOWN;
		}
	}
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

static int finish(struct sim_graph *g)
{
	int err = index_edges(g, true, &g->in, &g->by_to);

	if (err < 0)
		return err;
	bind(g);
	return put_in_order(g);
}

/* The steps of the file with most of them are the window; without steps it is everything. */
static void find_window(struct sim_build *b)
{
	const struct trace *t = b->g->trace;
	uint64_t steps = 0;

	for (size_t l = 0; l < t->lanes; l++) {
		int64_t begin = INT64_MAX, end = INT64_MIN, off;
		uint64_t n = 0;

		if (t->lane[l].device != LANE_HOST)
			continue;
		off = b->g->offset[t->process[t->lane[l].process].file];
		for (size_t i = t->lane_first[l]; i < t->lane_first[l + 1]; i++) {
			const struct event *e = &t->event[i];

			if (e->kind != EVENT_STEP)
				continue;
			n++;
			if ((int64_t)e->start_ns + off < begin)
				begin = (int64_t)e->start_ns + off;
			if ((int64_t)(e->start_ns + e->dur_ns) + off > end)
				end = (int64_t)(e->start_ns + e->dur_ns) + off;
		}
		if (n > steps) {
			steps = n;
			b->g->begin_ns = begin;
			b->g->end_ns = end;
		}
	}
	b->g->steps = steps;
	if (!steps) {
		b->g->begin_ns = INT64_MIN;
		b->g->end_ns = INT64_MAX;
	}
}

/* Without steps the window begins and ends with what was seen. */
static void close_window(struct sim_graph *g)
{
	if (g->steps)
		return;
	g->begin_ns = INT64_MAX;
	g->end_ns = INT64_MIN;
	for (size_t i = 0; i < g->tasks; i++) {
		if (g->time[2 * i] < g->begin_ns)
			g->begin_ns = g->time[2 * i];
		if (g->time[2 * i + 1] > g->end_ns)
			g->end_ns = g->time[2 * i + 1];
	}
}

static int build(struct sim_build *b)
{
	const struct trace *t = b->g->trace;
	int err;

	b->g->offset = calloc(t->files + 1, sizeof(*b->g->offset));
	b->lane_task = calloc(t->lanes + 1, sizeof(*b->lane_task));
	b->end_first = calloc(t->processes + 2, sizeof(*b->end_first));
	if (!b->g->offset || !b->lane_task || !b->end_first)
		return -ENOMEM;
	err = sim_align(b);
	if (err < 0)
		return err;
	find_window(b);
	err = sim_build_host(b);
	if (!err)
		err = sim_build_device(b);
	if (!err)
		err = sim_build_sync(b);
	if (!err)
		err = sim_build_meet(b);
	if (err < 0)
		return err;
	if (!b->g->tasks)
		return -ENODATA;
	close_window(b->g);
	return finish(b->g);
}

int sim_graph_new(struct sim_graph **out, const struct trace *t, const bool *is_comm)
{
	struct sim_build b = { 0 };
	int err;

	b.g = calloc(1, sizeof(*b.g));
	if (!b.g)
		return -ENOMEM;
	b.g->trace = t;
	b.g->is_comm = is_comm;
	err = build(&b);
	free(b.lane_task);
	free(b.launch.slot);
	free(b.by_end);
	free(b.end_first);
	free(b.meet);
	if (err < 0) {
		sim_graph_free(b.g);
		return err;
	}
	*out = b.g;
	return 0;
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
		time[p] = at != INT64_MIN ? at : g->time[p];
	}
}

int64_t sim_span(const struct sim_graph *g, const int64_t *time)
{
	int64_t end = g->begin_ns;

	for (size_t i = 0; i < g->tasks; i++)
		if (time[2 * i + 1] > end)
			end = time[2 * i + 1];
	return end - g->begin_ns;
}
