/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - the current time, in nanoseconds.
 *
 * Header only, and safe anywhere: in a signal handler, and in a program that is not ours.
 */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t which)
{
	struct timespec ts;

	clock_gettime(which, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Since the machine started: never goes back. All recorded times are of this clock. */
static inline uint64_t clock_mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t clock_mono_ms(void)
{
	return clock_mono_ns() / 1000000u;
}

/* Since 1970: may jump when somebody sets the clock. */
static inline uint64_t clock_wall_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

/* CPU time of this process, and of the calling thread. */
static inline uint64_t clock_cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static inline uint64_t clock_thread_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* A moment `ns` from now, for pthread_cond_timedwait() and its like. */
static inline struct timespec clock_after(clockid_t which, uint64_t ns)
{
	uint64_t at = clock_ns(which) + ns;

	return (struct timespec){ (time_t)(at / 1000000000u), (long)(at % 1000000000u) };
}
