/* SPDX-License-Identifier: Apache-2.0 */
#include "base/unions.h"

#include <stdbool.h>
#include <string.h>

#include "t.h"

enum { SETS = 3, LENGTH = 200 };

static uint64_t seed = 1;

static uint64_t below(uint64_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

/* Moment by moment. */
static bool one_run(void)
{
	uint64_t until[SETS] = { 0 }, sum[SETS] = { 0 }, truth[SETS] = { 0 }, at = 0;
	bool in[SETS][LENGTH + 1] = { { 0 } };

	while (at < LENGTH) {
		uint64_t end = at + below(30);
		uint32_t of = (uint32_t)below(1u << SETS);

		end = end < LENGTH ? end : LENGTH;
		unions_add(until, sum, of, at, end);
		for (uint32_t s = 0; s < SETS; s++)
			for (uint64_t t = at; of & 1u << s && t < end; t++)
				in[s][t] = true;
		at += below(12);
	}
	for (uint32_t s = 0; s < SETS; s++)
		for (uint64_t t = 0; t < LENGTH; t++)
			truth[s] += in[s][t];
	return !memcmp(sum, truth, sizeof(sum));
}

int main(void)
{
	uint64_t until[32] = { 0 }, sum[32] = { 0 };
	unsigned bad = 0;

	for (int i = 0; i < 1000; i++)
		bad += !one_run();
	T_OK(!bad, "1000 made-up runs are as counted moment by moment: %u are not", bad);
	unions_add(until, sum, 1u << 31, 5, 9);
	unions_add(until, sum, 1u << 31, 6, 7);
	T_OK(sum[31] == 4 && until[31] == 9 && !sum[0],
	     "the last set is one, too; what is inside adds nothing");
	unions_add(until, sum, 0, 100, 200);
	T_OK(sum[31] == 4, "of no set, nothing is added");
	unions_add(until, sum, 1, UINT64_MAX - 1, UINT64_MAX);
	T_OK(sum[0] == 1, "time has an end");
	return t_done();
}
