/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial.h - which steps of a job are recorded and which are unsampled, to measure the cost of
 * recording, or to keep it low.
 *
 * Steps come in rounds, by their number alone:
 *
 *	| guard block | guard block | gap ... |      a coin decides which of the first two is off
 *
 * All ranks of a job have the same seed, so they skip the same steps without a message: a step is
 * as slow as its slowest rank, and ranks that took turns would measure nothing. The coin is fair, so
 * the difference between the two blocks is symmetric around the cost of recording, whatever else
 * slows the job. The gap is cut into blocks; one of `duty` blocks, chosen at random, is recorded
 * and stands for all.
 *
 * Plain arithmetic, for both sides of the gate. Unsampled steps are still recorded as steps.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define AON_TRIAL_BLOCK_MAX 255u
#define AON_TRIAL_DUTY_MAX  255u

/* As the gate carries it: one word, read at once. 0: every step is recorded. */
struct aon_trial {
	uint32_t gap;   /* steps between two pairs; 0: none */
	uint8_t block;  /* steps that are measured; 0: no pairs */
	uint8_t guard;  /* before each block, on or off: not measured */
	uint8_t duty;   /* one of so many blocks of the gap is on; 0 and 1: all are */
	uint8_t unused; /* 0 */
};

_Static_assert(sizeof(struct aon_trial) == 8, "one word of the gate");

static inline uint64_t aon_trial_word(struct aon_trial t)
{
	return (uint64_t)t.gap | (uint64_t)t.block << 32 | (uint64_t)t.guard << 40 |
	       (uint64_t)t.duty << 48;
}

static inline struct aon_trial aon_trial_of(uint64_t word)
{
	return (struct aon_trial){ .gap = (uint32_t)word,
				   .block = (uint8_t)(word >> 32),
				   .guard = (uint8_t)(word >> 40),
				   .duty = (uint8_t)(word >> 48) };
}

/* The end of splitmix64: every bit of the result depends on every bit of both. */
static inline uint64_t aon_trial_mix(uint64_t seed, uint64_t n)
{
	uint64_t z = seed + (n + 1) * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* Where a step is in its round. */
struct aon_trial_at {
	uint64_t pair;  /* number of the round */
	bool in_pair;   /* else in the gap */
	bool measured;  /* in a pair, behind the guard */
	bool off;       /* not to be recorded */
	uint32_t index; /* measured: which of the block */
};

static inline struct aon_trial_at aon_trial_at(struct aon_trial t, uint64_t seed, uint64_t step)
{
	uint32_t half = (uint32_t)t.block + t.guard, round, pos;
	struct aon_trial_at at = { 0 };

	if (!t.block)
		half = 1; /* no pairs: the gap alone, cut into single steps */
	round = (t.block ? 2 * half : 0) + t.gap;
	if (!round)
		return at;
	at.pair = step / round;
	pos = (uint32_t)(step % round);
	at.in_pair = t.block && pos < 2 * half;
	if (at.in_pair) {
		at.off = pos / half == (aon_trial_mix(seed, 2 * at.pair) & 1);
		at.measured = pos % half >= t.guard;
		at.index = at.measured ? pos % half - t.guard : 0;
	} else if (t.duty > 1) {
		pos -= t.block ? 2 * half : 0;
		at.off = aon_trial_mix(seed ^ at.pair, 2 * (pos / half) + 1) % t.duty != 0;
	}
	return at;
}

/* The weight of a recorded step: how many steps it stands for. */
static inline uint32_t aon_trial_weight(struct aon_trial t, struct aon_trial_at at)
{
	return at.in_pair ? 2 : t.duty > 1 ? t.duty : 1;
}

/* The share of steps that are recorded in the long run, 0 to 1. */
static inline double aon_trial_share(struct aon_trial t)
{
	double pair = t.block ? (double)t.block + t.guard : 0; /* on; as many are off */
	double all = 2 * pair + t.gap;

	return all > 0 ? (pair + (double)t.gap / (t.duty > 1 ? t.duty : 1)) / all : 1;
}
