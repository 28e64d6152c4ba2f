/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled.h - totals of what was recorded of some steps, by chance, for all of them: with how
 * sure that is.
 *
 * Windows hold weighted sums already (agg/weigh.h): each is right in the mean. How long all steps
 * took is known, recorded or not, so sums are set in proportion to that: what is left of the
 * error is how much steps differ from each other, not how many chance has chosen. Windows are
 * taken as the units that were drawn; if steps of a window are alike the reported error is too large,
 * never too small. One window says nothing of how windows differ: then the error is that of its
 * own sum. Of what no recorded step had, up to three may have been missed for each that one
 * stands for. Of one process at a time. Pure.
 *
 * Of a program without steps slots of time are left out (daemon/budget/slot.c), and no window says of which.
 * Each second from its first window to its last is a unit then, also those in which nothing was
 * recorded: their sums are right in the mean, and how much they differ is the error. That a program does
 * different things at different times is in it, too: the reported error is too large rather than too small.
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
		weighted_ns; /* steps in windows that were sampled: all, as recorded ones say */
	double square;       /* of weighted time, with the share that was left to chance, */
	double whole_square; /* and without */
	double on_ns;        /* of all_ns: steps that were recorded */
	double sure_ns;      /* steps in windows in which all were */
	double now_ns, now_share; /* the present window: weighted time, share left to chance */
	bool now;                 /* some was not sampled */
	bool slots;               /* it has no steps: slots were left out */
	uint64_t last_ns;         /* of slots: begin of the last window */
	uint64_t left_out, unseen_steps;
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

/* How sure a total is. */
struct sampled_more {
	double ns, count, bytes; /* to add to what windows say */
	double variance;         /* of the total time */
};

/* Whether kind is one that steps which are left out do not have. */
bool sampled_kind(uint32_t kind);
/* A window, before its rows are added. */
void sampled_window(struct sampled *s, const struct window *w);
void sampled_add(const struct sampled *s, struct sampled_sum *sum, const struct rollup *u);
/* After the last window. */
struct sampled_more sampled_end(const struct sampled *s, const struct sampled_sum *sum);

/* The half-width of a 95 % interval. */
double sampled_error(double variance);
