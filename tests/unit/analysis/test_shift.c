/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of level are found where they are, and none where there is none. */
#include "insight/shift.h"
#include "t.h"

#define MOST 16u

static uint64_t random64(void)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

/* About normal, of mean 0 and deviation 1. */
static double noise(void)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += (double)(random64() % 65536) / 65536;
	return sum - 6;
}

static uint64_t level(double mean, double sigma)
{
	double v = mean * (1 + sigma * noise());

	return v > 1 ? (uint64_t)v : 1;
}

typedef uint64_t series_fn(uint64_t i);

static uint64_t constant(uint64_t i)
{
	(void)i;
	return 1000000;
}

static uint64_t noisy(uint64_t i)
{
	(void)i;
	return level(1e6, 0.2);
}

/* Every tenth is a checkpoint. */
static uint64_t spikes(uint64_t i)
{
	return i % 10 ? level(1e6, 0.01) : 20000000;
}

static uint64_t two_levels(uint64_t i)
{
	(void)i;
	return random64() & 1 ? level(1e6, 0.01) : level(1.5e6, 0.01);
}

static uint64_t small_step(uint64_t i)
{
	return i < 100 ? 1000000 : 1030000;
}

static uint64_t slower(uint64_t i)
{
	return level(i < 100 ? 1e6 : 1.2e6, 0.02);
}

static uint64_t slower_spikes(uint64_t i)
{
	return i % 32 == 5 ? 30000000 : level(i < 100 ? 1e6 : 1.2e6, 0.02);
}

static uint64_t up_and_down(uint64_t i)
{
	return level(i < 100 || i >= 160 ? 1e6 : 2e6, 0.03);
}

static uint64_t at_the_end(uint64_t i)
{
	return i < 180 ? 1000000 : 2000000;
}

static uint64_t huge(uint64_t i)
{
	return i < 100 ? 1 : UINT64_MAX;
}

static size_t find(series_fn *f, uint64_t n, struct shift out[MOST])
{
	struct shifts s = { .n = 0 };
	struct shift c;
	size_t found = 0;

	for (uint64_t i = 0; i < n; i++)
		if (shifts_add(&s, f(i), &c) && found < MOST)
			out[found++] = c;
	if (shifts_end(&s, &c) && found < MOST)
		out[found++] = c;
	return found;
}

static void none(const char *name, series_fn *f, uint64_t n)
{
	struct shift c[MOST];
	size_t found = find(f, n, c);

	T_OK(found == 0, "none in %s", name);
	for (size_t i = 0; i < found; i++)
		printf("# at %llu\n", (unsigned long long)c[i].at);
}

static bool near(uint64_t v, double want, double part)
{
	return (double)v > want * (1 - part) && (double)v < want * (1 + part);
}

int main(void)
{
	struct shift c[MOST];

	none("a constant", constant, 1000);
	none("20,000 noisy values", noisy, 20000);
	none("values with a slow one in ten", spikes, 5000);
	none("values that jump between two levels", two_levels, 5000);
	none("a step of 3 %", small_step, 200);
	none("39 values", slower, 39);
	T_OK(find(slower, 200, c) == 1 && c[0].at >= 99 && c[0].at <= 101 &&
		     near(c[0].before, 1e6, 0.02) && near(c[0].after, 1.2e6, 0.02),
	     "20 %% slower from 100 on: found there, with both levels");
	T_OK(find(slower_spikes, 200, c) == 1 && c[0].at >= 98 && c[0].at <= 102,
	     "also between slow ones");
	T_OK(find(up_and_down, 300, c) == 2 && c[0].at == 100 && c[1].at == 160 &&
		     c[1].after < c[1].before,
	     "up, and down again");
	T_OK(find(at_the_end, 200, c) == 1 && c[0].at == 180, "one in the last values");
	T_OK(find(huge, 200, c) == 1 && c[0].at == 100 && c[0].after >= UINT64_MAX - 1,
	     "values may be as large as they are");
	return t_done();
}
