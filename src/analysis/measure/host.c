/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.c - see host.h. One thread runs on each core that this process may use. Each touches its own
 * part of the arrays first, so that the part lies on the thread's own NUMA node, as STREAM with
 * OpenMP has it. Written bytes count once.
 */
#include "measure/host.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"

#define THREADS      1024u
#define ROUNDS       8u
#define LEAST_ROUNDS 2u
#define TIME_NS      1e9            /* after which no more rounds begin */
#define LEAST        (192ull << 20) /* of all arrays */
#define MOST         (2ull << 30)
#define MOST_EACH \
	(128ull << 20) /* of a thread: no core has more cache near it, and pages take time */
#define BEYOND 4u      /* times the last cache */

struct job {
	double *a, *b, *c;
	size_t each;          /* elements of a thread */
	pthread_mutex_t gate; /* closed while threads are begun */
	pthread_barrier_t round;
	bool stop;
	double until, best[2]; /* ns of a copy, of a triad */
};

struct worker {
	struct job *j;
	size_t at;
	int cpu;
	pthread_t id;
};

static void triad(double *restrict a, const double *restrict b, const double *restrict c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		a[i] = b[i] + 3.0 * c[i];
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct job *j = w->j;
	double *a = j->a + w->at, *b = j->b + w->at, *c = j->c + w->at, from = 0;
	cpu_set_t one;

	pthread_mutex_lock(&j->gate);
	pthread_mutex_unlock(&j->gate);
	CPU_ZERO(&one);
	CPU_SET(w->cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (size_t i = 0; i < j->each; i++)
		a[i] = b[i] = c[i] = 1;
	for (unsigned r = 0; r < 2 * ROUNDS; r++) {
		if (!w->at && r >= 2 * LEAST_ROUNDS && (double)clock_mono_ns() > j->until)
			j->stop = true; /* the barrier shows it to all, who look at it behind it */
		pthread_barrier_wait(&j->round);
		if (j->stop)
			break;
		if (!w->at)
			from = (double)clock_mono_ns();
		if (r % 2)
			triad(a, b, c, j->each);
		else
			memcpy(c, a, j->each * sizeof(*a));
		pthread_barrier_wait(&j->round);
		if (!w->at)
			j->best[r % 2] = fmin(j->best[r % 2], (double)clock_mono_ns() - from);
	}
	return NULL;
}

/* Beyond the last cache, and a quarter of what is free at most. */
static size_t elements(unsigned threads)
{
	uint64_t cache = (uint64_t)fmax(0, (double)sysconf(_SC_LEVEL3_CACHE_SIZE)) * BEYOND,
		 room = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 4;
	uint64_t bytes = cache > LEAST ? cache : LEAST;

	if (bytes > (uint64_t)threads * MOST_EACH)
		bytes = (uint64_t)threads * MOST_EACH;
	bytes = bytes > MOST ? MOST : bytes;
	bytes = bytes > room ? room : bytes;
	return bytes / 3 / sizeof(double) / threads;
}

/* Those that could be begun: they wait at the gate until it is known how many there are. */
static unsigned run(struct job *j, struct worker *w, unsigned threads)
{
	unsigned begun = 0;

	pthread_mutex_lock(&j->gate);
	while (begun < threads && !pthread_create(&w[begun].id, NULL, work, &w[begun]))
		begun++;
	if (begun)
		pthread_barrier_init(&j->round, NULL, begun);
	pthread_mutex_unlock(&j->gate);
	for (unsigned i = 0; i < begun; i++)
		pthread_join(w[i].id, NULL);
	if (begun)
		pthread_barrier_destroy(&j->round);
	return begun;
}

int host_measure(struct host_result *out)
{
	struct job j = { .gate = PTHREAD_MUTEX_INITIALIZER, .best = { INFINITY, INFINITY } };
	struct worker *w = calloc(THREADS, sizeof(*w));
	unsigned threads = 0;
	cpu_set_t may;
	double bytes;
	size_t n;

	CPU_ZERO(&may);
	if (!w || sched_getaffinity(0, sizeof(may), &may) < 0) {
		free(w);
		return -ENOMEM;
	}
	for (int cpu = 0; cpu < CPU_SETSIZE && threads < THREADS; cpu++)
		if (CPU_ISSET(cpu, &may))
			w[threads++] = (struct worker){ .j = &j, .cpu = cpu };
	j.each = elements(threads);
	n = j.each * threads;
	j.a = mmap(NULL, 3 * n * sizeof(*j.a), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	if (!j.each || j.a == MAP_FAILED) {
		free(w);
		return -ENOMEM;
	}
	j.until = (double)clock_mono_ns() + TIME_NS;
	madvise(j.a, 3 * n * sizeof(*j.a), MADV_HUGEPAGE);
	j.b = j.a + n;
	j.c = j.b + n;
	for (unsigned i = 0; i < threads; i++)
		w[i].at = i * j.each;
	threads = run(&j, w, threads);
	bytes = (double)j.each * threads * sizeof(*j.a);
	if (threads)
		*out = (struct host_result){ threads, (uint64_t)(3 * bytes),
					     2e9 * bytes / j.best[0], 3e9 * bytes / j.best[1] };
	munmap(j.a, 3 * n * sizeof(*j.a));
	free(w);
	return threads ? 0 : -EAGAIN;
}
