/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overload.c - an app that emits far more than the node can take.
 *
 * Rounds of normal bursts and of flat-out emission take turns. The app's cost an event must
 * stay near the normal one, aond's memory within its budget, and every event must be accounted
 * for: emitted = stored + lost by reason + overwritten + in flight.
 *
 * aond runs as nicely as it can, so that the app gets the CPU and can emit more than ten times
 * what aond takes. Costs are CPU time: the figure is that of emission, not of sharing a CPU.
 */
#include <aon/aon.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "lib/bench.h"

#define THREADS  2
#define ROUNDS   11
#define BATCH    2000
#define NORMAL   16 /* batches: both threads' fit the pool */
#define FLOOD_NS 500000000u

struct side {
	double normal[ROUNDS], flood[ROUNDS]; /* CPU ns an event */
	uint64_t emitted, flooded;
};

static struct side side[THREADS];
static pthread_barrier_t barrier;

static void batch(struct side *s)
{
	for (int n = 0; n < BATCH; n++)
		AON_MARK("flood", n, s->emitted, s->flooded);
	s->emitted += BATCH;
}

static void round_of(struct side *s, int r)
{
	uint64_t cpu, until, before;

	cpu = bench_cpu_ns(0);
	for (int i = 0; i < NORMAL; i++)
		batch(s);
	s->normal[r] = (double)(bench_cpu_ns(0) - cpu) / (NORMAL * BATCH);
	pthread_barrier_wait(&barrier);
	bench_sleep_until(bench_ns() + 200000000u);

	before = s->emitted;
	until = bench_ns() + FLOOD_NS;
	cpu = bench_cpu_ns(0);
	while (bench_ns() < until)
		batch(s);
	s->flood[r] = (double)(bench_cpu_ns(0) - cpu) / (double)(s->emitted - before);
	s->flooded += s->emitted - before;
	pthread_barrier_wait(&barrier);
	bench_sleep_until(bench_ns() + 1500000000u); /* aond catches up */
}

static void *thread(void *arg)
{
	for (int r = 0; r < ROUNDS; r++)
		round_of(arg, r);
	return NULL;
}

int main(int argc, char *argv[])
{
	double normal = 0, flood = 0, ratio;
	uint64_t emitted = 0, flooded = 0, accounted;
	pthread_t t[THREADS];
	struct account sum;
	struct node node;
	long peak;

	(void)argc;
	bench_begin(argv);
	node_start(&node, "nice = 19\n");
	if (aon_join(2000) < 0)
		bench_die("joining aond", EAGAIN);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, thread, &side[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	peak = node_kib(&node, "status", "VmHWM:");
	node_stop(&node, &sum);
	for (int i = 0; i < THREADS; i++) {
		normal += bench_median(side[i].normal, ROUNDS) / THREADS;
		flood += bench_median(side[i].flood, ROUNDS) / THREADS;
		emitted += side[i].emitted;
		flooded += side[i].flooded;
	}
	accounted = sum.stored + account_lost(&sum) + sum.overwritten + sum.in_flight;
	ratio = flood / normal;
	bench_row(
		"overload_emit_ratio", ratio, "x normal", 1.5,
		ratio <= 1.5 && sum.emitted == emitted && accounted == emitted,
		"%.1f ns against %.1f ns; %.0f M/s emitted, %.1f x what was stored; emitted %llu, "
		"accounted %llu; aond at most %ld KiB",
		flood, normal, (double)flooded / ROUNDS / (FLOOD_NS / 1e3),
		(double)emitted / (double)(sum.stored + sum.overwritten),
		(unsigned long long)emitted, (unsigned long long)accounted, peak);
	return 0;
}
