/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - what work should take on a device, and what limits it: libaon-model.
 *
 * What `aon model gemm` says, for programs. Pure: no file, no thread, no daemon. All calls are
 * safe from any thread.
 */
#ifndef AON_MODEL_H
#define AON_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include <aon/aon.h>

#ifdef __cplusplus
extern "C" {
#endif

enum aon_model_type {
	AON_MODEL_FP64 = 0,
	AON_MODEL_FP32 = 1,
	AON_MODEL_TF32 = 2,
	AON_MODEL_FP16 = 3,
	AON_MODEL_BF16 = 4,
	AON_MODEL_FP8 = 5,
	AON_MODEL_FP4 = 6,
	AON_MODEL_INT8 = 7
};

/* C[m,n] = A[m,k] B[k,n], `batch` times. */
struct aon_model_gemm {
	size_t size; /* of this struct, so that it can grow at its end */
	uint64_t m, n, k, batch;
	uint32_t type; /* of A and B: enum aon_model_type */
	uint32_t out;  /* of C */
	/* 0: in a stream of other kernels, as in a job. 1: launched on an idle device, operands in
	 * its cache as far as they fit, as tables of GEMM times are measured. */
	uint32_t alone;
};

struct aon_model_time {
	size_t size; /* of this struct, as the caller knows it */
	double ns;
	double flops, bytes;    /* bytes: to and from memory */
	double roof_ns;         /* operations at the peak or bytes at the bandwidth, the greater */
	double waves;           /* tiles for each SM */
	double wave_efficiency; /* of the SMs' turns, those that have a tile */
	uint32_t tile_m, tile_n, split_k;
	uint32_t fitted;       /* 1: the constants were fitted on this architecture and type */
	const char *limiter;   /* "compute" "memory" "latency" "launch"; never freed */
	const char *constants; /* "sm_90 bf16": whose were used; never freed */
};

/* clang-format off */
#define AON_MODEL_GEMM_INIT { sizeof(struct aon_model_gemm), 0, 0, 0, 1, AON_MODEL_BF16, AON_MODEL_BF16, 0 }
#define AON_MODEL_TIME_INIT { sizeof(struct aon_model_time), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL }
/* clang-format on */

/*
 * The expected time of a product on `device`, a key of `aon roofline devices` in any case or the
 * driver's name for it. On failure *out is untouched and the result is
 *   -ENODEV   no such device is known
 *   -EINVAL   a size is 0, or `size` is not one of this library's
 *   -ERANGE   its operations or bytes do not fit 64 bits
 *   -ENOTSUP  the device has no such type
 */
AON_API int aon_model_gemm(struct aon_model_time *out, const char *device,
			   const struct aon_model_gemm *x);

/* The key of the i-th device that is known; NULL behind the last. */
AON_API const char *aon_model_device(size_t i);

#ifdef __cplusplus
}
#endif

#endif /* AON_MODEL_H */
