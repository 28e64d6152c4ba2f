/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app.h - what the programs under test share: an emit that knows whether it was one, and the
 * truth about it, told as one line of JSON.
 *
 * A program prints {"result":R, "truth":[[pid,emitted,joined],...], ...}. R must not depend on
 * aon: scenarios compare it with a run that has none.
 */
#ifndef AON_TEST_APP_H
#define AON_TEST_APP_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <aon/aon.h>

#define TRUTH_MAX 8192u

/* In memory that forked processes share. */
struct truth {
	_Atomic uint32_t used;
	struct {
		int pid, joined;
		uint64_t emitted;
	} of[TRUTH_MAX];
};

static struct truth *truth;

static inline void truth_open(void)
{
	truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (truth == MAP_FAILED)
		exit(99);
}

/* What a process emitted; several entries of one process add up. */
static inline void truth_say_of(int pid, uint64_t emitted, int joined)
{
	uint32_t i = atomic_fetch_add(&truth->used, 1);

	if (i >= TRUTH_MAX)
		_exit(98);
	truth->of[i].pid = pid;
	truth->of[i].emitted = emitted;
	truth->of[i].joined = joined;
}

static inline void truth_say(uint64_t emitted)
{
	truth_say_of(getpid(), emitted, aon_joined());
}

static inline void truth_print(uint64_t result, const char *more)
{
	printf("{\"result\":%llu%s,\"truth\":[", (unsigned long long)result, more);
	for (uint32_t i = 0; i < atomic_load(&truth->used); i++)
		printf("%s[%d,%llu,%d]", i ? "," : "", truth->of[i].pid,
		       (unsigned long long)truth->of[i].emitted, truth->of[i].joined);
	puts("]}");
	fflush(stdout);
}

/* 1 when it went through the gate: then it is emitted, and must be found or counted. */
static inline unsigned tick(uint64_t a)
{
	static uint32_t site;
	uint32_t id = __atomic_load_n(&site, __ATOMIC_RELAXED);

	if (!aon_wants_(AON_WANT_MARK))
		return 0;
	if (!id) {
		id = aon_name("tick");
		__atomic_store_n(&site, id, __ATOMIC_RELAXED);
	}
	aon_emit_(AON_MARK_, id, 0, a, ~a);
	return 1;
}

static inline uint64_t ticks(uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += tick(i);
	return sum;
}

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#endif /* AON_TEST_APP_H */
