/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cost_check.c - the checks cost and memory: what CUPTI adds to a launch, step by step.
 *
 * Each arm is a process of its own, because CUPTI does not go away in one. Rounds turn the order
 * round. An arm's cost is the median of its differences from "off" in the same round; of six rounds
 * minimum and maximum are an interval of 97 %, whatever the noise looks like.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/proc.h"
#include "gpucheck/check.h"

#define ROUNDS  6u
#define BATCH   200u
#define NODES   50u
#define SPIN_NS 20000u
#define SAVES   100  /* ns of a launch for which larger buffers are worth what they hold back */
#define SHARE   0.01 /* of a program's time, as max_slowdown */

static const struct arm {
	const char *name, *what, *buffer;
} arms[] = {
	/* clang-format off */
	{ "off",        NULL, NULL },
	{ "subscribed", "0",  NULL },
	{ "callbacks",  "1",  NULL },
	{ "kernels",    "3",  NULL },
	{ "copies",     "7",  NULL },
	{ "sync",       "15", NULL },
	{ "api",        "31", NULL },
	{ "large",      "15", "1048576" }, /* as sync, with buffers of 1 MiB */
	/* clang-format on */
};

enum { OFF = 0, AS_PROBE = 5, LARGE = 7, ARMS = sizeof(arms) / sizeof(arms[0]) };

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* --- one arm --- */

/* Of one launch, in ns: the median of batches. */
static int64_t loop(void (*launch)(void *), void *arg, unsigned batches, unsigned batch)
{
	static int64_t ns[512];

	batches = batches > 512 ? 512 : batches;
	for (unsigned b = 0; b < batches; b++) {
		uint64_t begin = clock_mono_ns();

		for (unsigned i = 0; i < batch; i++)
			launch(arg);
		ns[b] = (int64_t)(clock_mono_ns() - begin) / batch;
		driver_wait();
		if (tool.open && b % 16 == 15)
			tool_flush();
	}
	qsort(ns, batches, sizeof(ns[0]), by_value);
	return ns[batches / 2];
}

static void one_kernel(void *stream)
{
	driver_launch(cu.empty, stream);
}

static void *graph_exec;

static void one_graph(void *stream)
{
	must(cu.cuGraphLaunch(graph_exec, stream), "cuGraphLaunch");
}

static void one_spin(void *stream)
{
	driver_spin(SPIN_NS, stream);
	must(cu.cuStreamSynchronize(stream), "cuStreamSynchronize");
}

void arm_loop(void)
{
	const char *what = getenv("AON_GPU_ARM"), *buffer = getenv("AON_GPU_BUFFER");
	uint32_t bits = 0, bytes = 0;
	size_t left = 0, total = 0;
	void *stream;

	if (what)
		num_u32(what, 0, 255, &bits);
	if (buffer)
		num_u32(buffer, 4096, 1u << 24, &bytes);
	if (what)
		tool_inject(bits, bytes);
	driver_load();
	driver_init();
	if (what)
		tool_must();
	driver_context();
	stream = driver_stream();
	graph_exec = driver_graph(NODES, stream);
	loop(one_kernel, stream, 4, BATCH); /* first touches */
	number("launch_ns", loop(one_kernel, stream, scaled(100, 8), BATCH));
	number("graph_ns", loop(one_graph, stream, scaled(40, 4), 10));
	number("busy_ns", loop(one_spin, stream, scaled(20, 4), 20));
	must(cu.cuMemGetInfo_v2(&left, &total), "cuMemGetInfo");
	number("gpu_bytes", (int64_t)(total - left));
	number("rss", (int64_t)proc_rss());
}

/* --- all of them --- */

static struct again results[ROUNDS][ARMS];

static bool measure(void)
{
	for (unsigned r = 0; r < ROUNDS; r++)
		for (unsigned k = 0; k < ARMS; k++) {
			unsigned i = r % 2 ? ARMS - 1 - k : k;
			struct again *a = &results[r][i];

			*a = (struct again){ .env = { { "CUDA_INJECTION64_PATH", NULL },
						      { "AON_GPU_ARM", arms[i].what },
						      { "AON_GPU_BUFFER", arms[i].buffer } } };
			if (!again(a, "loop"))
				return false;
		}
	return true;
}

struct cost {
	int64_t least, middle, most;
};

static struct cost cost_of(unsigned arm, unsigned from, const char *key)
{
	int64_t d[ROUNDS];

	for (unsigned r = 0; r < ROUNDS; r++)
		d[r] = again_number(&results[r][arm], key, 0) -
		       again_number(&results[r][from], key, 0);
	qsort(d, ROUNDS, sizeof(d[0]), by_value);
	return (struct cost){ d[0], (d[ROUNDS / 2 - 1] + d[ROUNDS / 2]) / 2, d[ROUNDS - 1] };
}

static void table(void)
{
	static const char *const keys[] = { "launch_ns", "graph_ns", "busy_ns" };
	char key[64];

	for (unsigned i = 1; i < ARMS; i++)
		for (unsigned k = 0; k < 3; k++) {
			struct cost c = cost_of(i, OFF, keys[k]);
			int64_t base = again_number(&results[0][OFF], keys[k], 1);

			snprintf(key, sizeof(key), "%s.%s", arms[i].name, keys[k]);
			fact(key, "%lld (%lld to %lld), %.1f %%", (long long)c.middle,
			     (long long)c.least, (long long)c.most,
			     100 * (double)c.middle / (double)(base ? base : 1));
		}
}

void check_cost(void)
{
	struct cost probe, large, c;

	if (!measure()) {
		say("a program with CUPTI ended badly, or CUPTI refused");
		verdict(UNKNOWN);
	}
	table();
	probe = cost_of(AS_PROBE, OFF, "launch_ns");
	large = cost_of(LARGE, AS_PROBE, "launch_ns");
	if (large.most < 0 && large.middle < -SAVES) {
		setting("buffer_kib", "1024");
		probe = cost_of(LARGE, OFF, "launch_ns");
	}
	c = cost_of(AS_PROBE, OFF, "graph_ns");
	if (probe.middle > 0)
		setting("launch_ns", "%lld", (long long)probe.middle);
	say("a launch takes %.2f us longer (%.2f to %.2f), one of a graph of %u kernels %.1f us; "
	    "%.0f "
	    "launches/s cost 1 %%",
	    (double)probe.middle / 1e3, (double)probe.least / 1e3, (double)probe.most / 1e3, NODES,
	    (double)c.middle / 1e3, probe.middle > 0 ? SHARE * 1e9 / (double)probe.middle : 1e6);
}

void check_memory(void)
{
	static const struct arm *const pair[] = { &arms[OFF], &arms[AS_PROBE] };
	struct again a[2];

	for (unsigned i = 0; i < 2; i++) {
		a[i] = (struct again){ .env = { { "CUDA_INJECTION64_PATH", NULL },
						{ "AON_GPU_ARM", pair[i]->what } } };
		if (!again(&a[i], "loop"))
			unknown("a program with CUPTI ended badly");
	}
	say("CUPTI takes %+.1f MiB of the GPU's memory and %+.1f MiB of the process's",
	    (double)(again_number(&a[1], "gpu_bytes", 0) - again_number(&a[0], "gpu_bytes", 0)) /
		    1048576,
	    (double)(again_number(&a[1], "rss", 0) - again_number(&a[0], "rss", 0)) / 1048576);
}
