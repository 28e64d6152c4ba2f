/* SPDX-License-Identifier: Apache-2.0 */
/* What limits a kernel: cases computed by hand, and one that Nsight Compute judged. */
#include "theory/roofline.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "names/kname.h"
#include "t.h"

/* 100 TFLOP/s bf16 and 10 fp32, 1 TB/s, a cache of 10 MB at 5 TB/s, 2 us a launch. */
static struct gpu gpu = {
	.tensor_flops = { [GPU_BF16] = 100e12 },
	.vector_flops = { [GPU_FP32] = 10e12 },
	.memory_Bps = 1e12,
	.l2_Bps = 5e12,
	.l2_bytes = 10000000,
	.launch_ns = 2000,
};

#define BF16(flops, bytes)                                          \
	{                                                           \
		WORK_SHAPES, GPU_BF16, true, flops, bytes, 0, false \
	}
#define FP32(flops, bytes)                                         \
	{                                                          \
		WORK_NAME, GPU_FP32, false, flops, bytes, 0, false \
	}

static const struct {
	const char *name;
	struct roof_work work;
	double ns;
	enum roof_limit limit;
	double fraction;
} cases[] = {
	/* clang-format off */
	{ "80 us of math in 100 us",               BF16(8e9, 20e6),    100e3, ROOF_COMPUTE, 0.80 },
	{ "90 us of traffic in 100 us",            BF16(4e9, 90e6),    100e3, ROOF_MEMORY,  0.90 },
	{ "neither reaches 60 %",                  BF16(5e9, 50e6),    100e3, ROOF_LATENCY, 0.50 },
	{ "60 % is near",                          BF16(6e9, 50e6),    100e3, ROOF_COMPUTE, 0.60 },
	{ "no math at all",                        FP32(0, 90e6),      100e3, ROOF_MEMORY,  0.90 },
	{ "without tensor cores the peak is less", FP32(0.9e9, 20e6),  100e3, ROOF_COMPUTE, 0.90 },
	{ "as long as an empty kernel",            BF16(1e6, 1e5),       3e3, ROOF_LAUNCH,  0.1 / 3 },
	{ "short, but near its roof",              BF16(1e6, 2e6),       3e3, ROOF_MEMORY,  2.0 / 3 },
	{ "a launch does not explain 28 us",       BF16(1e6, 15e6),     28e3, ROOF_LATENCY, 15.0 / 28 },
	{ "faster than memory: from the cache",    FP32(1e6, 8e6),       2e3, ROOF_CACHE,   0.80 },
	{ "faster than memory, too large a set", { WORK_SHAPES, GPU_FP32, false, 1e6, 80e6, 0, false }, 50e3, ROOF_MEMORY, 1.60 },
	{ "the same by a name: it told wrong",     FP32(1e6, 80e6),     50e3, ROOF_UNKNOWN, 0 },
	{ "bytes unknown, little math",            FP32(1e6, 0),       100e3, ROOF_UNKNOWN, 0.001 },
	{ "bytes unknown, much math",              FP32(0.9e9, 0),     100e3, ROOF_COMPUTE, 0.90 },
	{ "no work known",                         { .how = WORK_NONE }, 9e3, ROOF_UNKNOWN, 0 },
	{ "traffic through the cache limits", { WORK_SHAPES, GPU_BF16, true, 5e9, 50e6, 450e6, false }, 100e3, ROOF_CACHE, 0.90 },
	/* clang-format on */
};

static void verdicts(void)
{
	struct roof r;

	for (size_t i = 0; i < T_LEN(cases); i++) {
		int err = roof_of(&r, &gpu, &cases[i].work, cases[i].ns);

		T_OK(!err && r.limit == cases[i].limit &&
			     fabs(r.fraction - cases[i].fraction) < 1e-9,
		     "%s: %s at %g", cases[i].name, roof_limit_word[cases[i].limit],
		     cases[i].fraction);
	}
	gpu.l2_Bps = 0;
	T_OK(!roof_of(&r, &gpu, &(struct roof_work)FP32(1e6, 8e6), 2e3) && r.limit == ROOF_CACHE &&
		     r.fraction == 0,
	     "a cache whose rate nobody says has no share");
	gpu.l2_Bps = 5e12;
	T_OK(!roof_of(&r, NULL, &cases[0].work, 1e3) && r.limit == ROOF_UNKNOWN && r.fraction == 0,
	     "of an unknown device nothing is said");
}

static void refused(void)
{
	static const struct {
		const char *name;
		struct roof_work work;
		double ns;
	} bad[] = {
		{ "no time", BF16(1, 1), 0 },
		{ "time below 0", BF16(1, 1), -1 },
		{ "time that is no number", BF16(1, 1), NAN },
		{ "work below 0", BF16(-1, 1), 1 },
		{ "work beyond numbers", BF16(INFINITY, 1), 1 },
	};
	struct roof r = { .fraction = 7 };

	for (size_t i = 0; i < T_LEN(bad); i++)
		T_OK(roof_of(&r, &gpu, &bad[i].work, bad[i].ns) == -EINVAL && r.fraction == 7,
		     "%s is refused", bad[i].name);
}

static void peaks(void)
{
	const struct gpu *h = gpu_find("H100_SXM");

	T_OK(roof_peak(&gpu, GPU_BF16, true) == 100e12, "tensor cores have their peak");
	T_OK(roof_peak(&gpu, GPU_BF16, false) == 10e12, "a type without units is computed in fp32");
	T_OK(roof_peak(NULL, GPU_BF16, true) == 0 && roof_peak(&gpu, GPU_TYPES, true) == 0,
	     "no device or no type, no peak");
	T_OK(h && roof_peak(h, GPU_BF16, true) > 900e12, "an H100 has 989 TFLOP/s of bf16");
}

