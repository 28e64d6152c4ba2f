/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as templates: what is said of launches that were seen whole, against what was in them. */
#include "agg/graph.h"

#include <stdbool.h>

#include "agg/roll.h"
#include "t.h"

#define NODES 1000u
#define NAMES 7u
#define MS    1000000ull
#define S     1000000000ull

struct sum {
	uint64_t count[NAMES + 1], ns[NAMES + 1], calls;
};

static void add(void *arg, const struct event *e, uint32_t count)
{
	struct sum *s = arg;

	s->count[e->name] += count;
	s->ns[e->name] += e->dur_ns * count;
	s->calls++;
}

static uint64_t noise(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

static struct event node(uint32_t graph, uint32_t i, uint32_t corr, uint64_t dur)
{
	return (struct event){ .start_ns = S + i,
			       .dur_ns = dur,
			       .b = (uint64_t)graph << 32 | i,
			       .corr = corr,
			       .name = 1 + i % NAMES,
			       .track = 3,
			       .kind = EVENT_KERNEL };
}

static struct event whole(uint32_t graph, uint32_t corr)
{
	return (struct event){
		.start_ns = 2 * S, .dur_ns = 5 * MS, .a = graph, .corr = corr, .kind = EVENT_GRAPH
	};
}

/* `launches` of a graph whose nodes take 2 to 36 us, each time a little else; every `every`-th is
 * seen by node. What was said of all, and what is true of all. */
static void play(struct graphs *g, uint32_t graph, uint32_t launches, uint32_t every,
		 struct sum *said, struct sum *truth)
{
	uint64_t seed = graph;

	for (uint32_t l = 0; l < launches; l++) {
		bool by_node = l < 2 || l % every == 0;
		struct event w = whole(graph, l + 1);

		for (uint32_t i = 0; i < NODES; i++) {
			uint64_t dur = 2000 + 3800 * (i % 10);
			struct event e;

			dur += dur * (noise(&seed) % 200) / 1000 - dur / 10;
			e = node(graph, i, l + 1, dur);
			add(truth, &e, 1);
			if (by_node) {
				add(said, &e, 1);
				graphs_take(g, &e, 1, add, said);
			}
		}
		if (!by_node)
			graphs_take(g, &w, 1, add, said);
	}
}

static double worst(const struct sum *a, const struct sum *b)
{
	double w = 0;

	for (uint32_t i = 1; i <= NAMES; i++) {
		double e = (double)a->ns[i] / (double)b->ns[i] - 1;

		w = e > w ? e : -e > w ? -e : w;
	}
	return w;
}

static void templates(void)
{
	struct sum said = { .calls = 0 }, truth = { .calls = 0 };
	struct graphs *g = NULL;
	double w;
	bool same = true;

	T_OK(!graphs_new(&g), "a table of graphs");
	play(g, 5, 1000, 200, &said, &truth);
	w = worst(&said, &truth);
	for (uint32_t i = 1; i <= NAMES; i++)
		same &= said.count[i] == truth.count[i];
	T_OK(same, "every kernel is counted, of launches seen whole as well");
	T_OK(w < 0.01, "the worst kernel's time is off by %.3f %%, 1 is allowed", 100 * w);
	T_OK(said.calls < 700 * 1000, "nodes that are alike are added together: %u calls",
	     (unsigned)said.calls);
	T_OK(graphs_unknown(g) == 0, "no launch stayed unknown");
	graphs_free(g);
}

static void loops(void)
{
	struct sum said = { .calls = 0 };
	struct graphs *g = NULL;
	struct event w;

	graphs_new(&g);
	for (uint32_t l = 0; l < 10; l++) {
		for (uint32_t i = 0; i < 3; i++) {
			struct event e = node(9, 1, l + 1, 1000);

			graphs_take(g, &e, 1, add, &said);
		}
		if (l % 4 == 0) {
			struct event e = node(9, 2, l + 1, 500);

			graphs_take(g, &e, 1, add, &said);
		}
	}
	for (uint32_t l = 0; l < 1000; l++) {
		w = whole(9, 100 + l);
		graphs_take(g, &w, 1, add, &said);
	}
	T_OK(said.count[2] == 3000, "a node in a loop of three");
	T_OK(said.count[3] >= 290 && said.count[3] <= 310,
	     "a branch that is taken 3 in 10 times: %u", (unsigned)said.count[3]);
	w = whole(77, 1);
	graphs_take(g, &w, 1, add, &said);
	T_OK(graphs_unknown(g) == 1, "a graph that nobody has looked into is said to be unknown");
	graphs_free(g);
}

/* Graphs that are made anew all the time: the old ones make room, the one in use stays. */
static void bounds(void)
{
	struct sum said = { .calls = 0 };
	struct graphs *g = NULL;
	uint64_t before;
	struct event w;

	graphs_new(&g);
	for (uint32_t graph = 1; graph < 3000; graph++) {
		for (uint32_t i = 0; i < 100; i++) {
			struct event e = node(graph, i, graph, 1000);

			graphs_take(g, &e, 1, add, &said);
		}
		w = whole(1, graph);
		before = said.count[1];
		graphs_take(g, &w, 1, add, &said);
		if (said.count[1] - before != 15) {
			T_OK(false, "graph %u: the one in use was lost", graph);
			break;
		}
	}
	T_OK(graphs_unknown(g) == 0,
	     "3,000 graphs of 100 nodes: the one that is in use stays known");
	for (uint32_t i = 0; i < GRAPH_NODES + 1000; i++) {
		struct event e = node(5000, i, 1, 1000);

		graphs_take(g, &e, 1, add, &said);
	}
	T_OK(true, "a graph with more nodes than there is room for does no harm");
	graphs_free(g);
	graphs_free(NULL);
}

static uint64_t rolled, rolled_ns, rows;

static void window(void *arg, const struct window *win)
{
	(void)arg;
	for (uint32_t i = 0; i < win->rows; i++) {
		rolled += win->row[i].count;
		rolled_ns += win->row[i].total_ns;
		rows += win->row[i].sketch.count == win->row[i].count;
	}
}

static void many(void)
{
	struct event e = node(1, 0, 1, 1500);
	struct roll *r = NULL;

	roll_new(&r, &(struct roll_opts){ .process = 1, .rows_max = 100, .name_other = 99 });
	roll_add(r, &e, 1, window, NULL);
	roll_add_many(r, &e, 100000, window, NULL);
	roll_close(r, UINT64_MAX, window, NULL);
	T_OK(rolled == 100001 && rolled_ns == 100001 * 1500ull && rows == 1,
	     "a rollup takes many at once, its sketch as well");
	roll_free(r);
}

int main(void)
{
	templates();
	loops();
	bounds();
	many();
	return t_done();
}
