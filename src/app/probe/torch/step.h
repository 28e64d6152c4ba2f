/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.h - derives the steps of a training from the ends of optimizers' steps. Pure.
 *
 * A step ends with its last optimizer. With one optimizer that is every end. With several (a
 * GAN, an optimizer for each parameter) the order is learned: the first one that comes again,
 * not at once, begins another step, and the one before it was the last. From then on a step is
 * known to have ended at the end of its last optimizer. Repeats at once (five steps of a critic)
 * are one place in the order, once there is more than one optimizer.
 *
 * A step whose optimizer was skipped (GradScaler met infinities) ends where the gradients are
 * cleared, or the next batch is fetched, once more than usual. Batches that nothing is cleared
 * for, as in an evaluation, belong to no step: the next one begins with the last of them.
 *
 *	first step   from the first sign of life to the end of its last optimizer
 *	all others   from the end of the one before
 */
#pragma once

#include <stdint.h>

struct step_clock {
	uint64_t begin_ns; /* of the step under way; 0: none */
	uint64_t end_ns;   /* of the last optimizer that ended; 0: none in this step */
	uint64_t first;    /* optimizer of this step */
	uint64_t prev;     /* optimizer that ended last */
	uint64_t last;     /* learned: the one that ends a step; 0: not yet */
	uint32_t run;      /* how often `prev` came at once */
	uint32_t last_run; /* the same of `last` at a step's end */
	uint32_t several;  /* more than one optimizer was seen */
	uint32_t cleared;  /* gradients, since a batch of this step was fetched */
	struct step_habit {
		uint32_t now;   /* in this step, */
		uint32_t mark;  /* when its last optimizer ended */
		uint32_t usual; /* in the last one */
		uint32_t same;  /* steps in a row that had as many */
	} zero, fetch;
};

struct step_span {
	uint64_t begin_ns, end_ns;
};

/* Something of a training begins: a step is under way from here, if none was. */
void step_touch(struct step_clock *c, uint64_t now_ns);
/* An optimizer's step has ended. Each of these returns how many steps in `out` have ended. */
int step_optimizer(struct step_clock *c, uint64_t id, uint64_t now_ns, struct step_span out[2]);
/* Gradients are about to be cleared, outside of an optimizer's step. */
int step_zero(struct step_clock *c, uint64_t now_ns, struct step_span *out);
int step_fetch(struct step_clock *c, uint64_t now_ns, struct step_span *out);
/* Nothing more comes. */
int step_finish(struct step_clock *c, struct step_span *out);
