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
GEMM_FIT("sm_90 bf16",          90, BF16, ANY,   4945,   250, 0.956,   1155,   64.1,   17.0,   3836, 0.950, 1.00)
GEMM_FIT("sm_90 tf32",          90, TF32, ANY,   5764,   250, 0.850,    700,   32.7,  511.9,   2526, 0.828, 0.10)
GEMM_FIT("sm_90 fp8",           90, FP8, ANY,   5046,   250, 1.000,     28,  117.6,   30.1,    972, 0.950, 0.99)
GEMM_TURN(90, FP8, 5802, 1099)
GEMM_FIT("sm_100 bf16",        100, BF16, ANY,   4599,   667, 0.835,   1355,  106.4,   26.5,   3928, 0.948, 1.00)
GEMM_FIT("sm_100 tf32",        100, TF32, ANY,   6719,   250, 0.829,    777,  130.3,   39.4,   6101, 0.950, 1.00)
GEMM_FIT("sm_100 fp8",         100, FP8, ANY,   5331,   250, 0.825,    490,  103.5,   31.9,   1635, 0.950, 1.00)
GEMM_FIT("gfx950 bf16",          0, BF16, ANY,   2172,   546, 0.700,    500,   20.7,    7.5,     10, 0.800, 3.53)
GEMM_FIT("gfx950 fp16",          0, FP16, ANY,   2342,   250, 0.594,    500,   19.8,    7.4,     10, 0.950, 8.00)
GEMM_FIT("gfx950 fp32",          0, FP32, ANY,   4839,   260, 0.930,    223,  256.0,   22.6,     13, 0.701, 0.33)
GEMM_FIT("gfx950 fp8",           0, FP8, ANY,   2754,   384, 0.504,  14705,   14.9,   14.9,   2177, 0.700, 0.10)
GEMM_FIT("gfx950 fp8 to fp32",   0, FP8, FP32,   4522,   574, 1.000,    189,   41.2,   18.5,     11, 0.944, 7.71)
/* clang-format on */
#undef GEMM_FIT
#undef GEMM_TURN
