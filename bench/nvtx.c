/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx.c - the additional cost of an NVTX push and pop when libaon-nvtx.so is injected.
 *
 *	nvtx PLAIN INJECTED PROBE      two builds of nvtx_pairs.c, and libaon-nvtx.so
 *
 * As in emit.c: contenders alternate in one process, and the shortest batch of a round counts; a
 * round fits the pool. The figure is the first quartile of the rounds: a neighbour on the same core
 * slows a call of NVTX by half and not the floor, which waits for the counter. Plain texts
 * (nvtxRangePushA) and registered strings of a domain (nvtxDomainRangePushEx) are two contenders;
 * the row is the dearer one.
 */
#include <aon/aon.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bench.h"
#include "lib/nvtx_pairs.h"

#define BATCH   500
#define BATCHES 24
#define ROUNDS  90
#define FLOOR   (128u << 10)
#define BAR     2.6

enum contender {
	FLOOR_STORE,
	PLAIN,
	INJECTED = PLAIN + NVTX_PAIRS,
	CONTENDERS = INJECTED + NVTX_PAIRS
};

struct slot {
	uint64_t word[4];
};

static nvtx_pairs_fn *plain, *injected;
static double ns[CONTENDERS][ROUNDS];

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

static double batch(int c, uint64_t i, void *buf)
{
	uint64_t t = bench_ns();

	if (c == FLOOR_STORE)
		run_floor(i, buf);
	else if (c < INJECTED)
		plain((enum nvtx_pair)(c - PLAIN), BATCH);
	else
		injected((enum nvtx_pair)(c - INJECTED), BATCH);
	return (double)(bench_ns() - t) / BATCH;
}

static void measure(void *buf)
{
	uint64_t i = 0;

	for (int r = 0; r < ROUNDS; r++) {
		for (int c = 0; c < CONTENDERS; c++)
			ns[c][r] = 1e9;
		for (int b = 0; b < BATCHES; b++) {
			for (int c = 0; c < CONTENDERS; c++) {
				double v = batch(c, i += BATCH, buf);

				ns[c][r] = v < ns[c][r] ? v : ns[c][r];
			}
		}
		bench_sleep_until(bench_ns() + 60000000u); /* aond drains */
	}
}

static nvtx_pairs_fn *load(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	nvtx_pairs_fn *fn = lib ? (nvtx_pairs_fn *)dlsym(lib, "nvtx_pairs") : NULL;

	if (!fn)
		bench_die(path, ENOENT);
	for (int how = 0; how < NVTX_PAIRS; how++)
		fn((enum nvtx_pair)how, 1); /* NVTX initialises itself at its first call */
	return fn;
}

int main(int argc, char *argv[])
{
	const uint64_t emitted = 2ull * NVTX_PAIRS * (1 + BATCH * BATCHES * ROUNDS);
	double m[CONTENDERS], ratio[NVTX_PAIRS], worst = 0;
	struct account sum;
	struct node node;
	uint64_t lost;
	void *buf;

	if (argc < 4)
		return fprintf(stderr, "usage: nvtx PLAIN INJECTED PROBE\n"), 2;
	bench_begin(argv);
	node_start(&node, "");
	if (aon_join(2000) < 0)
		bench_die("joining aond", EAGAIN);
	unsetenv("NVTX_INJECTION64_PATH");
	unsetenv("AON_NVTX_CHAIN");
	plain = load(argv[1]);
	setenv("NVTX_INJECTION64_PATH", argv[3], 1);
	injected = load(argv[2]);
	buf = aligned_alloc(64, FLOOR);
	memset(buf, 0, FLOOR);
	measure(buf);
	free(buf);
	node_stop(&node, &sum);
	lost = account_lost(&sum) + (emitted - sum.emitted);
	for (int c = 0; c < CONTENDERS; c++) {
		bench_median(ns[c], ROUNDS); /* sorts */
		m[c] = ns[c][ROUNDS / 4];
	}
	for (int p = 0; p < NVTX_PAIRS; p++) {
		ratio[p] = (m[INJECTED + p] - m[PLAIN + p]) / m[FLOOR_STORE];
		worst = ratio[p] > worst ? ratio[p] : worst;
	}
	bench_row("nvtx_ratio", worst, "x floor", BAR, worst <= BAR && !lost,
		  "push and pop: text %.1f ns (%.2f x), registered %.1f ns (%.2f x), not injected "
		  "%.1f ns, floor %.2f ns, %llu lost",
		  m[INJECTED], ratio[0], m[INJECTED + 1], ratio[1], m[PLAIN], m[FLOOR_STORE],
		  (unsigned long long)lost);
	return 0;
}
