/* SPDX-License-Identifier: Apache-2.0 */
#include "theory/gemm.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "t.h"

/* Ten SMs of 8192 FLOP a nanosecond at 1 GHz, memory and caches that cost nothing. */
static const struct gpu toy = {
	.key = "TOY",
	.name = "toy",
	.cc = 90,
	.sms = 10,
	.clock_mhz = 1000,
	.tensor_flops[GPU_BF16] = 10 * 8192e9,
	.memory_Bps = 1e18,
	.l2_bytes = 1 << 20,
	.launch_ns = 500,
};

/* start, tile, peak, small, load_B, store_B, split, dram, cache */
static const struct gemm_fit plain = { "plain", 90,  GPU_BF16, GPU_TYPES, 1000, 100, 1,
				       0,       1e9, 1e9,      1e9,       1,    1 };

static bool about(double a, double b)
{
	return fabs(a - b) <= 1e-6 * fabs(b) + 1e-3;
}

static struct gemm bf16(uint64_t m, uint64_t n, uint64_t k)
{
	return (struct gemm){ m, n, k, 1, GPU_BF16, GPU_BF16, true };
}

static double ns_of(const struct gpu *g, struct gemm x, const struct gemm_fit *f)
{
	struct gemm_time t;

	return gemm_time_by(&t, g, &x, f) ? NAN : t.ns;
}

static void test_tiles(void)
{
	struct gemm x = bf16(128, 128, 64);
	struct gemm_time t;

	/* Four tiles of 64x64 at once: 2*64*64*64 / 8192 = 64 ns of products, 100 at its ends. */
	T_OK(!gemm_time_by(&t, &toy, &x, &plain) && about(t.ns, 1164) && t.tile_m == 64 &&
		     t.tile_n == 64 && t.split_k == 1,
	     "tiles that fit at once take one turn");
	T_OK(about(t.waves, 0.4) && about(t.wave_efficiency, 0.4), "four of ten SMs have a tile");
	T_OK(about(t.flops, 2.0 * 128 * 128 * 64), "two operations a multiply-add");
	/* Eleven tiles of 64x64 take two turns, 328 ns; six of 128x64 take one of 128 + 100. */
	x = bf16(64 * 11, 64, 64);
	T_OK(!gemm_time_by(&t, &toy, &x, &plain) && about(t.ns, 1228) && t.tile_m == 128 &&
		     about(t.wave_efficiency, 0.6),
	     "a larger tile saves the second wave");
	x.batch =
		10; /* 60 tiles of 128x64 in 6 turns of 228: 1368; 30 of 256x64 in 3 of 356: 1068 */
	T_OK(!gemm_time_by(&t, &toy, &x, &plain) && about(t.ns, 2068) && t.tile_m == 256,
	     "batches are more tiles");
	T_OK(ns_of(&toy, bf16(128, 128, 65), &plain) > 1164,
	     "a k-step that is not full takes its time");
}

static void test_limits(void)
{
	struct gemm_fit f = plain;
	struct gpu g = toy;
	struct gemm x = bf16(640, 640, 64);
	struct gemm_time t;

	g.memory_Bps = 1e9; /* a byte a nanosecond; all but L2's share, and at most all of it */
	x.alone = false;
	T_OK(!gemm_time_by(&t, &g, &x, &plain) && !strcmp(t.limiter, "memory") &&
		     about(t.bytes, 2.0 * (640 * 64 * 2 + 640 * 640)),
	     "operands and result cross the memory once");
	x.alone = true;
	T_OK(!gemm_time_by(&t, &g, &x, &plain) && t.bytes == 0 &&
		     about(t.ns, ns_of(&toy, x, &plain)),
	     "alone, what fits the cache is in it");
	f.load_B = 1;
	T_OK(!gemm_time_by(&t, &toy, &x, &f) && !strcmp(t.limiter, "memory"), "L2 can limit");
	f = plain;
	f.tile_ns = 1e6;
	T_OK(!gemm_time_by(&t, &toy, &x, &f) && !strcmp(t.limiter, "latency"),
	     "the ends of tiles can limit");
	f = plain;
	x = bf16(64, 64, 64);
	T_OK(!gemm_time_by(&t, &toy, &x, &f) && !strcmp(t.limiter, "launch"), "so can the start");
	x = bf16(2560, 2560, 4096);
	T_OK(!gemm_time_by(&t, &toy, &x, &f) && !strcmp(t.limiter, "compute") &&
		     t.ns >= t.flops / toy.tensor_flops[GPU_BF16] * 1e9,
	     "a large product is limited by its operations, and never beats the peak");
	f.split_ns = 0;
	x = bf16(64, 64, 1 << 20);
	T_OK(!gemm_time_by(&t, &toy, &x, &f) && t.split_k == 8, "a long k is split over idle SMs");
}

