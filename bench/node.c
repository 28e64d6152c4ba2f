/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node.c - the cost of an event for the node: aond's CPU time from chunk to blob and rollup.
 *
 *	node                node_ratio_1m, node_ratio_5m, lossless_2m
 *	node soak SECONDS   a million events a second for so long: memory flat, nothing lost
 *
 * The same aond differs by 1.7 x from one quarter of an hour to the next on a shared machine.
 * So its CPU time is compared with memcpy + varint + zstd-1 of events of the same kind, done in
 * small portions all through the same run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bench.h"

#define FEEDERS 8
#define SECONDS 15            /* joining and leaving, 5 ms a process, is not what an event costs */
#define PORTION 10000         /* events of one turn of the reference */
#define TURNS   (SECONDS * 8) /* at most */
/*
 * These rows ask what an event costs and how much the pipeline takes. By default aond keeps to
 * 15 % of a core on a node without GPUs and records less above that, which millions of events a
 * second of a test program exceed: the budgets are another row's subject (bench/overhead.py).
 */
#define UNBOUNDED "cpu_percent = 0\nmax_slowdown = 0\nmax_probe_cost = 0\nmeasure = off\n"

static int seconds(void)
{
	return getenv("BENCH_SHORT") ? 3 : SECONDS;
}

static uint64_t missing(const struct account *a, uint64_t emitted)
{
	return account_lost(a) + (emitted - a->emitted);
}

static void ratio(const char *id, double rate)
{
	static struct work w;
	double ref[TURNS], node_ns, ref_ns, value;
	int turns = seconds() * 8;
	uint64_t emitted, cpu;
	struct account sum;
	struct node node;
	struct feed feed;

	work_init(&w, 99, rate / FEEDERS, 0);
	node_start(&node, UNBOUNDED);
	cpu = bench_cpu_ns(node.pid);
	feed_start(&feed, FEEDERS, rate, seconds());
	for (int i = 0; i < turns; i++) {
		uint64_t next = bench_ns() + 125000000u;

		ref[i] = (double)work_reference(&w, PORTION) / PORTION;
		bench_sleep_until(next);
	}
	emitted = feed_wait(&feed);
	node_stop(&node, &sum);
	node_ns = (double)(node.cpu_ns - cpu) / (double)(emitted - missing(&sum, emitted));
	/* The mean, as it is aond's: what slows the machine down for a moment is in both. */
	ref_ns = bench_mean(ref, turns);
	value = node_ns / ref_ns;
	bench_row(id, value, "x reference", 2.0, value <= 2.0,
		  "aond %.1f ns, reference %.1f ns an event; %.1f M emitted by %d processes, "
		  "%llu lost%s; %.2f bytes an event",
		  node_ns, ref_ns, (double)emitted / 1e6, FEEDERS,
		  (unsigned long long)missing(&sum, emitted), account_why(&sum),
		  (double)node.store_bytes / (double)emitted);
}

/* Of three runs the one that was least disturbed: another program may hold the core for a while. */
static void lossless(void)
{
	uint64_t least = UINT64_MAX, emitted = 0;
	char why[3][160];

	for (int i = 0; i < 3; i++) {
		struct account sum;
		struct node node;
		struct feed feed;
		uint64_t lost;

		node_start(&node, UNBOUNDED);
		feed_start(&feed, 1, 2e6, seconds() / 3);
		emitted = feed_wait(&feed);
		node_stop(&node, &sum);
		lost = missing(&sum, emitted);
		least = lost < least ? lost : least;
		snprintf(why[i], sizeof(why[i]), "%llu lost%s", (unsigned long long)lost,
			 account_why(&sum));
	}
	bench_row("lossless_2m", (double)least, "lost", 0, least == 0,
		  "three times %.1f M emitted by one process at 2 M/s, default pool, no CPU limit: "
		  "%s, %s, %s",
		  (double)emitted / 1e6, why[0], why[1], why[2]);
}

static int soak(int length)
{
	long first = 0, last = 0; /* most while it warms up, and in the last fifth */
	struct account sum;
	struct node node;
	struct feed feed;
	uint64_t emitted, lost;

	node_start(&node, "");
	feed_start(&feed, FEEDERS, 1e6, length);
	for (int s = 0; s < length; s++) {
		long rss = node_kib(&node, "status", "VmRSS:");

		if (s <= bench_warm(length))
			first = rss > first ? rss : first;
		if (s >= length - length / 5)
			last = rss > last ? rss : last;
		if (s % 30 == 0)
			fprintf(stderr, "%5d s  RSS %ld KiB\n", s, rss);
		bench_sleep_until(bench_ns() + 1000000000u);
	}
	emitted = feed_wait(&feed);
	node_stop(&node, &sum);
	lost = missing(&sum, emitted);
	printf("soak: %d s, %.0f M events, %llu lost%s; RSS at most %ld KiB at first, "
	       "%ld KiB in the last fifth\n",
	       length, (double)emitted / 1e6, (unsigned long long)lost, account_why(&sum), first,
	       last);
	return lost || last > first + first / 20 ? 1 : 0;
}

int main(int argc, char *argv[])
{
	bench_begin(argv);
	if (argc == 3 && !strcmp(argv[1], "soak"))
		return soak(atoi(argv[2]));
	if (bench_wanted("node_ratio_1m"))
		ratio("node_ratio_1m", 1e6);
	if (bench_wanted("node_ratio_5m"))
		ratio("node_ratio_5m", 5e6);
	if (bench_wanted("lossless_2m"))
		lossless();
	return 0;
}
