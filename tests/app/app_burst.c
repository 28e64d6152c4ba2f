/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app_burst - steps with marks, ten times as many of them for a while, and what each of them cost.
 *
 *	app_burst [-c calm seconds] [-b seconds of burst] [-a seconds after it] [-e marks a second]
 *
 * Ends with {"emitted":,"steps":,"p99_calm":,"p99_burst":,"react_s":}: records, the 99th percentile
 * of what a mark took (ns), and after how long of the burst the first step was left out (-1: none).
 */
#include <stdbool.h>
#include <unistd.h>

#include <aon/provider.h>

#include "app.h"

#define PAUSE_US 1000
#define STEP_MAX 10e6   /* ns: a program that was held up does not make up for it */
#define CELLS    20000u /* of one nanosecond each; the last has all that took longer */

static struct {
	double calm, burst, after;
	unsigned marks;
} opt = { 2, 3, 10, 60000 };

static struct {
	uint64_t n, cell[CELLS];
} took[2]; /* calm, burst */

static void mark(unsigned i, bool burst)
{
	uint64_t from = now_ns(), ns;

	AON_MARK("mark", i, i, 0);
	ns = now_ns() - from;
	took[burst].n++;
	took[burst].cell[ns < CELLS ? ns : CELLS - 1]++;
}

static uint64_t p99(bool burst)
{
	uint64_t sum = 0;
	unsigned i = 0;

	while (i < CELLS - 1 && (sum += took[burst].cell[i]) * 100 < took[burst].n * 99)
		i++;
	return i;
}

static bool step(uint64_t number, bool burst, uint64_t *emitted)
{
	static uint64_t last;
	uint64_t from = now_ns();
	double ns = last ? (double)(from - last) : 0;
	unsigned n =
		(unsigned)((ns < STEP_MAX ? ns : STEP_MAX) * (burst ? 10 : 1) * opt.marks / 1e9);
	bool on;

	last = from;

	aon_heartbeat_step(number);
	on = aon_wants(AON_WANT_MARK);
	for (unsigned i = 0; i < n && on; i++)
		mark(i, burst);
	*emitted += on ? n : 0;
	usleep(PAUSE_US);
	aon_act_emit(&(struct aon_act){ .size = sizeof(struct aon_act),
					.kind = AON_ACT_STEP,
					.track = aon_track_thread((uint32_t)gettid()),
					.start_ns = from,
					.end_ns = now_ns(),
					.bytes = number });
	++*emitted;
	return on;
}

int main(int argc, char **argv)
{
	uint64_t begin, n = 0, emitted = 0;
	double react = -1, t;
	int c;

	while ((c = getopt(argc, argv, "c:b:a:e:")) != -1) {
		if (c == 'e')
			opt.marks = (unsigned)atoi(optarg);
		else if (c == 'c' || c == 'b' || c == 'a')
			*(c == 'c' ? &opt.calm : c == 'b' ? &opt.burst : &opt.after) = atof(optarg);
		else
			exit(2);
	}
	aon_join(2000);
	begin = now_ns();
	while ((t = (double)(now_ns() - begin) / 1e9) < opt.calm + opt.burst + opt.after) {
		bool burst = t >= opt.calm && t < opt.calm + opt.burst;

		if (!step(n++, burst, &emitted) && burst && react < 0)
			react = t - opt.calm;
	}
	printf("{\"emitted\":%lu,\"steps\":%lu,\"p99_calm\":%lu,\"p99_burst\":%lu,\"react_s\":%.3f}"
	       "\n",
	       (unsigned long)emitted, (unsigned long)n, (unsigned long)p99(false),
	       (unsigned long)p99(true), react);
	return 0;
}
