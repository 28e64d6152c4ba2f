/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - what a matrix product should take on every device that aon knows. */
#include <stdio.h>

#include <aon/model.h>

int main(void)
{
	struct aon_model_gemm x = AON_MODEL_GEMM_INIT;
	struct aon_model_time t = AON_MODEL_TIME_INIT;
	const char *device;

	x.m = x.n = x.k = 4096;
	for (size_t i = 0; (device = aon_model_device(i)); i++)
		if (aon_model_gemm(&t, device, &x) == 0)
			printf("%-14s %8.1f us, limited by %s, %3.0f %% of the roof\n", device,
			       t.ns / 1e3, t.limiter, 100 * t.roof_ns / t.ns);
	return 0;
}
