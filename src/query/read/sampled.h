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

/* State for the windows of one process. */
struct sampled {
	/* names of the rows of unsampled and unrecorded steps (model/rollup.h); 0: none */
	uint32_t left, unseen;
	double all_ns,
		/* duration of all steps in sampled windows, and its estimate from recorded ones */
		weighted_ns;
	double square;            /* sums of squares of weighted time: sampled windows only, */
	double whole_square;      /* and all windows */
	double on_ns;             /* of all_ns: recorded steps */
	double sure_ns;           /* duration of steps in windows without sampling */
	double now_ns, now_share; /* the current window: weighted time, sampled share */
	bool now;                 /* some steps of the window were not recorded */
	bool slots;               /* the program has no steps: slots of time are sampled */
	uint64_t last_ns;         /* for slots: begin of the last window */
	uint64_t unsampled, unseen_steps;
	uint64_t windows;
};

/* Sums of one row, in sampled windows. */
struct sampled_sum {
	double ns, count, bytes;
	double square, cross;
	double sure_ns, sure_count, sure_bytes; /* in windows without sampling */
	uint64_t window;                        /* the last window that it was in, */
	double window_ns; /* and its time there; with several tracks it arrives in parts */
};

/* Correction and error of a total. */
struct sampled_more {
	double ns, count, bytes; /* to be added to the sums of the windows */
	double variance;         /* of the corrected time */
};

/* Whether events of that kind are missing in unsampled steps. */
bool sampled_kind(uint32_t kind);
/* Begins a window; its rows follow. */
void sampled_window(struct sampled *s, const struct window *w);
void sampled_add(const struct sampled *s, struct sampled_sum *sum, const struct rollup *u);
/* After the last window. */
struct sampled_more sampled_end(const struct sampled *s, const struct sampled_sum *sum);

/* The half-width of a 95 % interval. */
double sampled_error(double variance);
