/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.c - see graph.h.
 *
 * Nodes are in one table, found by graph and node number, and chained by graph. The duration of a
 * node is a moving mean of its executions, so that a template follows a clock that changes. For
 * expansion, nodes of a graph that are alike (track, name, and a duration in the same cell of a
 * sketch) form a group with one representative: a launch then costs a few additions, and quantiles
 * stay right. Groups are rebuilt at the first launch after something was learnt.
 *
 * The number of executions per launch is learnt, too, because loops and branches make it
 * fractional. The fraction is carried over to the next launch.
 */
#include "agg/graph.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agg/pages.h"
#include "base/sketch.h"

#define NODE_SLOTS  (2u * GRAPH_NODES)
#define GRAPH_SLOTS (2u * GRAPH_GRAPHS)
#define GROUP_SLOTS 4096u
#define LATELY      8u /* executions that a mean remembers */

struct node {
	uint64_t key; /* graph << 32 | node; 0: free */
	uint64_t a;
	double mean_ns;
	double share, sum_ns; /* of the group it leads: executions in a launch, and their time */
	double carry;
	uint32_t seen; /* executions */
	uint32_t track, name;
	uint32_t next;   /* index + 1 of the graph's next node */
	uint32_t leader; /* index + 1 of the graph's next leader */
	uint8_t kind;
};

struct graph {
	uint32_t id; /* 0: free */
	uint32_t first, leaders;
	uint32_t launches; /* seen by node */
	uint32_t corr;     /* of the last one */
	bool dirty, used;
};

struct graphs {
	struct node *node;   /* owned: NODE_SLOTS */
	struct graph *graph; /* owned: GRAPH_SLOTS */
	uint32_t nodes, graphs;
	uint64_t unknown;
	uint32_t group[GROUP_SLOTS]; /* while groups are made: index + 1 of a leader */
};

static int tables_new(struct graphs *g)
{
	g->node = pages_new(NODE_SLOTS * sizeof(*g->node));
	g->graph = pages_new(GRAPH_SLOTS * sizeof(*g->graph));
	g->nodes = g->graphs = 0;
	return g->node && g->graph ? 0 : -ENOMEM;
}

static void tables_free(struct graphs *g)
{
	pages_free(g->node, NODE_SLOTS * sizeof(*g->node));
	pages_free(g->graph, GRAPH_SLOTS * sizeof(*g->graph));
}

int graphs_new(struct graphs **out)
{
	struct graphs *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	if (tables_new(g)) {
		graphs_free(g);
		return -ENOMEM;
	}
	*out = g;
	return 0;
}

void graphs_free(struct graphs *g)
{
	if (!g)
		return;
	tables_free(g);
	free(g);
}

uint64_t graphs_unknown(const struct graphs *g)
{
	return g->unknown;
}

/* --- tables --- */

static uint32_t hash(uint64_t v, uint32_t slots)
{
	return (uint32_t)(v * 0x9e3779b97f4a7c15ull >> 40) % slots;
}

static struct graph *graph_at(const struct graphs *g, uint32_t id)
{
	uint32_t i = hash(id, GRAPH_SLOTS);

	while (g->graph[i].id && g->graph[i].id != id)
		i = (i + 1) % GRAPH_SLOTS;
	return &g->graph[i];
}

static struct node *node_at(const struct graphs *g, uint64_t key)
{
	uint32_t i = hash(key, NODE_SLOTS);

	while (g->node[i].key && g->node[i].key != key)
		i = (i + 1) % NODE_SLOTS;
	return &g->node[i];
}

static struct graph *graph_get(struct graphs *g, uint32_t id)
{
	struct graph *gr = graph_at(g, id);

	if (!gr->id) {
		*gr = (struct graph){ .id = id };
		g->graphs++;
	}
	return gr;
}

static void node_put(struct graphs *g, struct graph *gr, const struct node *from)
{
	struct node *n = node_at(g, from->key);

	*n = *from;
	n->next = gr->first;
	n->leader = 0;
	gr->first = (uint32_t)(n - g->node) + 1;
	gr->dirty = true;
	g->nodes++;
}

/* Room: keeps the graphs that were launched since the last time. False: there is no memory. */
static bool purge(struct graphs *g)
{
	struct graphs old = *g;

	if (tables_new(g)) {
		tables_free(g);
		g->node = old.node;
		g->graph = old.graph;
		return false;
	}
	for (uint32_t i = 0; i < GRAPH_SLOTS && g->nodes < GRAPH_NODES / 2; i++) {
		const struct graph *was = &old.graph[i];
		struct graph *gr;

		if (!was->id || !was->used || g->graphs >= GRAPH_GRAPHS / 2)
			continue;
		gr = graph_get(g, was->id);
		gr->launches = was->launches;
		gr->corr = was->corr;
		for (uint32_t n = was->first; n; n = old.node[n - 1].next)
			node_put(g, gr, &old.node[n - 1]);
	}
	tables_free(&old);
	return true;
}

