/* SPDX-License-Identifier: Apache-2.0 */
/*
 * noise.h - reproducible random numbers: one for each place and time of a job.
 *
 * The magnitudes were measured on published traces of production jobs (ByteDance's
 * StragglerAnalysis): the variation of a rank's work from step to step, the variation that all
 * ranks share, and that of a single kernel.
 */
#pragma once

#include <stdint.h>

#define NOISE_STATIC 0.003 /* of a rank, always: standard deviation */
#define NOISE_ODD    500   /* one rank in so many is 2 to 8 % slower for no reason */
#define NOISE_OWN \
	0.0025 /* of a rank's step: scale of a Student t of 4 degrees, beside its kernels' */
#define NOISE_COMMON 0.006 /* of all ranks' step: standard deviation of an AR(1) */
#define NOISE_RHO    0.75
#define NOISE_KERNEL 0.03 /* of one kernel */

enum noise_of {
	NOISE_OF_RANK,
	NOISE_OF_STEP,
	NOISE_OF_ALL,
	NOISE_OF_OP,
	NOISE_OF_FAULT,
	NOISE_OF_LENGTH,
	NOISE_OF_CLOCK,
	NOISE_OF_EXPERT,
	NOISE_OF_CASE
};

/* 64 bits of what all of these make. */
uint64_t noise_bits(uint64_t seed, enum noise_of of, uint64_t a, uint64_t b, uint64_t c);
double noise_uniform(uint64_t bits); /* [0, 1) */
double noise_normal(uint64_t bits);  /* mean 0, deviation 1 */
double noise_t4(uint64_t bits);      /* within 6 scales */
/* Nearly normal, from bits alone: for what is asked for each kernel. */
static inline double noise_quick(uint64_t bits)
{
	double sum = (double)(bits & 0xffff) + (double)(bits >> 16 & 0xffff) +
		     (double)(bits >> 32 & 0xffff) + (double)(bits >> 48);

	return (sum / 65536.0 - 2.0) * 1.7320508;
}
