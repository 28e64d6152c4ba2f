/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.h - finds the steps of a program among its calls of jitted functions. Pure: no clock, no
 * output.
 *
 * A training loop calls the same few functions again and again. One of them is the anchor: each of
 * its calls begins a step, and ends the one before. The anchor is the first function that was
 * called three times; between two candidates, the one that was called first. Another function
 * replaces the anchor once it has been called more often than the anchor ever was, with no call of
 * the anchor meanwhile; a function of another thread only if that has lasted for ten seconds as
 * well. The earlier calls that made a function the anchor are steps, too: they are reported
 * afterwards.
 *
 *	I T T T E E T T     I: once, no step   T: the anchor   E: an evaluation
 *	  |-|-|-|   |-|-    E has not been in the last steps: it ends the step, and is none
 *	A B B A B B A B B   A and B are one step
 *	|-----|-----|----
 *
 * A call only hands work over: a step lasts from one call of the anchor to the next.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define STEP_FUNCTIONS 1024u /* that are distinguished: 1 to this, less 1 */
#define STEP_PAST      256u  /* calls that can be reported in hindsight */

struct step_function {
	uint64_t calls;
	uint64_t first_ns; /* since the last call of the anchor */
	uint64_t turn;     /* of the anchor */
	uint32_t tid;
};

struct jax_clock {
	uint64_t turn; /* calls of anchors */
	uint32_t anchor, anchor_tid;
	uint64_t anchor_ns; /* its last call */
	bool open;          /* a step is under way */
	struct {
		uint32_t function, tid; /* 0: none */
		uint64_t calls;
		uint64_t begin_ns[STEP_PAST]; /* the last of them: call n is at n % STEP_PAST */
	} next;                               /* the candidate for the anchor */
	struct step_function function[STEP_FUNCTIONS];
};

/* What a call means. */
struct step_news {
	bool end;      /* the step under way ends here, */
	uint32_t past; /* so many have been before, see step_past(); */
	bool begin;    /* and one begins here */
};

/* An outermost call of a function by a thread. */
struct step_news step_call(struct jax_clock *c, uint32_t function, uint32_t tid, uint64_t now_ns);
/* When the i-th of n steps in the past began; the n-th is the one that begins now. */
uint64_t step_past(const struct jax_clock *c, uint32_t n, uint32_t i);
