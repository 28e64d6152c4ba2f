/* SPDX-License-Identifier: Apache-2.0 */
/* graph_check.c - the checks graph, endure and deadlock. */
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/proc.h"
#include "gpucheck/check.h"

#define NODES     50u
#define TOGGLE    10u       /* launches between two changes of the level */
#define TOGGLE_NS 10000000u /* a launch that takes longer for a change is a pause of the program */
#define THREADS   8u
#define FLAT      (64u << 20)

static void *stream;

static void begin(void)
{
	tool_inject(TOOL_PROBE, 0);
	driver_load();
	driver_init();
	tool_must();
	driver_context();
	stream = driver_stream();
}

static void launch(void *exec)
{
	must(cu.cuGraphLaunch(exec, stream), "cuGraphLaunch");
}

/* --- graph --- */

struct tally {
	uint64_t nodes, graphs;
};

static struct tally tally(void)
{
	return (struct tally){ tool_kernels(), tool_seen(CK_GRAPH_TRACE) };
}

/* What came since: `nodes` and `graphs` are expected. */
static bool came(const char *what, struct tally had, uint64_t nodes, uint64_t graphs)
{
	struct tally now;

	driver_wait();
	tool_await(CK_GRAPH_TRACE, had.graphs + graphs);
	tool_await(CK_CONCURRENT_KERNEL, had.nodes + nodes);
	now = tally();
	fact(what, "%llu nodes of %llu, %llu graphs of %llu",
	     (unsigned long long)(now.nodes - had.nodes), (unsigned long long)nodes,
	     (unsigned long long)(now.graphs - had.graphs), (unsigned long long)graphs);
	return now.nodes - had.nodes == nodes && now.graphs - had.graphs == graphs;
}

static bool all_at_one_level(const char *what, void *exec, unsigned n, bool whole)
{
	struct tally had = tally();

	for (unsigned i = 0; i < n; i++)
		launch(exec);
	return came(what, had, whole ? 0 : (uint64_t)n * NODES, whole ? n : 0);
}

/* As templates change it: on the thread that launches, without waiting for the GPU. */
static bool toggled(void *exec, unsigned n, uint64_t *worst_ns)
{
	struct tally had = tally();
	unsigned graphs = 0;
	bool whole = false;

	for (unsigned i = 0; i < n; i++) {
		uint64_t t = clock_mono_ns();

		if (i % TOGGLE == 0 && i) {
			whole = !whole;
			must(tool_enable(CK_GRAPH_TRACE, whole), "cuptiActivityEnable");
			t = clock_mono_ns() - t;
			*worst_ns = t > *worst_ns ? t : *worst_ns;
		}
		launch(exec);
		graphs += whole;
	}
	if (whole)
		tool_enable(CK_GRAPH_TRACE, false);
	return came("toggled", had, (uint64_t)(n - graphs) * NODES, graphs);
}

void check_graph(void)
{
	unsigned n = scaled(200, 40);
	bool by_node, by_graph, by_template, before;
	uint64_t worst = 0;
	void *exec, *other;

	begin();
	exec = driver_graph(NODES, stream);
	by_node = all_at_one_level("by_node", exec, n, false);
	by_template = toggled(exec, n, &worst);
	must(tool_enable(CK_GRAPH_TRACE, true), "cuptiActivityEnable");
	other = driver_graph(NODES, stream);
	by_graph = all_at_one_level("by_graph", other, n, true);
	tool_enable(CK_GRAPH_TRACE, false);
	before = all_at_one_level("made_at_graph_level", other, n, false);
	fact("toggle_ms", "%.2f", (double)worst / 1e6);
	if (by_node && by_template && before && worst < TOGGLE_NS) {
		setting("graphs", "template");
		say("nodes are exact, also when the level changes (%.1f ms)", (double)worst / 1e6);
		return;
	}
	if (by_node) {
		setting("graphs", "node");
		say("nodes are exact; %s, so graphs are recorded node by node",
		    by_template && before ? "changing the level takes too long"
					  : "a graph keeps the level at which it was made");
		return;
	}
	say("node by node, records are not complete");
	setting("graphs", "graph");
	fix("AON_CUDA_GRAPHS=graph: whole graphs%s",
	    by_graph ? " are exact" : " are not exact either");
	if (!by_graph)
		setting("fidelity", "heartbeat");
	verdict(FAIL);
}

/* --- endure --- */

void check_endure(void)
{
	unsigned launches = scaled(5000, 200), nodes = 1000;
	uint64_t early = 0, late, untimed;
	void *exec;

	begin();
	exec = driver_graph(nodes, stream);
	for (unsigned i = 0; i < launches; i++) {
		launch(exec);
		if (i % 8 != 7)
			continue;
		must(cu.cuStreamSynchronize(stream), "cuStreamSynchronize");
		tool_flush();
		if (i > launches / 5 && !early)
			early = proc_rss();
	}
	driver_wait();
	tool_await(CK_CONCURRENT_KERNEL, (uint64_t)launches * nodes);
	late = proc_rss();
	untimed = atomic_load(&tool.untimed);
	fact("kernels", "%llu", (unsigned long long)tool_kernels());
	fact("dropped", "%llu", (unsigned long long)atomic_load(&tool.dropped));
	fact("grown_mib", "%lld", (long long)(late - early) / 1048576);
	say("%.1f million kernels of graphs: %llu without times, memory %+lld MiB",
	    (double)tool_kernels() / 1e6, (unsigned long long)untimed,
	    (long long)(late - early) / 1048576);
	if (!untimed && late < early + FLAT && tool_kernels() == (uint64_t)launches * nodes)
		return;
	if (untimed || tool_kernels() != (uint64_t)launches * nodes) {
		setting("graphs", "graph");
		fix("AON_CUDA_GRAPHS=graph: so many nodes are too many for CUPTI");
	} else {
		fix("AON_OFF=1 for programs that run for days: CUPTI's memory grows");
	}
	verdict(FAIL);
}

/* --- deadlock --- */

static _Atomic bool stopping;
static _Atomic uint64_t graphs_made;

static void *make_graphs(void *ctx)
{
	void *own;

	must(cu.cuCtxSetCurrent(ctx), "cuCtxSetCurrent");
	own = driver_stream();
	while (!atomic_load(&stopping)) {
		void *exec = driver_graph(10, own);

		for (unsigned i = 0; i < 5; i++)
			must(cu.cuGraphLaunch(exec, own), "cuGraphLaunch");
		must(cu.cuStreamSynchronize(own), "cuStreamSynchronize");
		must(cu.cuGraphExecDestroy(exec), "cuGraphExecDestroy");
		atomic_fetch_add(&graphs_made, 1);
	}
	return NULL;
}

/* Either it ends, or the limit of the check ends it. */
void check_deadlock(void)
{
	unsigned ms = scaled(40000, 1000);
	uint64_t end = clock_mono_ms() + ms;
	pthread_t t[THREADS];
	void *ctx;

	begin();
	must(cu.cuDevicePrimaryCtxRetain(&ctx, 0), "cuDevicePrimaryCtxRetain");
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, make_graphs, ctx))
			unknown("no thread can be started");
	for (bool whole = true; clock_mono_ms() < end; whole = !whole) {
		tool_enable(CK_GRAPH_TRACE, whole);
		tool_flush();
		nap_ms(2);
	}
	atomic_store(&stopping, true);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	say("%llu graphs of %u threads in %u s, beside flushes and changes of the level",
	    (unsigned long long)atomic_load(&graphs_made), THREADS, ms / 1000);
}
