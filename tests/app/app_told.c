/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app_told - minutes of a program's life, told in a moment: what aond knows of time is what it is told.
 *
 *	app_told kernel     a kernel takes half as long again from the hundredth second on
 *	app_told shape      the same, but launched in another geometry
 *	app_told idle       the GPU does a sixth of what it did for five minutes
 *	app_told memory     what is allocated grows with every second
 *	app_told pace       one step of four takes five times as long
 *	app_told late N     in steps as they pass, N permille of the time in collectives
 *
 * Then it stays until its input ends.
 */
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <aon/provider.h>

#include "app.h"

#define S 1000000000ull

static uint64_t t0;
static uint32_t host, gpu;

static void act(uint32_t kind, const char *name, uint32_t track, uint64_t at, uint64_t ns,
		uint64_t a)
{
	aon_act_emit(&(struct aon_act){ .size = sizeof(struct aon_act),
					.kind = kind,
					.name = aon_name(name),
					.track = track,
					.start_ns = at,
					.end_ns = at + ns,
					.geo = kind == AON_ACT_KERNEL ? (uint32_t)a : 0,
					.bytes = kind == AON_ACT_KERNEL ? 0 : a });
}

/* 20 launches in each of `seconds`; from `from` on each takes `then` times as long. */
static void kernels(uint32_t seconds, uint32_t from, double ms, double then, bool shape)
{
	uint32_t one = aon_geo((const uint32_t[]){ 64, 1, 1 }, (const uint32_t[]){ 256, 1, 1 }, 32,
			       0, 0),
		 two = aon_geo((const uint32_t[]){ 96, 1, 1 }, (const uint32_t[]){ 256, 1, 1 }, 32,
			       0, 0);

	for (uint32_t s = 0; s < seconds; s++)
		for (uint32_t i = 0; i < 20; i++)
			act(AON_ACT_KERNEL, "gemm", gpu, t0 + s * S + i * (S / 20),
			    (uint64_t)(1e6 * ms * (s < from ? 1 : then)),
			    shape && s >= from ? two : one);
}

static void memory(void)
{
	uint32_t name = aon_name("[memory] allocated");

	for (uint64_t i = 0; i < 20 * 40; i++)
		aon_counter_at(name, host, 1e9 + 1e6 * (double)i, t0 + i * (S / 40));
}

static void pace(void)
{
	uint64_t at = t0;

	for (uint64_t i = 0; i < 1200; i++) {
		uint64_t ns = i > 700 && i % 4 == 0 ? 50000000 : 10000000;

		act(AON_ACT_STEP, "step", host, at, ns, i);
		at += ns;
	}
}

static void late(double permille)
{
	for (uint64_t i = 0;; i++) {
		uint64_t from = now_ns();
		struct pollfd in = { .fd = 0, .events = POLLIN };

		if (poll(&in, 1, 50) > 0)
			exit(0);
		act(AON_ACT_COLLECTIVE, "all_reduce", host, from,
		    (uint64_t)((double)(now_ns() - from) * permille / 1000), 4096);
		act(AON_ACT_STEP, "step", host, from, now_ns() - from, i);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	aon_join(2000);
	t0 = now_ns();
	host = aon_track_thread((uint32_t)gettid());
	gpu = aon_track(0, 1, 7, NULL);
	for (uint64_t i = 0; strcmp(what, "pace") && i < 20; i++)
		act(AON_ACT_STEP, "step", host, t0 + i * 1000000, 1000000, i);
	if (!strcmp(what, "kernel") || !strcmp(what, "shape"))
		kernels(140, 100, 10, 1.5, what[0] == 's');
	else if (!strcmp(what, "idle"))
		kernels(500, 350, 30, 1.0 / 6, false);
	else if (!strcmp(what, "memory"))
		memory();
	else if (!strcmp(what, "pace"))
		pace();
	else if (!strcmp(what, "late") && argc > 2)
		late(atof(argv[2]));
	else
		return 2;
	while (getchar() != EOF)
		;
	return 0;
}
