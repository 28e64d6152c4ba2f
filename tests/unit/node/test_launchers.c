/* SPDX-License-Identifier: Apache-2.0 */
/* The threads that launch work are found in windows, and whether their GPU waits. */
#include "daemon/sample/launchers.h"

#include "model/event.h"
#include "model/rollup.h"
#include "t.h"

#define MS 1000000ull

static struct launchers l;
static struct launcher *pick[LAUNCHERS_PICK];

static void feed(uint64_t second, const struct rollup *row, uint32_t n)
{
	struct window w = { .process = 1,
			    .rows = n,
			    .start_ns = (1 + second) * WINDOW_NS,
			    .row = (struct rollup *)(uintptr_t)row };

	launchers_window(&l, &w);
}

static struct rollup row(uint32_t track, enum event_kind kind, uint64_t count, uint64_t total_ns)
{
	return (struct rollup){
		.track = track, .kind = kind, .count = count, .total_ns = total_ns
	};
}

static void test_fall_back(void)
{
	const struct rollup marks[] = { row(1, EVENT_MARK, 5, 0), row(2, EVENT_COUNTER, 50, 0) };
	const struct rollup ranges[] = { row(1, EVENT_RANGE, 3, 0), row(2, EVENT_MARK, 50, 0) };
	const struct rollup lone = row(2, EVENT_MARK, 1, 0);
	const struct rollup gpu[] = { row(2, EVENT_MARK, 50, 0), row(9, EVENT_KERNEL, 10, MS) };

	l = (struct launchers){ 0 };
	launchers_track(&l, 1, 100);
	launchers_track(&l, 2, 200);
	T_OK(launchers_pick(&l, pick) == 0, "at first no thread is known");
	T_OK(launchers_wait(&l, 0), "and it is taken for granted that something waits");
	feed(0, marks, 2);
	T_OK(launchers_pick(&l, pick) == 1 && pick[0]->tid == 200,
	     "then the one with most records");
	feed(1, ranges, 2);
	T_OK(launchers_pick(&l, pick) == 1 && pick[0]->tid == 100, "before it those with ranges");
	l = (struct launchers){ 0 };
	launchers_track(&l, 2, 200);
	feed(0, &lone, 1);
	T_OK(launchers_pick(&l, pick) == 0, "one mark says nothing");
	feed(1, gpu, 2);
	T_OK(launchers_pick(&l, pick) == 0,
	     "where a GPU works, marks do not make a launching thread");
}

static void test_launches(void)
{
	struct rollup many[8];

	l = (struct launchers){ 0 };
	for (uint32_t i = 0; i < 8; i++) {
		launchers_track(&l, 1 + i, 100 + i);
		many[i] = row(1 + i, i == 7 ? EVENT_STEP : EVENT_API, 10 * (i + 1), 0);
	}
	many[0].count = 1000;
	many[1].count = 2;
	feed(0, many, 8);
	T_OK(launchers_pick(&l, pick) == 4 && pick[0]->tid == 100 && pick[1]->tid == 107 &&
		     pick[2]->tid == 106 && pick[3]->tid == 105,
	     "those that launch most, or have steps, come first, and no more than four");
	l = (struct launchers){ 0 };
	launchers_track(&l, 1, 100);
	launchers_track(&l, 2, 101);
	feed(0, many, 2);
	T_OK(launchers_pick(&l, pick) == 1 && pick[0]->tid == 100, "not one that hardly launches");
	launchers_track(&l, 3, UINT64_MAX);
	T_OK(l.n == 2, "a track that is no thread is none");
	for (uint32_t i = 0; i < 20; i++)
		feed(1 + i, &many[1], 1);
	T_OK(launchers_pick(&l, pick) == 1 && pick[0]->tid == 101,
	     "what a thread did long ago does not count");
}

static void test_wait(void)
{
	struct rollup busy[] = { row(9, EVENT_KERNEL, 10, 700 * MS),
				 row(9, EVENT_COPY, 1, 295 * MS),
				 row(10, EVENT_KERNEL, 1, 900 * MS) };

	l = (struct launchers){ 0 };
	for (uint32_t i = 0; i < 30; i++)
		feed(i, busy, 3);
	T_OK(!launchers_wait(&l, 0), "a stream that is busy all the time: nothing waits");
	busy[1].total_ns = 100 * MS;
	for (uint32_t i = 30; i < 60; i++)
		feed(i, busy, 3);
	T_OK(launchers_wait(&l, 0), "one that is idle for a tenth waits");
	T_OK(launchers_pick(&l, pick) == 0, "streams are no threads");
	busy[1] = row(9, EVENT_COLLECTIVE, 1, 295 * MS);
	l = (struct launchers){ 0 };
	for (uint32_t i = 0; i < 30; i++)
		feed(i, busy, 2);
	T_OK(launchers_wait(&l, 0), "a GPU that is busy with collectives may wait for others");
}

static void test_steps(void)
{
	const struct rollup busy = row(9, EVENT_KERNEL, 10, 1000 * MS);
	uint64_t now = 0;

	l = (struct launchers){ 0 };
	for (uint32_t i = 0; i < 60; i++) {
		feed(i, &busy, 1);
		launchers_step(&l, now, 500 * MS);
		now += 500 * MS;
	}
	T_OK(!launchers_wait(&l, now + 1600 * MS),
	     "a step that takes as long as usual waits for nothing");
	T_OK(launchers_wait(&l, now + 1700 * MS), "one that has not ended long after that does");
	launchers_step(&l, now, 700 * MS);
	now += 700 * MS;
	T_OK(launchers_wait(&l, now) && launchers_wait(&l, now + 1600 * MS),
	     "so does one that took longer");
	for (uint32_t i = 0; i < 20; i++) {
		launchers_step(&l, now, 500 * MS);
		now += 500 * MS;
	}
	T_OK(!launchers_wait(&l, now), "ten seconds later that is forgotten");
	launchers_waits(&l, 500e6, 100e6);
	T_OK(launchers_wait(&l, now), "steps that wait for collectives or batches wait");
	for (uint32_t i = 0; i < 20; i++)
		launchers_waits(&l, 500e6, 0);
	T_OK(!launchers_wait(&l, now), "until they do no more");
}

int main(void)
{
	test_fall_back();
	test_launches();
	test_wait();
	test_steps();
	return t_done();
}
