/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consumers.c - what consumers of live events cost aond: its CPU time an event with a hundred of
 * them against one, turn and turn about in one aond's life.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <aon/consumer.h>

#include "bench.h"

#define MANY    100
#define ROUNDS  4
#define SECONDS 3
#define RATE    200e3

/* Every one reads all there is; every second one wants half of it. Says when all are there. */
static void consume(const char *run_dir, int n, int ready)
{
	struct aon_consumer_opts half = { .size = sizeof(half),
					  .kinds = 1ull << aon_consumer_kind_of("kernel") };
	struct aon_consumer *c[MANY];
	struct aon_consumer_event e;
	int err = 0;

	for (int i = 0; i < n && !err; i++)
		err = aon_consumer_open(&c[i], run_dir, i % 2 ? &half : NULL);
	if (err || write(ready, "r", 1) != 1)
		_exit(1);
	for (;;) {
		for (int i = 0; i < n; i++)
			while (aon_consumer_next(c[i], &e, 0) > 0)
				;
		bench_sleep_until(bench_ns() + 20000000u);
	}
}

static pid_t start(const char *run_dir, int n)
{
	int ready[2];
	pid_t pid;
	char r;

	if (pipe(ready))
		bench_die("pipe", 0);
	pid = fork();
	if (!pid)
		consume(run_dir, n, ready[1]);
	close(ready[1]);
	if (pid < 0 || read(ready[0], &r, 1) != 1)
		bench_die("no consumers", 0);
	close(ready[0]);
	return pid;
}

/* Nanoseconds of aond's CPU for an event. n 0: nobody consumes. */
static double turn(const struct node *node, int n)
{
	const char *run_dir = getenv("AON_RUN_DIR");
	pid_t pid = n ? start(run_dir, n) : 0;
	uint64_t cpu = bench_cpu_ns(node->pid), emitted;
	struct feed feed;

	feed_start(&feed, 1, RATE, SECONDS);
	emitted = feed_wait(&feed);
	cpu = bench_cpu_ns(node->pid) - cpu;
	if (pid) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return (double)cpu / (double)emitted;
}

int main(int argc, char *argv[])
{
	double none[ROUNDS], one[ROUNDS], many[ROUNDS], ratio[ROUNDS], value;
	struct account sum;
	struct node node;

	(void)argc;
	bench_begin(argv);
	node_start(&node, "");
	for (int i = 0; i < ROUNDS; i++) {
		none[i] = turn(&node, 0);
		one[i] = turn(&node, 1);
		many[i] = turn(&node, MANY);
		ratio[i] = many[i] / one[i];
	}
	node_stop(&node, &sum);
	value = bench_median(ratio, ROUNDS);
	bench_row("consumers_ratio", value, "x one consumer", 1.2, value <= 1.2,
		  "aond %.1f ns an event with none, %.1f ns with one, %.1f ns with %d; %llu lost%s",
		  bench_median(none, ROUNDS), bench_median(one, ROUNDS), bench_median(many, ROUNDS),
		  MANY, (unsigned long long)account_lost(&sum), account_why(&sum));
	return 0;
}
