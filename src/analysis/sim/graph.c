/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - a recording as a net: its window, its edges, and which edge held each point back. */
#include "sim/graph.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/build.h"

const char *const sim_kind_word[SIM_KINDS] = {
#define SIM_KIND(NAME, word, what) [SIM_##NAME] = word,
#include "sim/kind.tbl.h"
};

int sim_edge_add(struct sim_graph *g, uint32_t from, uint32_t to, int64_t least, enum sim_kind kind)
{
	int64_t seen = g->time[to] - g->time[from];

	return seen < 0 ? 0 : sim_edge_put(g, from, to, least < seen ? least : seen, kind);
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

static int finish(struct sim_graph *g)
{
	int err = sim_net_close(g);

	if (!err)
		bind(g);
	return err;
}

/* The steps of the file with most of them are the window; without steps it is everything. */
static void find_window(struct sim_build *b)
{
	const struct trace *t = b->g->trace;
	uint64_t steps = 0;

	for (size_t l = 0; l < t->tracks; l++) {
		int64_t begin = INT64_MAX, end = INT64_MIN, off;
		uint64_t n = 0;

		if (t->track[l].device != TRACK_HOST)
			continue;
		off = b->g->offset[t->process[t->track[l].process].file];
		for (size_t i = t->track_first[l]; i < t->track_first[l + 1]; i++) {
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
	b->track_task = calloc(t->tracks + 1, sizeof(*b->track_task));
	b->end_first = calloc(t->processes + 2, sizeof(*b->end_first));
	if (!b->g->offset || !b->track_task || !b->end_first)
		return -ENOMEM;
	err = sim_align(b);
	if (err < 0)
		return err;
	find_window(b);
	err = sim_build_host(b);
	err = err ? err : sim_build_device(b);
	err = err ? err : sim_build_sync(b);
	err = err ? err : sim_build_meet(b);
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
	free(b.track_task);
	map_fini(&b.launch);
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

int64_t sim_span(const struct sim_graph *g, const int64_t *time)
{
	int64_t end = g->begin_ns;

	for (size_t i = 0; i < g->tasks; i++)
		if (time[2 * i + 1] > end)
			end = time[2 * i + 1];
	return end - g->begin_ns;
}
