/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consumers.c - the cost of live consumers to aond: its CPU time per event with a hundred of them
 * against one, alternating within one run of aond.
 *
 *	consumers soak SECONDS   a hundred for so long, one of them stuck, others that come and go:
 *	                         memory flat, nothing lost, everybody sees the same
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <aon/consumer.h>

#include "lib/bench.h"

#define MANY    100
#define ROUNDS  4
#define SECONDS 3
#define RATE    200e3

#define SOAK_RATE 10e3 /* a hundred read it on half a core */

/* Every one reads all there is; every second one wants half of the events. Says when all are there. */
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

/* --- soak --- */

struct seen {
	uint64_t least,
		most;  /* events that a consumer of all saw, with those reported to it as lost */
	uint64_t lost; /* by any of them */
	uint64_t came; /* consumers that came and went */
};

static volatile sig_atomic_t over;

static void on_term(int sig)
{
	(void)sig;
	over = 1;
}

/* One comes, reads a little, and goes. */
static bool pass_by(const char *run_dir)
{
	struct aon_consumer_event e;
	struct aon_consumer *c;

	if (aon_consumer_open(&c, run_dir, NULL))
		return false;
	aon_consumer_next(c, &e, 10);
	aon_consumer_close(c);
	return true;
}

/* The first of a hundred never reads. Ends with what the others saw, on `to`. */
static void attend(const char *run_dir, int to)
{
	struct seen seen = { .least = UINT64_MAX };
	uint64_t events[MANY] = { 0 }, next = 0;
	struct aon_consumer *c[MANY];
	struct aon_consumer_event e;
	int last = 0;

	signal(SIGTERM, on_term);
	for (int i = 0; i < MANY; i++)
		if (aon_consumer_open(&c[i], run_dir, NULL))
			_exit(1);
	if (write(to, "r", 1) != 1)
		_exit(1);
	while (last < 2) { /* all that is there once it is over */
		last += over;
		for (int i = 1; i < MANY; i++)
			while (aon_consumer_next(c[i], &e, 0) > 0)
				events[i]++;
		if (bench_ns() > next) {
			next = bench_ns() + 1000000000u;
			seen.came += pass_by(run_dir);
		}
		bench_sleep_until(bench_ns() + 20000000u);
	}
	for (int i = 1; i < MANY; i++) {
		uint64_t lost = aon_consumer_lost(c[i]), all = events[i] + lost;

		seen.lost += lost;
		seen.least = all < seen.least ? all : seen.least;
		seen.most = all > seen.most ? all : seen.most;
	}
	_exit(write(to, &seen, sizeof(seen)) != sizeof(seen));
}

static int soak(int seconds)
{
	long rss, first = 0, most = 0;
	struct account sum;
	struct seen seen;
	struct node node;
	struct feed feed;
	uint64_t emitted;
	int ready[2];
	pid_t pid;
	char r;

	node_start(&node, "");
	if (pipe(ready))
		bench_die("pipe", 0);
	pid = fork();
	if (!pid)
		attend(getenv("AON_RUN_DIR"), ready[1]);
	close(ready[1]);
	if (pid < 0 || read(ready[0], &r, 1) != 1)
		bench_die("no consumers", 0);
	feed_start(&feed, 1, SOAK_RATE, seconds);
	for (int s = 0; s < seconds; s++) {
		rss = node_kib(&node, "status", "VmRSS:");
		if (s <= bench_warm(seconds))
			first = rss > first ? rss : first;
		most = rss > most ? rss : most;
		if (s % 30 == 0)
			fprintf(stderr, "%5d s  RSS %ld KiB\n", s, rss);
		bench_sleep_until(bench_ns() + 1000000000u);
	}
	emitted = feed_wait(&feed);
	bench_sleep_until(bench_ns() + 2000000000u);
	kill(pid, SIGTERM);
	if (read(ready[0], &seen, sizeof(seen)) != sizeof(seen))
		bench_die("a consumer ended", 0);
	waitpid(pid, NULL, 0);
	node_stop(&node, &sum);
	printf("consumers: %d s, %.1f M events, %llu lost%s; each of %d saw %llu to %llu, %llu "
	       "lost beside one that is stuck; %llu came and went; RSS at most %ld KiB, %ld at "
	       "first\n",
	       seconds, (double)emitted / 1e6, (unsigned long long)account_lost(&sum),
	       account_why(&sum), MANY - 1, (unsigned long long)seen.least,
	       (unsigned long long)seen.most, (unsigned long long)seen.lost,
	       (unsigned long long)seen.came, most, first);
	return account_lost(&sum) || seen.lost || seen.least != seen.most || !seen.least ||
	       !seen.came || most > first + first / 20;
}

int main(int argc, char *argv[])
{
	double none[ROUNDS], one[ROUNDS], many[ROUNDS], ratio[ROUNDS], value;
	struct account sum;
	struct node node;

	bench_begin(argv);
	if (argc == 3 && !strcmp(argv[1], "soak"))
		return soak(atoi(argv[2]));
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
