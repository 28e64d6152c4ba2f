/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steady - a program that emits for some time and knows exactly what it emitted and what that
 * cost, whatever happens to aond meanwhile.
 *
 *	steady [-t threads] [-s seconds] [-r records/s a thread] [-k kind] [-n count] [-w] [-c file]
 *
 * kind: mark, range (two records), unknown (of a kind that no aond knows), name (a new name
 * each time), text (the line of stdin as a name). -n: so many at most. -w: until stdin closes,
 * with a step every 20 ms besides, which also looks for a new aond. -c: keeps its counts (u64
 * begun, done) in a file, for when it is killed; one thread. Joins first. Prints {"emitted":records,"joined":0|1,"p50_ns":..,"p99_ns":..,"max_us":..}: of an emit, by
 * batches of 64; max of a batch.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <aon/aon.h>

#define BATCH   64u
#define SAMPLES (1u << 19)

static struct {
	unsigned threads;
	double seconds;
	unsigned long rate, n;
	const char *kind;
	bool stay;
	char text[4096];
} opt = { .threads = 1, .seconds = 1, .n = ~0ul, .kind = "mark" };

static _Atomic bool stop;
static uint64_t *counts; /* begun, done: in the file of -c */

struct worker {
	pthread_t thread;
	uint64_t emitted, max_ns;
	uint32_t *sample; /* ns of a batch; owned */
	uint32_t samples;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* One look at the gate decides both whether it is emitted and whether it is counted. */
static unsigned rec(uint32_t want, uint32_t kind, uint32_t name, uint64_t a)
{
	if (!aon_wants_(want))
		return 0;
	if (counts)
		__atomic_store_n(&counts[0], counts[0] + 1, __ATOMIC_RELAXED);
	aon_emit_(kind, name, 0, a, ~a);
	if (counts)
		__atomic_store_n(&counts[1], counts[1] + 1, __ATOMIC_RELAXED);
	return 1;
}

static unsigned emit(uint64_t i)
{
	char name[32];

	switch (opt.kind[0]) {
	case 'r':
		return rec(AON_WANT_RANGE, AON_PUSH_, aon_name("work"), 0) +
		       rec(AON_WANT_RANGE, AON_POP_, 0, 0);
	case 'u':
		return rec(AON_WANT_MARK, AON_REC_(60, 0), 0, i);
	case 'n':
		snprintf(name, sizeof(name), "name-%llx", (unsigned long long)i);
		return rec(AON_WANT_MARK, AON_MARK_, aon_name(name), i);
	case 't':
		return rec(AON_WANT_MARK, AON_MARK_, aon_name(opt.text), i);
	default:
		return rec(AON_WANT_MARK, AON_MARK_, 0, i);
	}
}

static void *run(void *arg)
{
	struct worker *w = arg;
	uint64_t start = now_ns(), end = start + (uint64_t)(opt.seconds * 1e9), t0, dt;

	for (uint64_t i = 0; i < opt.n && !atomic_load_explicit(&stop, memory_order_relaxed);) {
		t0 = now_ns();
		if (t0 >= end && !opt.stay)
			break;
		for (unsigned k = 0; k < BATCH && i < opt.n; k++)
			w->emitted += emit(i++);
		dt = now_ns() - t0;
		if (w->samples < SAMPLES)
			w->sample[w->samples++] = dt > UINT32_MAX ? UINT32_MAX : (uint32_t)dt;
		if (dt > w->max_ns)
			w->max_ns = dt;
		while (opt.rate && now_ns() < start + i * 1000000000u / opt.rate &&
		       !atomic_load_explicit(&stop, memory_order_relaxed))
			usleep(1000);
	}
	return NULL;
}

static uint64_t stay(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	uint64_t n = 0;

	while (poll(&p, 1, 20) == 0) {
		aon_step_begin(0); /* looks for aond, then emits if that is wanted */
		n += aon_wants_(AON_WANT_STEP) ? 1 : 0;
		n += rec(AON_WANT_STEP, AON_REC_(8, 0), 0, 0);
	}
	atomic_store_explicit(&stop, true, memory_order_relaxed);
	return n;
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint64_t *keep_counts(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *map;

	if (fd < 0 || ftruncate(fd, 4096) < 0)
		exit(2);
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		exit(2);
	return map;
}

static void options(int argc, char *argv[])
{
	int c;

	while ((c = getopt(argc, argv, "t:s:r:k:n:wc:")) != -1) {
		switch (c) {
		case 't':
			opt.threads = (unsigned)atoi(optarg);
			break;
		case 's':
			opt.seconds = atof(optarg);
			break;
		case 'r':
			opt.rate = strtoul(optarg, NULL, 10);
			break;
		case 'k':
			opt.kind = optarg;
			break;
		case 'n':
			opt.n = strtoul(optarg, NULL, 10);
			break;
		case 'w':
			opt.stay = true;
			break;
		case 'c':
			counts = keep_counts(optarg);
			break;
		default:
			exit(2);
		}
	}
	if (opt.kind[0] == 't' && fgets(opt.text, sizeof(opt.text), stdin))
		opt.text[strcspn(opt.text, "\n")] = '\0';
}

int main(int argc, char *argv[])
{
	struct worker *w, *first;
	uint64_t emitted = 0, max_ns = 0;

	options(argc, argv);
	aon_join(2000);
	w = calloc(opt.threads, sizeof(*w));
	for (unsigned i = 0; i < opt.threads; i++) {
		w[i].sample = malloc(SAMPLES * sizeof(uint32_t));
		pthread_create(&w[i].thread, NULL, run, &w[i]);
	}
	if (opt.stay && !counts)
		emitted += stay();
	for (unsigned i = 0; i < opt.threads; i++) {
		pthread_join(w[i].thread, NULL);
		emitted += w[i].emitted;
		max_ns = w[i].max_ns > max_ns ? w[i].max_ns : max_ns;
	}
	first = &w[0];
	qsort(first->sample, first->samples, sizeof(uint32_t), by_size);
	printf("{\"emitted\":%llu,\"joined\":%d,\"p50_ns\":%.1f,\"p99_ns\":%.1f,\"max_us\":%.1f}\n",
	       (unsigned long long)emitted, aon_joined(),
	       first->samples ? (double)first->sample[first->samples / 2] / BATCH : 0,
	       first->samples ? (double)first->sample[first->samples / 100 * 99] / BATCH : 0,
	       (double)max_ns / 1000);
	for (unsigned i = 0; i < opt.threads; i++)
		free(w[i].sample);
	free(w);
	return 0;
}
