/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h - peaks that NVIDIA's own libraries reach: cuBLAS for a matrix product, NCCL for a
 * collective among GPUs. Both are loaded on demand. Functions return 0, -ENOENT if there is no such
 * library, or -errno. `why` has room for BACKEND_WHY.
 */
#pragma once

#include "measure/backend.h"

/* n x n by n x n in bf16; AON_CUBLAS names another library. */
int cublas_gemm(struct backend *b, uint32_t n, double *flops, char *why);

struct nccl_result {
	uint32_t ranks, version; /* 22703 is 2.27.3 */
	uint64_t bytes;          /* of each */
	double bus_Bps;          /* as nccl-tests count it */
	uint64_t wrong;          /* of the sums that were looked at */
};

/* All-reduce among `n` devices of this process; AON_NCCL names another library. */
#define NCCL_RANKS 64u
int nccl_all_reduce(struct nccl_result *out, struct backend *const *b, uint32_t n, char *why);
