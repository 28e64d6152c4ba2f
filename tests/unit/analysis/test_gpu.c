/* SPDX-License-Identifier: Apache-2.0 */
#include "theory/gpu.h"

#include <math.h>
#include <string.h>

#include "t.h"

/* What commands take, and what CUDA, ROCm and Kineto report. */
static const struct {
	const char *text, *key;
} find[] = {
	/* clang-format off */
	{ "H100_SXM",                  "H100_SXM" },
	{ "h100-sxm",                  "H100_SXM" },
	{ "h100",                      "H100_SXM" },
	{ "NVIDIA H100 80GB HBM3",     "H100_SXM" },
	{ "NVIDIA H100 PCIe",          "H100_PCIE" },
	{ "NVIDIA H100 NVL",           "H100_NVL" },
	{ "NVIDIA A100-SXM4-40GB",     "A100_SXM_40" },
	{ "NVIDIA A100-PG509-200",     "A100_SXM_40" },
	{ "NVIDIA A100-SXM4-80GB",     "A100_SXM_80" },
	{ "NVIDIA A100 80GB PCIe",     "A100_PCIE_80" },
	{ "Tesla V100-SXM2-16GB",      "V100_SXM_16" },
	{ "Tesla V100-SXM2-32GB",      "V100_SXM" },
	{ "Tesla V100-DGXS-32GB",      "V100_SXM" },
	{ "NVIDIA B200",               "B200" },
	{ "NVIDIA H800",               "H800_SXM" },
	{ "AMD Instinct MI210",        "MI210" },
	{ "AMD Instinct MI250X/MI250", "MI250" },
	{ "AMD Instinct MI300X",       "MI300X" },
	{ "AMD Instinct MI300X VF",    "MI300X" },
	{ "mi350",                     "MI350X" },
	{ "rtx4090",                   "RTX_4090" },
	/* Which of them it is cannot be said from these. */
	{ "NVIDIA H100",               NULL },
	{ "AMD Radeon Graphics",       NULL },
	{ "ARTEMIS",                   NULL },
	{ "H100_SXM_",                 NULL },
	{ "H100_",                     NULL },
	{ "",                          NULL },
	/* clang-format on */
};

/* Dense peaks in TFLOPS that people know, so that a sparse one cannot slip in. */
static const struct {
	const char *key;
	enum gpu_type type;
	double tera;
} peak[] = {
	/* clang-format off */
	{ "V100_SXM",     GPU_FP16, 125 },    { "A100_SXM_80", GPU_BF16, 312 },    { "A100_SXM_80", GPU_FP64, 19.5 },
	{ "A10",          GPU_FP16, 125 },    { "L4",          GPU_FP8,  242.5 },  { "L40S",        GPU_BF16, 362 },
	{ "H100_SXM",     GPU_BF16, 989.4 },  { "H100_SXM",    GPU_FP8,  1978.9 }, { "H100_SXM",    GPU_FP32, 66.9 },
	{ "H100_PCIE",    GPU_BF16, 756 },    { "H100_NVL",    GPU_BF16, 835.5 },  { "H20",         GPU_FP8,  296 },
	{ "B200",         GPU_FP4,  9000 },   { "GB200",       GPU_FP8,  5000 },   { "GB300",       GPU_FP4,  15000 },
	{ "MI300X",       GPU_BF16, 1307.4 }, { "MI355X",      GPU_FP8,  5033.2 }, { "A100_SXM_80", GPU_FP8,  0 },
	/* clang-format on */
};

static void check_find(void)
{
	for (size_t i = 0; i < T_LEN(find); i++) {
		const struct gpu *g = gpu_find(find[i].text);

		T_OK(find[i].key ? g && !strcmp(g->key, find[i].key) : !g, "\"%s\" is %s",
		     find[i].text, find[i].key ? find[i].key : "not known");
	}
}

