/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm.h - how long a matrix product should take on a device, and what limits it. Pure.
 *
 * C[m,n] += A[m,k] B[k,n], `batch` times. The product is cut into tiles that run in waves over
 * the SMs; the best of a few tiles and splits of k is taken (docs/models.md has the formulae). The
 * constants come from measured tables (gemm_fit.tbl.h); what was not measured is estimated with
 * those of the nearest architecture and type, and gemm_time.fitted is false.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "theory/gpu.h"

struct gemm {
	uint64_t m, n, k, batch;
	enum gpu_type type; /* of A and B */
	enum gpu_type out;  /* of C */
	/*
	 * false: in a stream of other kernels, operands in memory: what a profiler sees in a job.
	 * true: launched on an idle device, operands just put into its cache as far as they fit:
	 * how tables of GEMM times are measured.
	 */
	bool alone;
};

struct gemm_time {
	double ns;
	const char *limiter; /* "compute" "memory" "latency" "launch" */
	uint32_t tile_m, tile_n, split_k;
	double waves;           /* tiles for each SM */
	double wave_efficiency; /* share of the SMs' turns that have a tile */
	double flops, bytes;    /* bytes: to and from memory */
	double start_ns, tiles_ns, memory_ns, split_ns; /* what ns is made of; see docs/models.md */
	const char *constants;                          /* "sm_90 bf16": those in use */
	bool fitted;                                    /* they were fitted on this one */
};

/* 0; -EINVAL size 0; -ERANGE overflow; -ENOTSUP: no such type on the device. */
int gemm_time(struct gemm_time *out, const struct gpu *g, const struct gemm *x);

double gemm_type_bytes(enum gpu_type type); /* of an element */
double gemm_bytes(const struct gemm *x);    /* operands read once, the result written once */

/* --- for fitting and checking the constants --- */

/* Of an architecture and a type: a row of gemm_fit.tbl.h. */
struct gemm_fit {
	const char *name;
	uint32_t cc;             /* 0: AMD */
	enum gpu_type type, out; /* out: GPU_TYPES for any that has no row of its own */
	double start_ns; /* of a kernel that is launched alone, until its tiles run and after */
	double tile_ns;  /* of a tile before and after its loop over k */
	double peak;     /* share of the dense peak that a large tile reaches */
	double small;    /* area of a tile that reaches half of that share */
	double load_B;   /* bytes a clock that an SM gets from L2 */
	double store_B;  /* bytes a clock that an SM's epilogue writes */
	double split_ns; /* of adding up the parts of a split k */
	double dram;     /* share of the memory's bandwidth */
	double cache;    /* share of l2_bytes that operands stay in */
};

const struct gemm_fit *gemm_fit_of(const struct gpu *g, const struct gemm *x, bool *fitted);
int gemm_time_by(struct gemm_time *out, const struct gpu *g, const struct gemm *x,
		 const struct gemm_fit *fit);
