/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_fit.tbl.h - constants of the GEMM model, written by `make fit-models`. Fitted to the rows of
 * XLA's measured table (docs/models.md) whose hash is even and that are not above the dense peak.
 *
 *	GEMM_FIT("name", cc (0: AMD), TYPE, start_ns, tile_ns, peak, small, load_B, store_B, split_ns,
 *		 dram, cache)
 */
/* clang-format off */
GEMM_FIT("sm_90 bf16",   90, BF16,   4935,   250, 0.940,    799,   65.9,   15.7,   3866, 0.950, 1.00)
GEMM_FIT("sm_90 tf32",   90, TF32,   5436,   250, 0.749,   2028,   28.2,  512.0,   1513, 0.895, 0.10)
GEMM_FIT("sm_90 fp8",    90, FP8,   4990,   254, 1.000,     46,  117.0,   27.1,   1004, 0.950, 0.99)
GEMM_TURN(90, FP8, 5817, 1102)
GEMM_FIT("sm_100 bf16", 100, BF16,   4886,   381, 0.833,   1319,  106.4,   26.6,   3928, 0.950, 1.00)
GEMM_FIT("sm_100 tf32", 100, TF32,   6636,   250, 0.832,    889,  123.8,   39.2,   4282, 0.950, 1.00)
GEMM_FIT("sm_100 fp8",  100, FP8,   5326,   250, 0.826,    507,  103.3,   31.8,   1638, 0.949, 1.00)
GEMM_FIT("gfx950 bf16",   0, BF16,   3042,   253, 0.714,  16384,   96.0,   10.6,     10, 0.700, 0.20)
GEMM_FIT("gfx950 fp16",   0, FP16,   2951,   250, 0.703,  16384,   77.5,   10.1,     10, 0.700, 0.10)
GEMM_FIT("gfx950 fp32",   0, FP32,   3338,  1819, 0.929,    193,  256.0,   22.9,     13, 0.700, 0.32)
GEMM_FIT("gfx950 fp8",    0, FP8,   3347,   400, 0.407,   9737,   15.4,   25.4,   1718, 0.831, 8.00)
/* clang-format on */
#undef GEMM_FIT
#undef GEMM_TURN
