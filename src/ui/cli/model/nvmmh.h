/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvmmh.h - a second opinion on matrix products: NVIDIA's nvMatmulHeuristics (PyPI
 * nvidia-matmul-heuristics), a library that needs no GPU. It is used if it is installed.
 */
#pragma once

#include "theory/gemm.h"

struct nvmmh_time {
	double ns;
	uint32_t tile_m, tile_n, split_k;
};

/*
 * Loads it, once. `path`: the library; NULL: $AON_NVMMH, else where the linker or Python's packages
 * have it. 0; -ENOENT: it is not there, -ELIBBAD: it is, and is not what this was made for.
 */
int nvmmh_open(const char *path);

const char *nvmmh_version(void); /* "nvMatmulHeuristics 0.1.0"; "" before it is open */

/* 0; -ENOTSUP: it does not know the device or the type; -ERANGE: too large for it. */
int nvmmh_gemm(struct nvmmh_time *out, const struct gpu *g, const struct gemm *x);
