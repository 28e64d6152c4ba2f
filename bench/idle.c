/* SPDX-License-Identifier: Apache-2.0 */
/* idle.c - the cost of an idle aond: one process has joined, and sleeps. */
#include <aon/aon.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/bench.h"

#define SECONDS 15u

int main(int argc, char *argv[])
{
	struct account sum;
	struct node node;
	uint64_t cpu;
	double ms;
	pid_t app;
	long pss, rss;

	(void)argc;
	bench_begin(argv);
	node_start(&node, "");
	app = fork();
	if (app == 0) {
		if (aon_join(2000) < 0)
			_exit(1);
		aon_mark("here");
		pause();
	}
	bench_sleep_until(bench_ns() + 3000000000u);
	if (waitpid(app, NULL, WNOHANG))
		bench_die("joining aond", EAGAIN);
	cpu = bench_cpu_ns(node.pid);
	bench_sleep_until(bench_ns() + SECONDS * 1000000000ull);
	ms = (double)(bench_cpu_ns(node.pid) - cpu) / 1e6;
	pss = node_kib(&node, "smaps_rollup", "Pss:");
	rss = node_kib(&node, "status", "VmRSS:");
	kill(app, SIGKILL);
	waitpid(app, NULL, 0);
	node_stop(&node, &sum);
	bench_row("idle_pss_kb", (double)pss, "kB", 9000, pss <= 9000,
		  "RSS %ld kB; two pools of 4.5 MB are charged to aond, and mapped where used",
		  rss);
	bench_row("idle_cpu_ms", ms, "ms", 10, ms < 10, "in %u s", SECONDS);
	return sum.emitted == 1 ? 0 : 1;
}
