/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agg.c - aond's cost to understand a record and to roll up an event.
 *
 *	agg [rounds]
 *
 * A stream like a training run's: kernels of 150 names on 8 tracks in a fixed order with jittered
 * durations, some copies, a few long ones; and a stream of nested host ranges. Fed in runs of a
 * chunk, as the drain thread does. memcpy of the same records is measured beside it. Median and
 * lower quartile of the rounds: the minimum would mislead, since a round is short and the CPU clock
 * of a virtual machine may not advance during one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agg/roll.h"
#include "agg/understand.h"

#define NAMES   150u
#define TRACKS  8u
#define RUN     127u /* units of a chunk */
#define RUNS    2048u
#define UNITS   (RUN * RUNS)
#define ROUNDS  400
#define BATCHES 16u /* of runs, between two readings of the clock */

static union aon_rec rec[UNITS], copy[UNITS];
static struct event ev[UNITS];
static uint64_t seed = 1, windows, sum_ns;

static uint32_t below(uint32_t n)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (uint32_t)((seed * 0x2545f4914f6cdd1dull >> 32) * n >> 32);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Heap ids as a real heap has them: names of 177 bytes and more, 8-byte units. */
static uint32_t name_id(uint32_t i)
{
	return 1 + i * 30;
}

static uint32_t find(void *arg, uint32_t id)
{
	(void)arg;
	return id + 2;
}

static void activities(void)
{
	uint64_t t[TRACKS];
	uint32_t order[600];

	for (uint32_t i = 0; i < TRACKS; i++)
		t[i] = 3600000000000ull;
	for (uint32_t i = 0; i < 600; i++)
		order[i] = below(NAMES);
	for (uint32_t i = 0; i < UNITS; i++) {
		uint32_t name = order[i / TRACKS % 600], track = i % TRACKS;
		uint32_t mean = 2000 + name * name * 17, dur = mean + below(mean / 5);
		struct aon_rec_act *a = &rec[i].act;

		dur = below(200) ? dur : dur * 3;
		t[track] += 900 + below(600);
		*a = (struct aon_rec_act){ dur,
					   AON_K_KERNEL,
					   1,
					   0,
					   name_id(name),
					   8000 + name * 5,
					   t[track],
					   i,
					   (uint16_t)(track * 3 + 1),
					   0 };
		if (name % 40 == 7) {
			a->kind = AON_K_COPY;
			a->flags = 1 + (uint8_t)below(3);
		}
		t[track] += dur;
	}
}

static void ranges(void)
{
	uint32_t depth = 0, t = 0;

	for (uint32_t i = 0; i < UNITS; i++) {
		uint32_t push = depth == 0 || (depth < 6 && below(2));

		t += 300 + below(200);
		rec[i].host = (struct aon_rec_host){ .t = t, .len = 1 };
		rec[i].host.kind = push ? AON_K_RANGE_PUSH : AON_K_RANGE_POP;
		rec[i].host.name = push ? name_id(below(NAMES)) : 0;
		depth += push ? 1 : -1u;
	}
}

static void count(void *arg, const struct window *w)
{
	(void)arg;
	windows++;
	for (uint32_t i = 0; i < w->rows; i++)
		sum_ns += w->row[i].total_ns;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void row(const char *stream, const char *what, double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), by_value);
	printf("%-12s %-12s %6.2f ns median  %6.2f lower quartile\n", stream, what, v[n / 2],
	       v[n / 4]);
}

static void measure(const char *stream, int rounds)
{
	static const struct understand_ops ops = { find, find, find, find, NULL };
	static const struct clock_map clk = { 1ull << 40, 3600000000000ull, 1756000000,
					      2445000000, 1756000000,       3600000000000ull };
	struct roll_opts ro = { .process = 1, .rows_max = 4096, .name_other = 1 };
	double *v[3];
	struct understand *u;
	struct roll *r;
	uint64_t lost[AON_LOSS_MAX] = { 0 }, records;

	if (understand_new(&u, &ops, NULL, 1u << 20) || roll_new(&r, &ro))
		exit(1);
	for (int k = 0; k < 3; k++)
		v[k] = calloc((size_t)rounds, sizeof(double));
	for (int i = 0; i < rounds; i++) {
		uint32_t first = (uint32_t)i * BATCHES % RUNS * RUN, units = BATCHES * RUN;
		uint64_t t0 = now_ns(), t1, t2, t3;
		size_t n = 0;

		memcpy(copy, rec + first, units * sizeof(*rec));
		t1 = now_ns();
		for (uint32_t k = 0; k < units; k += RUN)
			n += understand_records(u, &clk, 7, 256, copy + k, RUN, ev + n, &records,
						lost);
		t2 = now_ns();
		roll_add(r, ev, n, count, NULL);
		t3 = now_ns();
		v[0][i] = (double)(t1 - t0) / units;
		v[1][i] = (double)(t2 - t1) / units;
		v[2][i] = (double)(t3 - t2) / (double)(n ? n : 1);
	}
	row(stream, "memcpy", v[0], rounds);
	row(stream, "understand", v[1], rounds);
	row(stream, "roll", v[2], rounds);
	roll_close(r, UINT64_MAX, count, NULL);
	printf("%-12s %llu windows, %llu lost\n", stream, (unsigned long long)windows,
	       (unsigned long long)(lost[AON_LOSS_INVALID] + lost[AON_LOSS_UNMATCHED]));
	for (int k = 0; k < 3; k++)
		free(v[k]);
	roll_free(r);
	understand_free(u);
}

int main(int argc, char *argv[])
{
	int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;

	if (rounds < 1)
		return fprintf(stderr, "usage: agg [rounds]\n"), 2;
	activities();
	measure("activities", rounds);
	ranges();
	measure("ranges", rounds);
	return 0;
}
