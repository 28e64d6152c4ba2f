/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app_load - a program that is not linked with libaon: it loads and unloads it, with threads
 * that were there before and threads that end afterwards.
 *
 *	app_load LIBRARY CYCLES
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int main(int argc, char *argv[])
{
	unsigned cycles = argc > 2 ? (unsigned)atoi(argv[2]) : 64, wrong = 0;
	bool off = getenv("AON_OFF") != NULL;
	pthread_t th[4];
	uint64_t sum = 0;

	if (argc < 2)
		return 2;
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
	for (int i = 0; i < 5; i++)
		sum += n[i];
	printf("{\"result\":%u,\"as_asked\":%d,\"truth\":[[%d,%llu,%d]]}\n", wrong,
	       off || mapped() == 1, getpid(), (unsigned long long)sum, lib.joined());
	return 0;
}
