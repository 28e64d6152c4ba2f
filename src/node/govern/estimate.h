/* SPDX-License-Identifier: Apache-2.0 */
/*
 * estimate.h - estimates how much longer steps take when they are recorded, with a confidence
 * interval.
 *
 * The data are pairs of blocks of steps, one recorded and one not, in random order (abi/trial.h).
 * For the true slowdown the differences are symmetric, whatever the noise, so a sum of clipped
 * differences is a fair game, and a slowdown at which a bet would have won too much is ruled out.
 * The interval holds at every look, also under continuous monitoring (docs/decisions/0020).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/trial.h"

/* --- from steps to pairs --- */

struct trial_meter {
	struct aon_trial trial;
	uint64_t seed, pair;
	uint32_t n[2]; /* measured steps that were seen, on and off */
	bool spoilt;   /* the pair was disturbed by something other than the job */
	float log_ns[2][AON_TRIAL_BLOCK_MAX];
	uint64_t pairs, thrown; /* whole ones; incomplete or spoilt ones */
};

/* log(on / off), of three ways to see a block as one number. */
struct pair {
	double median, low, mean; /* low: the 20 % quantile */
	double lag; /* median of later halves less that of earlier ones: above 0, costs outlast a block */
};

void meter_init(struct trial_meter *m, struct aon_trial t, uint64_t seed);
/* Steps in the order of their numbers. True: a pair is whole. */
bool meter_step(struct trial_meter *m, uint64_t step, uint64_t dur_ns, struct pair *out);
/* A capture, a change of what is recorded, a lost rank: the current pair does not count. To be
 * called before anyone has seen its result. */
void meter_spoil(struct trial_meter *m);

/* --- from pairs to an interval --- */

#define ESTIMATE_LOW   (-0.03) /* range of log(on / off) that is considered possible */
#define ESTIMATE_HIGH  0.15
#define ESTIMATE_STEP  0.0002
#define ESTIMATE_CELLS 901u
#define ESTIMATE_PAST  64u /* pairs that say how noisy the next will be */
#define ESTIMATE_FIRST 8u  /* of the first ones only that is learnt */

struct estimate {
	double past[ESTIMATE_PAST]; /* a ring */
	uint64_t pairs;
	double sum[ESTIMATE_CELLS], square[ESTIMATE_CELLS];
};

struct interval {
	double lo, mid, hi; /* slowdown: 0.01 is one percent */
	bool known;         /* false: too few pairs; lo and hi are the possible range */
	bool over, under;   /* it touches the end of the possible range */
};

void estimate_init(struct estimate *e);
void estimate_add(struct estimate *e, double log_ratio);
/* alpha: the share of jobs for which the truth may ever be outside. */
struct interval estimate_at(const struct estimate *e, double alpha);
/* Noise of one pair: 1.4826 x the median deviation of the last ones; 0: not known yet. */
double estimate_noise(const struct estimate *e);