/* --- learning --- */

static void learn(struct graphs *g, const struct event *e)
{
	struct graph *gr;
	struct node *n;
	double dur = (double)e->dur_ns;
	uint32_t weight;

	if ((g->nodes >= GRAPH_NODES || g->graphs >= GRAPH_GRAPHS) && !purge(g))
		return;
	if (g->nodes >= GRAPH_NODES) /* of one graph: it has no template */
		return;
	gr = graph_get(g, (uint32_t)(e->b >> 32));
	if (!gr->launches || gr->corr != e->corr) {
		gr->launches++;
		gr->corr = e->corr;
	}
	gr->dirty = gr->used = true;
	n = node_at(g, e->b);
	if (!n->key) {
		struct node new = {
			.key = e->b, .track = e->track, .name = e->name, .kind = e->kind
		};

		node_put(g, gr, &new);
		n = node_at(g, e->b);
	}
	n->a = e->a;
	n->name = e->name; /* a graph that was updated */
	n->seen++;
	weight = n->seen < LATELY ? n->seen : LATELY;
	n->mean_ns += (dur - n->mean_ns) / weight;
}

/* --- expanding --- */

/* Executions in a launch: one, but for nodes in loops and branches. The last launch may not be
 * all there yet. */
static double share_of(const struct graph *gr, const struct node *n)
{
	double r = (double)n->seen / gr->launches;

	return r >= 0.45 && r < 1.5 ? 1 : r;
}

static struct node *leader_of(struct graphs *g, struct graph *gr, struct node *n)
{
	uint64_t key = ((uint64_t)n->track << 32 | n->name) * 31 +
		       sketch_index((uint64_t)n->mean_ns) * 64ull + n->kind;
	uint32_t i = hash(key, GROUP_SLOTS), tries = 0;
	struct node *l;

	for (; g->group[i] && tries < 16; i = (i + 1) % GROUP_SLOTS, tries++) {
		l = &g->node[g->group[i] - 1];
		if (l->track == n->track && l->name == n->name && l->kind == n->kind &&
		    sketch_index((uint64_t)l->mean_ns) == sketch_index((uint64_t)n->mean_ns))
			return l;
	}
	if (tries < 16)
		g->group[i] = (uint32_t)(n - g->node) + 1;
	n->share = n->sum_ns = 0;
	n->leader = gr->leaders;
	gr->leaders = (uint32_t)(n - g->node) + 1;
	return n;
}

static void regroup(struct graphs *g, struct graph *gr)
{
	memset(g->group, 0, sizeof(g->group));
	gr->leaders = 0;
	for (uint32_t i = gr->first; i; i = g->node[i - 1].next) {
		struct node *n = &g->node[i - 1], *l = leader_of(g, gr, n);
		double share = share_of(gr, n);

		l->share += share;
		l->sum_ns += share * n->mean_ns;
	}
	gr->dirty = false;
}

static void expand(struct graphs *g, const struct event *whole, graphs_fn *fn, void *arg)
{
	struct graph *gr = graph_at(g, (uint32_t)whole->a);
	uint64_t end = whole->start_ns + whole->dur_ns;

	if (!gr->id || !gr->first) {
		g->unknown++;
		return;
	}
	gr->used = true;
	if (gr->dirty)
		regroup(g, gr);
	for (uint32_t i = gr->leaders; i; i = g->node[i - 1].leader) {
		struct node *n = &g->node[i - 1];
		uint64_t dur = (uint64_t)(n->sum_ns / n->share + 0.5);
		uint32_t count;

		n->carry += n->share;
		count = (uint32_t)n->carry;
		n->carry -= count;
		if (count)
			fn(arg,
			   &(struct event){ .start_ns = end > dur ? end - dur : 0,
					    .dur_ns = dur,
					    .a = n->a,
					    .name = n->name,
					    .track = n->track,
					    .kind = n->kind },
			   count);
	}
}

void graphs_take(struct graphs *g, const struct event *ev, size_t n, graphs_fn *fn, void *arg)
{
	for (size_t i = 0; i < n; i++) {
		if (!graphs_wants(&ev[i]))
			continue;
		if (ev[i].kind == EVENT_GRAPH)
			expand(g, &ev[i], fn, arg);
		else
			learn(g, &ev[i]);
	}
}
