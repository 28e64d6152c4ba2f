/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampling_estimator.h - the steps of a process as blocks, recorded or unsampled; what a
 * recorded block stands for, and how sure sums over such blocks are.
 *
 * Work that was launched in a block may run after it: work belongs to the last recorded block that
 * began before it. Blocks are the sampling units (abi/trial.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CHOSEN_NONE SIZE_MAX

struct chosen_block {
	uint64_t from_ns, to_ns;
	uint32_t weight; /* number of steps that each of its steps stands for; 0: unsampled */
	double step_ns;  /* time of its steps */
};

struct chosen {
	struct chosen_block *block; /* owned; in order */
	size_t n;
};

void chosen_fini(struct chosen *c);
/* Steps of one thread, in order. weight 0: unsampled. -ENOMEM. */
int chosen_step(struct chosen *c, uint64_t start_ns, uint64_t dur_ns, uint32_t weight);
/* The block that work from ns on belongs to, or CHOSEN_NONE: from before all of them. *hint: where
 * the last one was; 0 at first. Times may go back. */
size_t chosen_at(const struct chosen *c, size_t *hint, uint64_t ns);
/* How much of a gap without work was not recorded: up to the end of its unsampled steps. */
uint64_t chosen_unseen(const struct chosen *c, uint64_t start_ns, uint64_t end_ns);

struct chosen_sum {
	double ns;       /* of all blocks, recorded or unsampled */
	double times;    /* factor for the weighted sums of recorded blocks */
	double variance; /* of ns */
};

/* y: of each block, `stride` apart: what was recorded in it. */
struct chosen_sum chosen_sum(const struct chosen *c, const double *y, size_t stride);

/* The factor that corrects a variance from few units, so that 1.96 standard deviations are a 95 %
 * interval. units: (sum of weights)^2 / sum of their squares. */
double chosen_few(double units);
