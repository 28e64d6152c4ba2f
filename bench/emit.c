/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit.c - the cost of one event for the thread that emits it.
 *
 * In every round each contender runs BATCHES batches, alternating, in one process:
 *
 *	floor     rdtsc and a 32-byte store into 128 KiB: the least that stamping can cost
 *	aon       AON_MARK() with three integers, through libaon, into a live aond
 *	closed    the same call while its bit is not wanted
 *	lttng     an LTTng-UST tracepoint with three integers, its session recording to disk
 *
 * A figure is the median over rounds of the shortest batch: a disturbance only makes a batch
 * longer. A round fits the pool, and aond drains it between rounds, so that no batch runs into a
 * full pool; the accounts at the end prove it.
 */
#include <aon/aon.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bench.h"
#ifdef HAVE_LTTNG
#include "lib/lttng_tp.h"
#define LTTNG_WHY "no LTTng session records aon_bench: see bench/with-lttng"
#else
#define LTTNG_WHY "built without liblttng-ust-dev"
#endif

#define BATCH   2000
#define BATCHES 16
#define ROUNDS  45
#define THREADS 2
#define MARKS   ((uint64_t)BATCH * BATCHES * ROUNDS * (1 + THREADS))
#define FLOOR   (128u << 10)

enum contender { EMPTY, FLOOR_STORE, AON, CLOSED, LTTNG, CONTENDERS };

struct result {
	double ns[CONTENDERS][ROUNDS]; /* smallest batch, per event */
};

struct slot {
	uint64_t word[4];
};

static struct result results[THREADS];
static pthread_barrier_t barrier;

static void run_floor(uint64_t i, void *buf)
{
	struct slot *s = buf, *end = s + FLOOR / sizeof(*s);

	s += i % (FLOOR / sizeof(*s));
	for (int n = 0; n < BATCH; n++) {
		*s = (struct slot){ { __builtin_ia32_rdtsc(), i, i + (uint64_t)n, (uint64_t)n } };
		__asm__ volatile("" ::: "memory");
		s = s + 1 < end ? s + 1 : buf;
	}
}

static void run_empty(uint64_t i)
{
	for (int n = 0; n < BATCH; n++)
		__asm__ volatile("" ::"r"(i + (uint64_t)n) : "memory");
}

static void run_aon(uint64_t i)
{
	for (int n = 0; n < BATCH; n++)
		AON_MARK("mark", n, i, i + (uint64_t)n);
}

#define NOT_WANTED 0x80000000u /* a bit that no aond sets */

static void run_closed(uint64_t i)
{
	for (int n = 0; n < BATCH; n++)
		AON_SITE_(NOT_WANTED, "mark",
			  aon_emit_(AON_MARK_, aon_id_, (uint32_t)n, i, i + (uint64_t)n));
}

static void run_lttng(uint64_t i)
{
#ifdef HAVE_LTTNG
	for (int n = 0; n < BATCH; n++)
		lttng_ust_tracepoint(aon_bench, mark, (uint32_t)n, i, i + (uint64_t)n);
#else
	(void)i;
#endif
}

static int lttng_on(void)
{
#ifdef HAVE_LTTNG
	return lttng_ust_tracepoint_enabled(aon_bench, mark) != 0;
#else
	return 0;
#endif
}

static double batch(enum contender c, uint64_t i, void *buf)
{
	uint64_t t = bench_ns();

	switch (c) {
	case EMPTY:
		run_empty(i);
		break;
	case FLOOR_STORE:
		run_floor(i, buf);
		break;
	case AON:
		run_aon(i);
		break;
	case CLOSED:
		run_closed(i);
		break;
	default:
		run_lttng(i);
	}
	return (double)(bench_ns() - t) / BATCH;
}

