/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emitter - a program that emits a known number of records, then says how many.
 *
 *	emitter [-t threads] [-n events a thread] [-r events/s in all] [-k kind] [-h hold seconds]
 *
 * kind: mark, range (push and pop: two records), kernel, step (two records), noise (marks that
 * take the most room in a store). Prints
 * {"emitted":N,"joined":0|1}. Without -j it does not wait for the daemon: events that come
 * before the answer are lost as "joining", and counted there.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <aon/aon.h>
#include <aon/provider.h>

static struct {
	unsigned threads, join_ms, hold;
	unsigned long n, rate;
	const char *kind;
} opt = { 1, 0, 0, 100000, 0, "mark" };

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void kernel(uint64_t i)
{
	static const uint32_t grid[3] = { 128, 1, 1 }, block[3] = { 256, 1, 1 };
	struct aon_act a = { .size = sizeof(a), .kind = AON_ACT_KERNEL };
	char name[32];

	if (!aon_wants(AON_WANT_GPU))
		return;
	snprintf(name, sizeof(name), "kernel_%u", (unsigned)(i % 20));
	a.name = aon_name(name);
	a.track = aon_track((uint32_t)(i & 1), 1, 7, NULL);
	a.geo = aon_geo(grid, block, 32, 0, 1024);
	a.corr = (uint32_t)i;
	a.start_ns = now_ns();
	a.end_ns = a.start_ns + 1000 + i % 500;
	aon_act_emit(&a);
}

/* As good as random: nothing makes it smaller. */
static uint64_t mix(uint64_t z)
{
	z = (z + 1) * 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static unsigned emit(uint64_t i)
{
	switch (opt.kind[0]) {
	case 'r':
		AON_PUSH("work");
		AON_POP();
		return 2;
	case 'k':
		kernel(i);
		return 1;
	case 's':
		aon_step_begin(i);
		aon_step_end(i);
		return 2;
	case 'n':
		AON_MARK("noise", (uint32_t)i, mix(2 * i), mix(2 * i + 1));
		return 1;
	default:
		AON_MARK("tick", (uint32_t)i, i, ~i);
		return 1;
	}
}

static void *run(void *arg)
{
	uint64_t start = now_ns(), records = 0;
	double gap = opt.rate ? 1e9 * opt.threads / (double)opt.rate : 0;

	for (uint64_t i = 0; i < opt.n; i++) {
		if (gap > 0 && i % 64 == 0) {
			uint64_t due = start + (uint64_t)((double)i * gap), now = now_ns();

			if (now < due)
				usleep((useconds_t)((due - now) / 1000));
		}
		records += emit(i);
	}
	*(uint64_t *)arg = records;
	return NULL;
}

int main(int argc, char *argv[])
{
	uint64_t sum = 0, *records;
	pthread_t *th;
	int c;

	while ((c = getopt(argc, argv, "t:n:r:k:h:j:")) != -1) {
		switch (c) {
		case 't':
			opt.threads = (unsigned)atoi(optarg);
			break;
		case 'n':
			opt.n = strtoul(optarg, NULL, 10);
			break;
		case 'r':
			opt.rate = strtoul(optarg, NULL, 10);
			break;
		case 'k':
			opt.kind = optarg;
			break;
		case 'h':
			opt.hold = (unsigned)atoi(optarg);
			break;
		case 'j':
			opt.join_ms = (unsigned)atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	if (opt.join_ms)
		aon_join(opt.join_ms);
	th = calloc(opt.threads, sizeof(*th));
	records = calloc(opt.threads, sizeof(*records));
	for (unsigned i = 0; i < opt.threads; i++)
		pthread_create(&th[i], NULL, run, &records[i]);
	for (unsigned i = 0; i < opt.threads; i++) {
		pthread_join(th[i], NULL);
		sum += records[i];
	}
	printf("{\"emitted\":%llu,\"joined\":%d}\n", (unsigned long long)sum, aon_joined());
	fflush(stdout);
	sleep(opt.hold);
	free(th);
	free(records);
	return 0;
}
