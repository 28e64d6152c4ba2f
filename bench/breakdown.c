/* SPDX-License-Identifier: Apache-2.0 */
/*
 * breakdown.c - the cost of a breakdown of 10 million events of a store.
 *
 *	store_breakdown_s   CPU seconds of: aon report STORE --by rank, the whole process
 *
 * The store is big.c's, with 3 streams on each GPU. The minimum of some rounds: a disturbance only
 * makes a round longer.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/bench.h"
#include "lib/big.h"

#define ROUNDS 5
#define BAR_S  1.0

/* CPU seconds of the command, which has one thread; its peak in MB, and its wall seconds. */
static double run_once(const char *aon, const char *path, double *mb, double *wall)
{
	uint64_t t0 = bench_ns();
	struct rusage ru;
	double took;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execl(aon, aon, "report", path, "--by", "rank", (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &ru) < 0 || status)
		bench_die("aon report", -1);
	*mb = (double)ru.ru_maxrss / 1024;
	took = (double)(bench_ns() - t0) / 1e9;
	*wall = took < *wall ? took : *wall;
	return (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
	       (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char *argv[])
{
	char dir[] = "/tmp/aon-bench-XXXXXX", path[64];
	struct store_opts o = { .create = true };
	struct store_why why = { "" };
	double best = 1e9, wall = 1e9, mb = 0, took;
	struct store *st;

	if (argc != 2 || !mkdtemp(dir))
		bench_die("usage: breakdown AON", -1);
	snprintf(path, sizeof(path), "%s/breakdown.db", dir);
	if (store_open_rw(&st, path, &o, &why) < 0)
		bench_die(why.text, -1);
	big_fill(st, 3);
	store_close(st);
	for (int i = 0; i < ROUNDS; i++) {
		took = run_once(argv[1], path, &mb, &wall);
		best = took < best ? took : best;
	}
	unlink(path);
	rmdir(dir);
	bench_row("store_breakdown_s", best, "s", BAR_S, best <= BAR_S,
		  "10 M kernels, 24 streams; wall %.2f s, %.0f MB at most", wall, mb);
	return 0;
}
