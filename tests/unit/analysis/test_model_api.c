/* SPDX-License-Identifier: Apache-2.0 */
/* Against libaon-model.so and its public header alone. */
#include <aon/model.h>

#include <errno.h>
#include <string.h>

#include "t.h"

static int ask(struct aon_model_time *t, const char *device, uint64_t m, uint32_t type)
{
	struct aon_model_gemm x = AON_MODEL_GEMM_INIT;

	x.m = m;
	x.n = x.k = 4096;
	x.type = type;
	return aon_model_gemm(t, device, &x);
}

int main(void)
{
	struct aon_model_gemm x = AON_MODEL_GEMM_INIT;
	struct aon_model_time t = AON_MODEL_TIME_INIT;
	double busy;
	size_t n = 0;

	T_OK(!ask(&t, "h100_sxm", 4096, AON_MODEL_BF16) && !strcmp(t.limiter, "compute") &&
		     t.fitted && !strcmp(t.constants, "sm_90 bf16") && t.roof_ns < t.ns &&
		     t.ns < 2 * t.roof_ns && t.flops == 2.0 * 4096 * 4096 * 4096,
	     "a large product on H100 is limited by compute, near its roof");
	busy = t.ns;
	x.m = x.n = x.k = 4096;
	x.alone = 1;
	T_OK(!aon_model_gemm(&t, "NVIDIA H100 80GB HBM3", &x) && t.ns > busy,
	     "alone it takes longer to start; the driver's name is taken");
	T_OK(!ask(&t, "A100_SXM_80", 64, AON_MODEL_BF16) && !t.fitted && t.waves > 0 && t.tile_m,
	     "a device that was not measured says so");
	t.ns = -1;
	T_OK(ask(&t, "no such", 1, AON_MODEL_BF16) == -ENODEV && t.ns == -1,
	     "refused: no such device");
	T_OK(ask(&t, "B200", 0, AON_MODEL_BF16) == -EINVAL && t.ns == -1, "refused: no rows");
	T_OK(ask(&t, "B200", UINT64_MAX, AON_MODEL_BF16) == -ERANGE && t.ns == -1,
	     "refused: overflow");
	T_OK(ask(&t, "A100_SXM_80", 1, AON_MODEL_FP8) == -ENOTSUP && t.ns == -1, "refused: no fp8");
	T_OK(ask(&t, "B200", 1, 99) == -EINVAL && t.ns == -1, "refused: no such type");
	t.size = 8;
	T_OK(ask(&t, "B200", 1, AON_MODEL_BF16) == -EINVAL,
	     "a result that is too short is refused");
	t.size = sizeof(t);
	x.size = 0;
	T_OK(aon_model_gemm(&t, "B200", &x) == -EINVAL, "so is a question without its size");
	while (aon_model_device(n))
		n++;
	T_OK(n > 20, "it tells the devices it knows");
	return t_done();
}