/* --- names --- */

static const struct {
	const char *name;
	enum gpu_type type;
	int tensor;
	uint32_t m, n, k;
} names[] = {
	/* clang-format off */
	{ "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas", GPU_BF16, 1, 128, 256, 64 },
	{ "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8>(Params)", GPU_BF16, 1, 128, 64, 64 },
	{ "ampere_fp16_s16816gemm_fp16_256x128_ldg8_f2f_stages_64x3_nn", GPU_FP16, 1, 256, 128, 0 },
	{ "ampere_sgemm_128x64_tn", GPU_FP32, 0, 128, 64, 0 },
	{ "cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4", GPU_TF32, 1, 128, 128, 32 },
	{ "cutlass3x_sm100_tensorop_s64x256x32gemm_f8_f8_f32_f16_f16_64x256x128_1x1x1_0_tnn_align4_1sm", GPU_FP8, 1, 64, 256, 128 },
	{ "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN", GPU_FP32, 1, 192, 192, 64 },
	{ "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x128x64_MI16x16x1_SN", GPU_BF16, 1, 256, 128, 64 },
	{ "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1_SE_1LDSB0", GPU_FP16, 1, 128, 128, 32 },
	{ "volta_h884gemm_256x64_ldg8_nn", GPU_FP16, 1, 256, 64, 0 },
	{ "dgemm_kernel", GPU_FP64, -1, 0, 0, 0 },
	{ "", GPU_FP32, -1, 0, 0, 0 },
	{ "99999999999999999999x99999999999999999999x", GPU_FP32, -1, 0, 0, 0 },
	/* clang-format on */
};

static const struct {
	const char *name;
	struct geo geo;
	double flops, bytes; /* flops < 0: it does not tell */
} told[] = {
	/* clang-format off */
	{ "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int, ...)",
	  { .grid = { 49192, 1, 1 }, .block = { 128, 1, 1 } }, 25186304, 3 * 2 * 25186304.0 },
	{ "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> > >(...)>",
	  { .grid = { 35776, 1, 1 }, .block = { 128, 1, 1 } }, 9158656, 3 * 4 * 9158656.0 },
	{ "E_64_32_4", { .grid = { 1, 1, 1 } }, 8192, 2 * 4 * 8192 },
	{ "r_32_4_3n7", { .grid = { 1, 1, 1 } }, 2 * 384, 0 },
	{ "r_32_0", { .grid = { 1, 1, 1 } }, -1, 0 },
	{ "r_reduce", { .grid = { 1, 1, 1 } }, -1, 0 },
	{ "r_4294967295_4294967295_4294967295", { .grid = { 1, 1, 1 } }, -1, 0 },
	{ "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64", { .grid = { 8, 1, 1 }, .block = { 128, 1, 1 } }, -1, 0 },
	/* clang-format on */
};

static void named(void)
{
	struct knames *k = NULL;
	struct roof_work w;
	struct kname n;

	T_OK(!knames_new(&k), "the tables of names can be used");
	for (size_t i = 0; i < T_LEN(names); i++) {
		kname_of(&n, k, names[i].name);
		T_OK(n.type == names[i].type && n.tensor == names[i].tensor &&
			     n.tile_m == names[i].m && n.tile_n == names[i].n &&
			     n.tile_k == names[i].k,
		     "%.60s: %s, %ux%ux%u", names[i].name, gpu_type_word[n.type], n.tile_m,
		     n.tile_n, n.tile_k);
	}
	for (size_t i = 0; i < T_LEN(told); i++) {
		bool is;

		kname_of(&n, k, told[i].name);
		is = kname_work(&w, &n, &told[i].geo);
		T_OK(is == (told[i].flops >= 0) &&
			     (!is || (w.flops == told[i].flops && w.bytes == told[i].bytes)),
		     "%.40s: %s", told[i].name, is ? "tells its work" : "does not");
	}
	knames_free(k);
}

/* --- as Nsight Compute judged --- */

static double metric(const char *line, const char *name)
{
	const char *s = strstr(line, name);
	double v = -1;

	if (s)
		sscanf(s + strlen(name), "\",\"%%\",\"%lf\"", &v);
	return v;
}

static void counters(const char *log)
{
	double compute = -1, memory = -1;
	bool latency = false;
	char line[4096];
	FILE *f = log ? fopen(log, "r") : NULL;

	if (!f) {
		printf("ok %d - a verdict of Nsight Compute # SKIP no log of it here\n", ++t_count);
		return;
	}
	while (fgets(line, sizeof(line), f)) {
		compute = compute < 0 ? metric(line, "Compute (SM) Throughput") : compute;
		memory = memory < 0 ? metric(line, "\"Memory Throughput") : memory;
		latency |= strstr(line, "\"SOLBottleneck\"") && strstr(line, "latency issues");
	}
	fclose(f);
	T_OK(compute > 0 && memory > 0 && latency, "the log has counters and a verdict");
	T_OK(roof_limit(compute / 100, memory / 100, 0) == ROOF_LATENCY,
	     "%.1f %% and %.1f %% of the peaks are latency, as Nsight Compute says", compute,
	     memory);
}

/* roofline [cublaslt_ncu.log] */
int main(int argc, char **argv)
{
	verdicts();
	refused();
	peaks();
	named();
	counters(argc > 1 ? argv[1] : NULL);
	return t_done();
}