static void test_reread(void)
{
	struct gpu g = toy;
	struct gemm x = bf16(16384, 16384, 16384);
	struct gemm_time t;

	x.alone = false;
	T_OK(!gemm_time_by(&t, &g, &x, &plain) && t.bytes > 3.0 * 2 * 16384 * 16384,
	     "operands beyond L2 are read again by later waves");
	g.l2_bytes = 8ull << 30;
	T_OK(!gemm_time_by(&t, &g, &x, &plain) && about(t.bytes, 3.0 * 2 * 16384 * 16384),
	     "within L2 they are not");
}

/* A row of tiles reads each column of B once, however many waves it takes and whatever the last holds. */
static void test_narrow(void)
{
	const struct gpu *g = gpu_find("MI300X");
	struct gemm x = bf16(32, 201088, 2880);
	struct gemm_time t;
	double once = (201088.0 * 2880 + 32 * 2880.0 + 32 * 201088.0) * 2;
	double share = 1;
	bool fitted;

	x.alone = false;
	share = gemm_fit_of(g, &x, &fitted)->dram;
	T_OK(!gemm_time(&t, g, &x) && t.memory_ns < 1.01 * once / (g->memory_Bps * share) * 1e9,
	     "2.6 waves over one row of tiles read the weights once, not 3 / 2.6 times");
	x = bf16(16384, 16384, 16384);
	T_OK(!gemm_time(&t, g, &x) && t.flops / t.ns / 1e3 < 709 && t.flops / t.ns / 1e3 > 600,
	     "MI300X multiplies no faster than its power lets it: %.0f TFLOPS",
	     t.flops / t.ns / 1e3);
}

static void test_start(void)
{
	struct gemm x = bf16(128, 128, 64);

	x.alone = false;
	T_OK(about(ns_of(&toy, x, &plain), 664), "in a busy stream a kernel starts in launch_ns");
}

static void test_errors(void)
{
	static const struct {
		struct gemm x;
		int want;
		const char *what;
	} bad[] = {
		{ { 0, 1, 1, 1, GPU_BF16, GPU_BF16, 0 }, -EINVAL, "no rows" },
		{ { 1, 0, 1, 1, GPU_BF16, GPU_BF16, 0 }, -EINVAL, "no columns" },
		{ { 1, 1, 0, 1, GPU_BF16, GPU_BF16, 0 }, -EINVAL, "nothing to add up" },
		{ { 1, 1, 1, 0, GPU_BF16, GPU_BF16, 0 }, -EINVAL, "no batch" },
		{ { 1ull << 40, 1ull << 40, 1, 1, GPU_BF16, GPU_BF16, 0 },
		  -ERANGE,
		  "bytes overflow" },
		{ { 1ull << 22, 1ull << 22, 1ull << 22, 1, GPU_BF16, GPU_BF16, 0 },
		  -ERANGE,
		  "operations overflow" },
		{ { 1, 1, 1, UINT64_MAX, GPU_BF16, GPU_BF16, 0 }, -ERANGE, "too many batches" },
		{ { 1, 1, 1, 1, GPU_FP8, GPU_BF16, 0 }, -ENOTSUP, "no such type on the device" },
		{ { 1, 1, 1, 1, GPU_TYPES, GPU_BF16, 0 }, -ENOTSUP, "no such type at all" },
	};
	struct gemm_time t = { .ns = -1 };

	for (size_t i = 0; i < T_LEN(bad); i++)
		T_OK(gemm_time(&t, &toy, &bad[i].x) == bad[i].want && t.ns == -1, "refused: %s",
		     bad[i].what);
}