static void check_peaks(void)
{
	for (size_t i = 0; i < T_LEN(peak); i++) {
		const struct gpu *g = gpu_find(peak[i].key);

		T_OK(g && fabs(gpu_peak(g, peak[i].type) - peak[i].tera * 1e12) <= 1e6,
		     "%s reaches %g TFLOPS of %s", peak[i].key, peak[i].tera,
		     gpu_type_word[peak[i].type]);
	}
}

/* A number has a source, and the source a meaning; 0 has none. */
static bool sourced(double v, char letter)
{
	return v > 0 ? gpu_source_text(letter) != NULL : v == 0 && !letter;
}

static bool all_sourced(const struct gpu *g, const struct gpu_source *s)
{
	bool ok = sourced(g->sms, s->sms) && sourced(g->clock_mhz, s->clock) &&
		  sourced(g->memory_mhz, s->memory_clock) &&
		  sourced((double)g->memory_bytes, s->memory) &&
		  sourced(g->memory_Bps, s->memory_rate) && sourced((double)g->l2_bytes, s->l2) &&
		  sourced(g->l2_Bps, s->l2_rate) && sourced(g->link_Bps, s->link) &&
		  sourced(g->pcie_Bps, s->pcie) && sourced(g->launch_ns, s->launch);

	for (int t = 0; t < GPU_TYPES; t++)
		ok = ok && sourced(g->vector_flops[t], s->vector[t]) &&
		     sourced(g->tensor_flops[t], s->tensor[t]);
	return ok;
}

/* What holds of any device: a digit too many or a column too far breaks it. */
static bool plausible(const struct gpu *g)
{
	double fp32 = g->vector_flops[GPU_FP32], unit = fp32 / g->sms / g->clock_mhz / 1e6;

	return g->sms && g->memory_bytes > 8ull << 30 && g->memory_Bps > 2e11 &&
	       g->memory_Bps < 1e13 && g->l2_bytes >= 4 << 20 &&
	       (!(g->l2_Bps > 0) || g->l2_Bps > 2 * g->memory_Bps) && g->l2_bytes < 512 << 20 &&
	       g->launch_ns >= 1000 && g->launch_ns < 10000 && g->pcie_Bps > 1e10 && unit > 100 &&
	       unit < 300 && fp32 >= g->vector_flops[GPU_FP64] &&
	       g->tensor_flops[GPU_FP16] >= 1.9 * fp32 &&
	       (!g->tensor_flops[GPU_FP8] ||
		g->tensor_flops[GPU_FP8] >= 1.9 * g->tensor_flops[GPU_FP16]);
}

static void by_size(void)
{
	T_OK(gpu_by_size(304, 206141652992) == gpu_find("MI300X"),
	     "304 units and 192 GB are one device");
	T_OK(gpu_by_size(132, 84987740160) == gpu_find("H100_SXM"),
	     "of those that compute alike, but for fp64, it is the first");
	T_OK(!gpu_by_size(108, 80ull << 30), "A100s of 80 GB differ by how they are built in");
	T_OK(!gpu_by_size(132, 100ull << 33) && !gpu_by_size(0, 80ull << 30) &&
		     !gpu_by_size(132, 0),
	     "sizes that none has, and none");
}

int main(void)
{
	const struct gpu *g;
	size_t n = 0;

	check_find();
	check_peaks();
	for (; (g = gpu_at(n)); n++) {
		T_OK(gpu_find(g->key) == g && gpu_find(g->name) == g, "%s is found by itself",
		     g->key);
		T_OK(gpu_source(g) && all_sourced(g, gpu_source(g)),
		     "each number of %s has a source", g->key);
		T_OK(plausible(g), "%s is plausible", g->key);
	}
	T_OK(n >= 25 && !gpu_at(n + 1), "the table has an end");
	T_OK(!gpu_source_text('?') && !gpu_source_text(0), "no other letter is a source");
	by_size();
	return t_done();
}