static void *thread(void *arg)
{
	struct result *r = arg;
	uint64_t i = 0;
	void *buf = aligned_alloc(64, FLOOR);

	memset(buf, 0, FLOOR);
	for (int round = 0; round < ROUNDS; round++) {
		for (int c = 0; c < CONTENDERS; c++)
			r->ns[c][round] = 1e9;
		pthread_barrier_wait(&barrier);
		for (int b = 0; b < BATCHES; b++) {
			for (int c = 0; c < CONTENDERS; c++) {
				double ns = batch((enum contender)c, i += BATCH, buf);

				if (ns < r->ns[c][round])
					r->ns[c][round] = ns;
			}
		}
		bench_sleep_until(bench_ns() + 60000000u); /* aond drains */
	}
	free(buf);
	return NULL;
}

static void run_threads(int n, double ns[CONTENDERS])
{
	pthread_t t[THREADS];
	double all[THREADS * ROUNDS];

	pthread_barrier_init(&barrier, NULL, (unsigned)n);
	for (int i = 0; i < n; i++)
		pthread_create(&t[i], NULL, thread, &results[i]);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	pthread_barrier_destroy(&barrier);
	for (int c = 0; c < CONTENDERS; c++) {
		for (int i = 0; i < n; i++)
			memcpy(&all[i * ROUNDS], results[i].ns[c], sizeof(results[i].ns[c]));
		ns[c] = bench_median(all, n * ROUNDS);
	}
}

/* No daemon at all: the gate that a process has which found none. */
static double no_daemon(double *empty)
{
	double aon[ROUNDS], loop[ROUNDS];

	for (int r = 0; r < ROUNDS; r++) {
		aon[r] = loop[r] = 1e9;
		for (int b = 0; b < BATCHES * 128; b++) {
			double a = batch(AON, (uint64_t)b, NULL),
			       e = batch(EMPTY, (uint64_t)b, NULL);

			aon[r] = a < aon[r] ? a : aon[r];
			loop[r] = e < loop[r] ? e : loop[r];
		}
		/* Not all rounds in one moment of the neighbours'. */
		bench_sleep_until(bench_ns() + 20000000u);
	}
	*empty = bench_median(loop, ROUNDS);
	return bench_median(aon, ROUNDS);
}

static void ratio_row(const char *id, const double ns[CONTENDERS], uint64_t lost)
{
	double ratio = ns[AON] / ns[FLOOR_STORE];

	bench_row(id, ratio, "x floor", 1.25, ratio <= 1.25 && !lost,
		  "aon %.2f ns, floor %.2f ns, %llu lost", ns[AON], ns[FLOOR_STORE],
		  (unsigned long long)lost);
}

int main(int argc, char *argv[])
{
	double one[CONTENDERS], two[CONTENDERS], empty, absent, off;
	struct account sum;
	struct node node;
	uint64_t lost;

	(void)argc;
	bench_begin(argv);
	absent = no_daemon(&empty);
	node_start(&node, "");
	if (aon_join(2000) < 0)
		bench_die("joining aond", EAGAIN);
	run_threads(1, one);
	run_threads(THREADS, two);
	node_stop(&node, &sum);
	lost = account_lost(&sum) + (MARKS - sum.emitted);

	ratio_row("emit_ratio_1t", one, lost);
	ratio_row("emit_ratio_2t", two, lost);
	off = one[CLOSED] > absent ? one[CLOSED] : absent;
	bench_row("disabled_ns", off, "ns", 1.0, off <= 1.0,
		  "no daemon %.2f ns, not wanted %.2f ns, of which the loop is %.2f ns", absent,
		  one[CLOSED], empty);
	if (lttng_on())
		bench_row("lttng_emit_ratio", one[LTTNG] / one[FLOOR_STORE], "x floor", -1, 1,
			  "LTTng-UST %.2f ns with 1 thread, %.2f ns with %d", one[LTTNG],
			  two[LTTNG], THREADS);
	else
		bench_skip("lttng_emit_ratio", LTTNG_WHY);
	return 0;
}
