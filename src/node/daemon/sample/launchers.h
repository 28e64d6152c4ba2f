/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launchers.h - which threads of a process are worth samples, and whether its GPUs wait.
 *
 * Both are read from the process's windows, as they close: they have the counts of every thread's
 * calls, steps and ranges, and how long every stream of a GPU was busy. So records cost nothing more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAUNCHER_NOWHERE UINT32_MAX
#define LAUNCHERS        64u /* tracks of a process that are looked at */
#define LAUNCHERS_PICK   4u  /* threads of a process that are sampled, at most */

struct window;

struct launcher {
	uint32_t track; /* in the store */
	uint32_t tid;   /* as the process calls it; 0: a stream of a GPU */
	uint32_t
		host_tid; /* as we call it; 0: not looked up, LAUNCHER_NOWHERE: in vain. Of sampler_targets.c */
	double launches, ranges, rest; /* lately: calls and steps; ranges, operators; others */
	uint64_t busy_ns;              /* of a stream, in the window that is under way */
};

/* All 0 at first. */
struct launchers {
	struct launcher at[LAUNCHERS];
	uint32_t n, last;
	uint64_t start_ns; /* of the window that is under way */
	double busy;       /* share of the time, of the stream that is busy most, lately */
	bool gpu;          /* it has used one */
	/* Of sampler_targets.c: */
	bool worker;      /* a child of another process here, that launches nothing */
	uint32_t own_pid; /* as it calls itself; 0: not looked up */
};

/* A track of the process is a thread. */
void launchers_track(struct launchers *l, uint32_t track, uint64_t tid);
void launchers_window(struct launchers *l, const struct window *w);

/* The threads to sample, those that launch most first; none: nothing is known yet. */
size_t launchers_pick(struct launchers *l, struct launcher *out[LAUNCHERS_PICK]);
/* Its GPU, as far as is known, waits for more than a moment. */
bool launchers_wait(const struct launchers *l);
