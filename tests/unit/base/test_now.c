/* SPDX-License-Identifier: Apache-2.0 */
/* test_now.c - base/clock.h: units, order, and moments to wait for. */
#include "base/clock.h"

#include "t.h"

#define SECOND 1000000000ull

static void test_order(void)
{
	uint64_t a = clock_mono_ns(), b = clock_mono_ns(), ms = clock_mono_ms();

	T_OK(a <= b, "the monotonic clock does not go back");
	T_OK(ms >= b / 1000000 && ms - b / 1000000 < 60000, "milliseconds are of the same clock");
}

static void test_wall(void)
{
	uint64_t before = (uint64_t)time(NULL), at = clock_wall_ns() / SECOND;

	T_OK(at + 1 >= before && at <= before + 60, "the wall clock counts from 1970");
}

static void test_cpu(void)
{
	uint64_t all = clock_cpu_ns(), mine = clock_thread_ns();
	volatile unsigned sum = 0;

	for (unsigned i = 0; i < 1000000; i++)
		sum = sum + i;
	T_OK(clock_cpu_ns() > all, "the process's CPU time grows with its work");
	T_OK(clock_thread_ns() > mine, "so does the thread's");
}

static void test_after(void)
{
	uint64_t from = clock_mono_ns(), ns = 2 * SECOND + SECOND - 1;
	struct timespec at = clock_after(CLOCK_MONOTONIC, ns);
	uint64_t is = (uint64_t)at.tv_sec * SECOND + (uint64_t)at.tv_nsec;

	T_OK(at.tv_nsec >= 0 && at.tv_nsec < (long)SECOND, "nanoseconds are carried into seconds");
	T_OK(is >= from + ns && is <= clock_mono_ns() + ns, "a moment so far from now");
}

int main(void)
{
	test_order();
	test_wall();
	test_cpu();
	test_after();
	return t_done();
}
