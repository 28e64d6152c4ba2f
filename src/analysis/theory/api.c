/* SPDX-License-Identifier: Apache-2.0 */
/* api.c - libaon-model: the models as a C library (include/aon/model.h). */
#include <aon/model.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "theory/gemm.h"

#define SAME(NAME) _Static_assert((int)AON_MODEL_##NAME == (int)GPU_##NAME, "types of model.h")
SAME(FP64);
SAME(FP32);
SAME(TF32);
SAME(FP16);
SAME(BF16);
SAME(FP8);
SAME(FP4);
SAME(INT8);

const char *aon_model_device(size_t i)
{
	const struct gpu *g = gpu_at(i);

	return g ? g->key : NULL;
}

int aon_model_gemm(struct aon_model_time *out, const char *device, const struct aon_model_gemm *x)
{
	struct aon_model_time r;
	const struct gpu *g;
	struct gemm_time t;
	struct gemm y;
	int err;

	/* There has been one version: later ones are longer, and what they add is not known here. */
	if (x->size < sizeof(*x) || out->size < sizeof(r) || x->type >= GPU_TYPES ||
	    x->out >= GPU_TYPES)
		return -EINVAL;
	g = gpu_find(device);
	if (!g)
		return -ENODEV;
	y = (struct gemm){ x->m, x->n, x->k, x->batch, x->type, x->out, x->alone != 0 };
	err = gemm_time(&t, g, &y);
	if (err < 0)
		return err;
	r = (struct aon_model_time){
		.size = out->size,
		.ns = t.ns,
		.flops = t.flops,
		.bytes = t.bytes,
		.roof_ns =
			1e9 * fmax(t.flops / gpu_peak(g, y.type), gemm_bytes(&y) / g->memory_Bps),
		.waves = t.waves,
		.wave_efficiency = t.wave_efficiency,
		.tile_m = t.tile_m,
		.tile_n = t.tile_n,
		.split_k = t.split_k,
		.fitted = t.fitted,
		.limiter = t.limiter,
		.constants = t.constants,
	};
	memcpy(out, &r, sizeof(r));
	return 0;
}
