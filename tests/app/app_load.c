/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app_load - a program that is not linked with libaon: it loads and unloads it, with threads
 * that were there before and threads that end afterwards.
 *
 *	app_load LIBRARY CYCLES [KEYS]
 *
 * With KEYS it first takes as many thread-specific keys, so that libaon gets a large one, and
 * lets a signal handler be the first to emit on threads that are in malloc().
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
	const uint32_t **gate;
	void (*emit)(uint32_t, uint32_t, uint32_t, uint64_t, uint64_t);
	uint32_t (*name)(const char *);
	int (*join)(unsigned);
	int (*joined)(void);
} lib;

static uint64_t n[5];

static void *symbol(void *h, const char *name)
{
	void *p = dlsym(h, name);

	if (!p) {
		fprintf(stderr, "%s\n", dlerror());
		exit(3);
	}
	return p;
}

static void look_up(void *h)
{
	*(void **)&lib.gate = symbol(h, "aon_gate_");
	*(void **)&lib.emit = symbol(h, "aon_emit_");
	*(void **)&lib.name = symbol(h, "aon_name");
	*(void **)&lib.join = symbol(h, "aon_join");
	*(void **)&lib.joined = symbol(h, "aon_joined");
}

static uint64_t ticks(unsigned count)
{
	uint32_t id = lib.name("loaded late");
	uint64_t sum = 0;

	for (unsigned i = 0; i < count; i++) {
		if (!(**lib.gate & 2)) /* AON_WANT_MARK */
			continue;
		lib.emit(5u | 1u << 16, id, 0, i, ~(uint64_t)i);
		sum++;
	}
	return sum;
}

static pthread_barrier_t loaded;

/* Started before the library came; ends after it was closed. */
static void *early_thread(void *arg)
{
	pthread_barrier_wait(&loaded);
	*(uint64_t *)arg = ticks(1000);
	return NULL;
}

/* How often the library's code is mapped. */
static unsigned mapped(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned count = 0;
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		count += strstr(line, "libaon") && strstr(line, " r-xp ");
	if (f)
		fclose(f);
	return count;
}

static _Atomic uint64_t by_handler;

static void handler(int sig)
{
	(void)sig;
	by_handler += ticks(1);
}

static void *allocate(void *arg)
{
	void *p[64];

	for (int i = 0; i < 20; i++) {
		for (size_t k = 0; k < 64; k++)
			p[k] = malloc(2000 + k * 100);
		for (size_t k = 0; k < 64; k++)
			free(p[k]);
	}
	by_handler += ticks(3);
	return arg;
}

static void storm(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
	struct itimerspec every = { { 0, 200000 }, { 0, 200000 } };
	pthread_t th[4];
	timer_t t;

	sigaction(SIGPROF, &sa, NULL);
	timer_create(CLOCK_MONOTONIC, &ev, &t);
	timer_settime(t, 0, &every, NULL);
	for (int r = 0; r < 500; r++) {
		for (int i = 0; i < 4; i++)
			pthread_create(&th[i], NULL, allocate, NULL);
		for (int i = 0; i < 4; i++)
			pthread_join(th[i], NULL);
	}
	timer_delete(t);
	signal(SIGPROF, SIG_IGN);
}

int main(int argc, char *argv[])
{
	pthread_key_t key;
	unsigned cycles = argc > 2 ? (unsigned)atoi(argv[2]) : 64, wrong = 0;
	bool off = getenv("AON_OFF") != NULL;
	pthread_t th[4];
	uint64_t sum = 0;

	if (argc < 2)
		return 2;
	for (int i = argc > 3 ? atoi(argv[3]) : 0; i > 0; i--)
		pthread_key_create(&key, NULL);
	pthread_barrier_init(&loaded, NULL, 5);
	for (int i = 0; i < 4; i++)
		pthread_create(&th[i], NULL, early_thread, &n[i]);
	for (unsigned i = 0; i < cycles; i++) {
		void *h = dlopen(argv[1], RTLD_NOW | (i % 2 ? RTLD_LOCAL : RTLD_GLOBAL));

		if (!h) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		look_up(h);
		if (i == 0)
			lib.join(2000);
		n[4] += ticks(100);
		wrong += mapped() != 1 || dlclose(h) != 0;
	}
	pthread_barrier_wait(&loaded);
	for (int i = 0; i < 4; i++)
		pthread_join(th[i], NULL);
	if (argc > 3)
		storm();
	n[4] += by_handler;
	for (int i = 0; i < 5; i++)
		sum += n[i];
	printf("{\"result\":%u,\"as_asked\":%d,\"truth\":[[%d,%llu,%d]]}\n", wrong,
	       off || mapped() == 1, getpid(), (unsigned long long)sum, lib.joined());
	return 0;
}
