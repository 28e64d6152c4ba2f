/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strict.c - SIM_STRICT=1: what the real CUPTI does to its tools. A probe that works only with a
 * kind stand-in fails here.
 *
 * Costs are of NVIDIA's guide and of reports of people with GPUs: a traced launch about 1 us, a
 * request for a buffer 20 us, enabling or disabling a kind 5 ms. SIM_STRICT=2 is SIM_STRICT=1 at no
 * cost, for tests that are about something else on a slow machine.
 */
#include <time.h>

#include "cupti.h"

#define RECORD_BYTES 28 /* of a device buffer; 899,477 records fit into 8 of 3.2 MB */

static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static long long level;
static atomic_ullong timed;

static void begin(void)
{
	pthread_mutexattr_t a;

	level = sim_fault_int("SIM_STRICT", 0);
	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&lock, &a);
	pthread_mutexattr_destroy(&a);
}

bool sim_strict(void)
{
	pthread_once(&once, begin);
	return level > 0;
}

void sim_strict_lock(void)
{
	if (sim_strict())
		pthread_mutex_lock(&lock);
}

void sim_strict_unlock(void)
{
	if (sim_strict())
		pthread_mutex_unlock(&lock);
}

static uint64_t thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* Time of a CPU, not of the wall: a busy machine makes it no dearer. */
void sim_strict_cost(uint64_t ns)
{
	uint64_t until;

	if (!sim_strict() || level != 1)
		return;
	for (until = thread_ns() + ns; thread_ns() < until;)
		;
}

/* Device buffers are not recycled: once they are full, kernels have no times. */
bool sim_strict_timed(const struct client *c)
{
	uint64_t room = GET(c->attr[0]) * GET(c->attr[2]) / RECORD_BYTES;

	if (!sim_strict())
		return true;
	room = (uint64_t)sim_fault_int("SIM_DEVICE_RECORDS", (long long)room);
	return atomic_fetch_add(&timed, 1) < room;
}

void sim_strict_reset(void)
{
	atomic_store(&timed, 0);
}
