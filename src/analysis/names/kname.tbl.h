/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kname.tbl.h - what a kernel's name says of its numbers, once. Words are of match.h: anywhere in
 * the name, any case, the first row that is met holds.
 *
 *	TYPE(GPU_*, "words")   the type of what goes in
 *	UNIT(0 or 1, "words")  whether it runs on tensor cores
 *
 * Libraries name kernels after the types of A, B, C and of the sum, in this order, so the narrow
 * types come first: bf16bf16_bf16f32_f32 is bf16. s16816, h884, i16832: an instruction of tensor
 * cores by the type of its sum and its tile. Of Tensile (Cijk_) the letters of the types stand
 * before _BH or _B, MI is the tile of a matrix instruction.
 */
/* clang-format off */
#ifdef TYPE
TYPE(FP4,  "nvfp4|mxfp4|e2m1|_f4_|fp4_")
TYPE(FP8,  "e4m3|e5m2|fp8|_f8_|f8f8|float8_|_f8s_|_f8b8s_")
TYPE(BF16, "bf16|bfloat16|_bbs_|_b_bs_")
TYPE(INT8, "s8s8|int8|i8816|i16832|i8i32|_i8_|_i8ii_")
TYPE(FP16, "f16|fp16|half|hgemm|h884|h1688|h16816|h161616|_hhs_|_h_hs_|_hhh_")
TYPE(TF32, "tf32|xf32|s1688|s161616")
TYPE(FP64, "dgemm|d884|f64|double")
TYPE(FP32, "sgemm|f32|fp32|float|scudnn|_sb_|_s_b_")
#undef TYPE
#endif

#ifdef UNIT
UNIT(0, "simt|ffma|sgemm|scudnn|gemv|gemmk1|splitkreduce|splitkreduction|elementwise|reduce_kernel|vectorized_|layer_norm|rms_norm")
UNIT(1, "tensorop|s884|s1688|s16816|s161616|h884|h1688|h16816|h161616|i8816|i16832|d884|wmma|hmma|wgmma|tcgen|sm90_|sm100_|nvjet|cutlass3x")
UNIT(1, "flash_fwd|flash_bwd|flashfwd|flashbwd|fmha|_mi16x16|_mi32x32|_mi4x4|xdlops|mfma|xmma_gemm_bf16|xmma_gemm_f16|xmma_gemm_tf32|xmma_fprop|xmma_dgrad|xmma_wgrad")
#undef UNIT
#endif
/* clang-format on */
