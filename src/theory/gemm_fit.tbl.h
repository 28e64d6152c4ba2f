/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_fit.tbl.h - constants of the GEMM model, printed by tools/fit-gemm. Fitted to the rows of
 * XLA's measured table (docs/models.md) whose hash is even and that are not above the dense
 * peak. struct gemm_fit says what they mean.
 *
 *	GEMM_FIT("name", cc (0: AMD), TYPE, result's TYPE or ANY, start_ns, tile_ns, peak, small,
 *		 load_B, store_B, split_ns, dram, cache)
 *	GEMM_TURN(cc, TYPE, ns, bytes a ns): the transpose that XLA runs before, which its figure
 *		 also holds; for tests/validate only
 */
/* clang-format off */
GEMM_FIT("sm_90 bf16",          90, BF16, ANY,   5075,   250, 0.940,    666,   68.3,   17.6,   3851, 0.950, 1.00)
GEMM_FIT("sm_90 tf32",          90, TF32, ANY,   5764,   250, 0.858,    700,   32.7,  512.0,   2526, 0.828, 0.10)
GEMM_FIT("sm_90 fp8",           90, FP8, ANY,   5042,   250, 1.000,     32,  117.4,   30.0,    974, 0.950, 0.99)
GEMM_TURN(90, FP8, 5792, 1099)
GEMM_FIT("sm_100 bf16",        100, BF16, ANY,   4886,   381, 0.833,   1319,  106.4,   26.6,   3928, 0.950, 1.00)
GEMM_FIT("sm_100 tf32",        100, TF32, ANY,   6636,   250, 0.832,    889,  123.8,   39.2,   4282, 0.950, 1.00)
GEMM_FIT("sm_100 fp8",         100, FP8, ANY,   5326,   250, 0.826,    507,  103.3,   31.8,   1638, 0.949, 1.00)
GEMM_FIT("gfx950 bf16",          0, BF16, ANY,   3042,   253, 0.714,  16384,   96.0,   10.6,     10, 0.700, 0.20)
GEMM_FIT("gfx950 fp16",          0, FP16, ANY,   2951,   250, 0.703,  16384,   77.5,   10.1,     10, 0.700, 0.10)
GEMM_FIT("gfx950 fp32",          0, FP32, ANY,   3338,  1819, 0.929,    193,  256.0,   22.9,     13, 0.700, 0.32)
GEMM_FIT("gfx950 fp8",           0, FP8, ANY,   2969,   269, 0.457,  12655,   15.0,   17.4,   2131, 0.700, 0.10)
GEMM_FIT("gfx950 fp8 to fp32",   0, FP8, FP32,   3838,  1952, 1.000,    700,   43.8,  265.5,    681, 0.950, 0.30)
/* clang-format on */
#undef GEMM_FIT
#undef GEMM_TURN
