/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/measure.h"

#include "t.h"

/* Rates of working sets that double, and the steps that they have. */
static const struct {
	const char *what;
	double rate[8];
	size_t rates, steps;
	double step[4];
	uint64_t bytes[4];
} steps[] = {
	{ "a clear step at each level",
	  { 400, 390, 200, 205, 60, 58, 30, 30 },
	  8,
	  4,
	  { 400, 205, 60, 30 },
	  { 2, 8, 32, 128 } },
	{ "no step", { 30, 31, 29, 30 }, 4, 1, { 31 }, { 8 } },
	{ "a dip that does not stay", { 100, 20, 100, 95, 30 }, 5, 2, { 100, 30 }, { 8, 16 } },
	{ "a first set that is disturbed", { 50, 300, 310, 100 }, 4, 2, { 310, 100 }, { 4, 8 } },
	{ "a slow slope", { 100, 90, 80, 70, 60 }, 5, 2, { 100, 70 }, { 4, 16 } },
	{ "one set", { 10 }, 1, 1, { 10 }, { 1 } },
};

int main(void)
{
	for (size_t i = 0; i < T_LEN(steps); i++) {
		struct measure m = { .levels = steps[i].rates };
		struct measure_level got[MEASURE_LEVELS];
		bool same;
		size_t n;

		for (size_t k = 0; k < steps[i].rates; k++)
			m.level[k] = (struct measure_level){ 1ull << k, steps[i].rate[k] };
		n = measure_steps(&m, got);
		same = n == steps[i].steps;
		for (size_t k = 0; same && k < n; k++)
			same = got[k].Bps == steps[i].step[k] && got[k].bytes == steps[i].bytes[k];
		T_OK(same, "%s: %zu steps", steps[i].what, n);
	}
	T_OK(!measure_steps(&(struct measure){ .levels = 0 },
			    (struct measure_level[MEASURE_LEVELS]){ 0 }),
	     "nothing was read: no step");
	return t_done();
}
