// SPDX-License-Identifier: Apache-2.0
// kind: a C program allocates a large buffer in each step and frees it, so that the kernel gives it new pages each time
// family: host_code cpu_bound
// culprit: plant_f
// action: plant_f|cheaper|page|memory|buffer
// needs: cc
// draw: mb=40..120 other=6..16
#include <aon/aon.h>
#include "planted.h"

static volatile float total;

void plant_f(size_t bytes, float first)
{
	size_t n = bytes / sizeof(float);
	float *scratch = malloc(bytes), sum = 0;

	for (size_t i = 0; i < n; i += 256)
		scratch[i] = first;
	for (size_t i = 0; i < n; i += 4096)
		sum += scratch[i];
	total = sum;
	free(scratch);
}

int main(void)
{
	int on = (int)param("on", 1);

	for (long i = 0; more(); i++) {
		double t;

		aon_step_begin((uint64_t)i);
		burn(param("other", 4));
		t = now_ms();
		plant_f(on ? (size_t)param("mb", 40) << 20 : 65536, (float)i);
		if (on)
			cost(now_ms() - t);
		aon_step_end((uint64_t)i);
	}
	return said();
}