static void test_constants(void)
{
	static const struct {
		const char *device;
		enum gpu_type type;
		const char *constants;
		bool fitted;
	} row[] = {
		{ "H100_SXM", GPU_BF16, "sm_90 bf16", true },
		{ "H100_SXM", GPU_FP16, "sm_90 bf16", false },
		{ "A100_SXM_80", GPU_BF16, "sm_90 bf16", false },
		{ "B200", GPU_FP8, "sm_100 fp8", true },
		{ "RTX_5090", GPU_BF16, "sm_100 bf16", false },
		{ "MI350X", GPU_FP16, "gfx950 fp16", true },
		{ "MI350X", GPU_FP8, "gfx950 fp8", true },
		{ "MI300X", GPU_BF16, "gfx950 bf16", false },
		{ "B200", GPU_FP4, "sm_100 fp8", false },
	};

	for (size_t i = 0; i < T_LEN(row); i++) {
		struct gemm x = { 4096, 4096, 4096, 1, row[i].type, GPU_BF16, true };
		const struct gpu *g = gpu_find(row[i].device);
		struct gemm_time t;

		T_OK(g && !gemm_time(&t, g, &x) && !strcmp(t.constants, row[i].constants) &&
			     t.fitted == row[i].fitted,
		     "%s %s uses the constants of %s", row[i].device, gpu_type_word[row[i].type],
		     row[i].constants);
	}
}

/* Every device, every type it has: finite, positive, above the roof. */
static void test_all(void)
{
	const struct gpu *g;
	unsigned bad = 0, n = 0;

	for (size_t i = 0; (g = gpu_at(i)); i++)
		for (int type = 0; type < GPU_TYPES; type++)
			for (uint64_t m = 1; m <= 65536; m *= 16) {
				struct gemm x = { m, 4096, 4096, 1, type, GPU_BF16, false };
				struct gemm_time t;

				if (gemm_time(&t, g, &x) < 0)
					continue;
				n++;
				bad += !(isfinite(t.ns) &&
					 t.ns >= t.flops / gpu_peak(g, type) * 1e9);
			}
	T_OK(n > 100 && !bad, "no device beats its own peak (%u shapes)", n);
}

/* Twice the work in any direction takes no less. */
static void test_grows(void)
{
	static const char *const device[] = { "H100_SXM", "B200", "MI350X", "A100_SXM_80", "L4" };
	uint64_t seed = 1;
	unsigned bad = 0;

	for (unsigned i = 0; i < 20000; i++) {
		const struct gpu *g = gpu_find(device[i % T_LEN(device)]);
		struct gemm x = { .batch = 1, .type = GPU_BF16, .out = GPU_BF16, .alone = i & 64 };
		uint64_t *const size[] = { &x.m, &x.n, &x.k, &x.batch };
		struct gemm_time a, b;

		for (int k = 0; k < 3; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			*size[k] = 1 + (seed >> 33) % 9000;
		}
		if (gemm_time(&a, g, &x) < 0)
			continue;
		*size[i % 4] *= 2;
		bad += gemm_time(&b, g, &x) < 0 || b.ns < 0.999 * a.ns;
	}
	T_OK(!bad, "twice the work takes no less, in any direction (%u)", bad);
}

int main(void)
{
	test_tiles();
	test_limits();
	test_reread();
	test_narrow();
	test_start();
	test_errors();
	test_constants();
	test_all();
	test_grows();
	return t_done();
}
