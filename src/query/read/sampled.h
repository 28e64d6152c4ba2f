/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled.h - estimates totals over all steps when only a random part was recorded, with their
 * error.
 *
 * Windows hold weighted sums already (agg/weigh.h), each unbiased. The duration of all steps is
 * known, recorded or not, so sums are scaled by it: the remaining error is how much steps differ
 * from each other, not how many were chosen. Windows are taken as the sampling units; if the steps
 * of a window are alike, the reported error is too large, never too small. A single window says
 * nothing about differences between windows: then the error is that of its own sum. For names that
 * no recorded step had, up to three may have been missed for each that one stands for. One process
 * at a time. Pure.
 *
 * In a program without steps, time slots are unsampled (daemon/budget/slot.c), and no window says
 * which. Then each second from the first window to the last is a unit, also those in which nothing
 * was recorded: their sums are unbiased, and their variation is the error. It includes the
 * variation of the program itself over time: the reported error is too large rather than too small.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/event.h"
#include "model/rollup.h"

/* Of the windows of a process. */
struct sampled {
	uint32_t left, unseen; /* names of rows of steps: model/rollup.h; 0: there are none */
	double all_ns,
		weighted_ns; /* steps in sampled windows: all, and estimated from recorded ones */
	double square;       /* of weighted time, with the sampled share, */
	double whole_square; /* and without */
	double on_ns;        /* of all_ns: steps that were recorded */
	double sure_ns;      /* steps in windows in which all were */
	double now_ns, now_share; /* the current window: weighted time, sampled share */
	bool now;                 /* a part was not recorded */
	bool slots;               /* it has no steps: slots are unsampled */
	uint64_t last_ns;         /* of slots: begin of the last window */
	uint64_t unsampled, unseen_steps;
	uint64_t windows;
};

/* Of one row, in windows that were sampled. */
struct sampled_sum {
	double ns, count, bytes;
	double square, cross;
	double sure_ns, sure_count, sure_bytes; /* in windows that were not */
	uint64_t window;                        /* the last that it was in, */
	double window_ns; /* and what it has of that: on several tracks it comes in parts */
};

/* The correction and the error of a total. */
struct sampled_more {
	double ns, count, bytes; /* to add to what windows say */
	double variance;         /* of the total time */
};

/* Whether unsampled steps lack events of that kind. */
bool sampled_kind(uint32_t kind);
/* A window, before its rows are added. */
void sampled_window(struct sampled *s, const struct window *w);
void sampled_add(const struct sampled *s, struct sampled_sum *sum, const struct rollup *u);
/* After the last window. */
struct sampled_more sampled_end(const struct sampled *s, const struct sampled_sum *sum);

/* The half-width of a 95 % interval. */
double sampled_error(double variance);
