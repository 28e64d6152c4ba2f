/* SPDX-License-Identifier: Apache-2.0 */
/*
 * level.h - detects that a series has left its level, value by value, in constant memory.
 *
 * The first values only warm up; the next (64, or 24 pieces) give the normal level: a median and a
 * scale of logarithms. From then on a sum of clipped deviations (CUSUM) grows with every value that
 * is off and shrinks with every other. An alarm needs both: the sum exceeds a height that noise
 * does not reach in days, and the median of the last values has moved by at least the minimum
 * effect size. A change is reported once. The new level is then learnt, so that the return is
 * reported, too.
 */
#pragma once

#include <stdint.h>

#define LEVEL_LEARN 64u
#define LEVEL_LAST  16u

/* The kind of values: many single ones, or few pieces of time, each of which is a mean already. */
enum level_pace { LEVEL_VALUES, LEVEL_PIECES };

enum level_move { LEVEL_SAME, LEVEL_UP, LEVEL_DOWN };

struct level {
	float value[LEVEL_LEARN]; /* logs: learnt from; then a ring of the last LEVEL_LAST */
	uint64_t n;          /* values since it began to learn, those of warming up with them */
	double usual, scale; /* of logs */
	double up, down;     /* the sums */
	double was, is;      /* medians before and after the last reported change */
};

/* gate: the least ratio that matters, 1.1 is ten percent. Values not above 0 are ignored. */
enum level_move level_add(struct level *l, double value, double gate, enum level_pace pace);
