// SPDX-License-Identifier: Apache-2.0
// kind: a C program marks the parts of its step with ranges; one of them is slow
// family: host_code cpu_bound slow_range
// culprit: plant_f
// action: plant_f|cheaper|range
// needs: cc
// draw: ms=6..40 other=2..5
#include <aon/aon.h>
#include "planted.h"

static void plant_f(double ms)
{
	aon_range_push("plant_f");
	burn(ms);
	aon_range_pop();
}

static void plant_g(double ms)
{
	aon_range_push("plant_g");
	burn(ms);
	aon_range_pop();
}

static void plant_h(double ms)
{
	aon_range_push("plant_h");
	burn(ms);
	aon_range_pop();
}

int main(void)
{
	int on = (int)param("on", 1);

	for (long i = 0; more(); i++) {
		double t;

		aon_step_begin((uint64_t)i);
		plant_g(param("other", 4));
		t = now_ms();
		plant_f(on ? param("ms", 10) : 0.05);
		cost(now_ms() - t);
		plant_h(param("other", 4));
		aon_step_end((uint64_t)i);
	}
	return said();
}
