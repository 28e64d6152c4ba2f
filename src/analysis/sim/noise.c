/* SPDX-License-Identifier: Apache-2.0 */
/* noise.c - reproducible random numbers. */
#include "sim/noise.h"

#include <math.h>

#define TWO_PI 6.283185307179586

static uint64_t mix(uint64_t x) /* splitmix64 */
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

uint64_t noise_bits(uint64_t seed, enum noise_of of, uint64_t a, uint64_t b, uint64_t c)
{
	return mix(mix(mix(mix(mix(seed) ^ of) ^ a) ^ b) ^ c);
}

double noise_uniform(uint64_t bits)
{
	return (double)(bits >> 11) * 0x1p-53;
}

double noise_normal(uint64_t bits)
{
	double u = noise_uniform(bits) + 0x1p-54, v = noise_uniform(mix(bits));

	return sqrt(-2 * log(u)) * cos(TWO_PI * v);
}

double noise_t4(uint64_t bits)
{
	double u = noise_uniform(mix(bits + 1)) + 0x1p-54,
	       v = noise_uniform(mix(bits + 2)) + 0x1p-54;
	double t = noise_normal(bits) / sqrt(-2 * log(u * v) / 4);

	return t > 6 ? 6 : t < -6 ? -6 : t;
}
