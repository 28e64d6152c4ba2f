/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time.c - CUPTI's clock: CLOCK_REALTIME, or what the client's timestamp callback says.
 *
 * The model counts CLOCK_MONOTONIC. The distance is measured anew whenever it is asked for, and
 * taken over when it has moved by more than the noise of measuring it, as when a clock steps.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cupti.h"

#define NOISE_NS 20000

static _Atomic(timestamp_fn) callback;
static _Atomic int64_t last_shift;
static _Atomic uint64_t began;

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static uint64_t since_start(uint64_t now)
{
	uint64_t none = 0;

	atomic_compare_exchange_strong(&began, &none, now);
	return now - began;
}

/* SIM_STEP=ns@ms: the wall clock steps by ns, ms milliseconds after the first look at it. */
static int64_t step(uint64_t now)
{
	const char *s = sim_fault("SIM_STEP"), *at = s ? strchr(s, '@') : NULL;

	if (!at || since_start(now) < strtoull(at + 1, NULL, 0) * 1000000ull)
		return 0;
	return strtoll(s, NULL, 0);
}

uint64_t sim_ts(void)
{
	timestamp_fn fn = atomic_load(&callback);

	if (fn)
		return fn();
	return clock_ns(CLOCK_REALTIME) + (uint64_t)step(clock_ns(CLOCK_MONOTONIC));
}

int64_t sim_ts_shift(void)
{
	uint64_t a = clock_ns(CLOCK_MONOTONIC), ts = sim_ts(), b = clock_ns(CLOCK_MONOTONIC);
	int64_t shift = (int64_t)(ts - (a + (b - a) / 2)), last = atomic_load(&last_shift);

	if (last && llabs(shift - last) < NOISE_NS + (int64_t)(b - a))
		return last;
	atomic_store(&last_shift, shift);
	return shift;
}

/* SIM_DRIFT_PPM: the device's clock runs so much too fast. */
int64_t sim_gpu_shift(void)
{
	long long ppm = sim_fault_int("SIM_DRIFT_PPM", 0);
	int64_t shift = sim_ts_shift();

	if (!ppm)
		return shift;
	return shift + (int64_t)since_start(clock_ns(CLOCK_MONOTONIC)) / 1000000 * ppm;
}

void sim_ts_set(timestamp_fn fn)
{
	atomic_store(&callback, fn);
	atomic_store(&last_shift, 0);
}
