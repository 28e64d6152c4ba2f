/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speed.c - how slow this machine is now, as a multiple of the one that the bars were set on.
 *
 * Three kinds of work that the product does: arithmetic, dependent loads from a cache, and copies
 * from memory. The best of many short rounds of each, in CPU time; the geometric mean is printed. bench/run.py scales
 * the bars that are times by it, so that they hold on another machine as on this one.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define ROUNDS 40
#define SLOTS  (1u << 18)
#define BYTES  (32u << 20)

static unsigned *ring;
static char *from, *to;
static volatile uint64_t sink;

static void arithmetic(void)
{
	uint64_t x = 1;

	for (int i = 0; i < 1000000; i++)
		x = (x ^ x >> 29) * 0x9e3779b97f4a7c15u;
	sink = x;
}

static void loads(void)
{
	unsigned at = 0;

	for (int i = 0; i < 200000; i++)
		at = ring[at];
	sink = at;
}

static void copies(void)
{
	memcpy(to, from, BYTES);
	sink = (uint64_t)to[sink % BYTES];
}

static const struct {
	void (*work)(void);
	double ns; /* on the machine of the bars: a Xeon with two virtual cores */
} parts[] = { { arithmetic, 1.69e6 }, { loads, 1.36e6 }, { copies, 4.9e6 } };

/* One cycle through all slots in an order that no prefetcher guesses. */
static void make_ring(void)
{
	uint64_t x = 88172645463325252u;

	for (unsigned i = 0; i < SLOTS; i++)
		ring[i] = i;
	for (unsigned i = SLOTS - 1; i > 0; i--) {
		unsigned j, t = ring[i];

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		j = (unsigned)(x % i);
		ring[i] = ring[j];
		ring[j] = t;
	}
}

int main(int argc, char *argv[])
{
	double slow = 1;

	(void)argv;
	ring = malloc(SLOTS * sizeof(*ring));
	from = malloc(BYTES);
	to = malloc(BYTES);
	if (!ring || !from || !to)
		return 1;
	memset(from, 1, BYTES);
	make_ring();
	for (unsigned p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
		double best = 1e18;

		for (int i = 0; i < ROUNDS; i++) {
			uint64_t t0 = clock_cpu_ns();
			double took;

			parts[p].work();
			took = (double)(clock_cpu_ns() - t0);
			best = took < best ? took : best;
		}
		if (argc > 1)
			fprintf(stderr, "%.0f ns\n", best);
		slow *= best / parts[p].ns;
	}
	printf("%.3f\n", cbrt(slow));
	return 0;
}
