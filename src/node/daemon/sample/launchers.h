/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launchers.h - which threads of a process are worth samples, and whether its GPUs or its steps wait.
 *
 * Both are read from the process's windows, as they close: they have the counts of every thread's
 * calls, steps and ranges, and how long every stream of a GPU was busy; and from the records of its
 * steps, which say how long it waited for collectives and for its batch. So records cost nothing more.
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
	double waits;     /* share of its steps in exposed collectives or without a batch, lately */
	double usual_ns;  /* of a step; 0: not known */
	uint64_t end_ns;  /* of the last step, */
	uint64_t slow_ns; /* and of the last one that took longer than usual */
	/* Of sampler_targets.c: */
	uint32_t
		parent; /* pid of the process here whose worker it is: it launches nothing; 0: none */
	bool workers;   /* it has such workers */
	/* Of sampler.c: samples lately, and those of them without a CPU. */
	uint32_t looked, runnable;
	uint32_t own_pid; /* as it calls itself; 0: not looked up */
};

/* A track of the process is a thread. */
void launchers_track(struct launchers *l, uint32_t track, uint64_t tid);
/* The thread of a track, as the process calls it; 0: it is none, or not known. And the track of one. */
uint32_t launchers_tid(const struct launchers *l, uint32_t track);
uint32_t launchers_track_of(const struct launchers *l, uint32_t tid);
void launchers_window(struct launchers *l, const struct window *w);

/* A step has ended. */
void launchers_step(struct launchers *l, uint64_t start_ns, uint64_t dur_ns);
/* What a record of a step says: for `waits_ns` the step waited for others. */
void launchers_waits(struct launchers *l, double step_ns, double waits_ns);

/* The threads to sample, those that launch most first; none: nothing is known yet. */
size_t launchers_pick(struct launchers *l, struct launcher *out[LAUNCHERS_PICK]);
/* Its GPU or its step, as far as is known, waits for more than a moment. */
bool launchers_wait(const struct launchers *l, uint64_t now_ns);
