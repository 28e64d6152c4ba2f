/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases by hand and, where CUDA's headers are, NVIDIA's own calculator over the whole range.
 */
#include "theory/occupancy.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "t.h"

/* The working is in the comment: warps a block; blocks by warps, registers, shared memory. */
static const struct {
	const char *device;
	uint32_t threads, regs, shared, blocks;
	const char *limiter;
	double fraction;
} by_hand[] = {
	/* clang-format off */
	/* 8 warps; 8, 65536 / 4 / 1024 * 4 / 8 = 8 */
	{ "V100_SXM",  256,  32,      0,  8, "warps",         1 },
	/* 2; 32 by blocks, 32 by warps: the first of equals is said */
	{ "V100_SXM",   64,  32,      0, 32, "warps",         1 },
	/* 1; 64 by warps, 32 blocks */
	{ "V100_SXM",   32,  32,      0, 32, "blocks",        0.5 },
	/* 8; 8, 16384 / (128 * 32) = 4 warps a part, 16 / 8 = 2 */
	{ "V100_SXM",  256, 128,      0,  2, "registers",     0.25 },
	/* 33 registers are 1056 a warp, so 1280: 12 warps a part, 48 / 8 = 6 */
	{ "V100_SXM",  256,  33,      0,  6, "registers",     0.75 },
	/* Volta keeps nothing: 98304 / 49152 = 2 */
	{ "V100_SXM",  128,  32,  49152,  2, "shared memory", 0.125 },
	/* in units of 256: 98304 / 24832 = 3 */
	{ "V100_SXM",  128,  32,  24577,  3, "shared memory", 0.1875 },
	/* Turing: 32 warps */
	{ "T4",        256,  32,      0,  4, "warps",         1 },
	{ "T4",         32,  32,      0, 16, "blocks",        0.5 },
	/* 1 KiB kept: 167936 / (49152 + 1024) = 3 */
	{ "A100",      128,  32,  49152,  3, "shared memory", 0.1875 },
	/* 167936 / (40960 + 1024) = 4 to the byte */
	{ "A100",      128,  32,  40960,  4, "shared memory", 0.25 },
	{ "A100",      128,  32,  40961,  3, "shared memory", 0.1875 },
	{ "A100",      128,  32, 166912,  1, "shared memory", 0.0625 },
	/* 48 warps, 16 blocks */
	{ "A10",       256,  32,      0,  6, "warps",         1 },
	{ "A10",        64,  32,      0, 16, "blocks",        32.0 / 48 },
	/* 32 warps of 48: 1 */
	{ "A10",      1024,  32,      0,  1, "warps",         32.0 / 48 },
	/* 24 blocks */
	{ "L40S",       64,  32,      0, 24, "warps",         1 },
	{ "L4",         32,  32,      0, 24, "blocks",        0.5 },
	/* a CUTLASS GEMM: 12 warps, 168 registers are 5376 a warp: 3 a part, 12 / 12 = 1 */
	{ "H100",      384, 168, 232448,  1, "registers",     0.1875 },
	/* 233472 / (100000 + 1024 -> 101120) = 2 */
	{ "H100",      128,  32, 100000,  2, "shared memory", 0.125 },
	{ "B200",      128,  32, 232448,  1, "shared memory", 0.0625 },
	{ "GB300",     256,  64,      0,  4, "registers",     0.5 },
	{ "RTX_5090",  256,  40,      0,  6, "warps",         1 },
	/* 255 registers are 8160 -> 8192 a warp: 2 a part, 8 / 4 = 2 */
	{ "RTX_5090",  128, 255,      0,  2, "registers",     8.0 / 48 },
	/* clang-format on */
};

static const struct {
	const char *why, *device;
	struct launch l;
	int want;
} bad[] = {
	/* clang-format off */
	{ "a grid without blocks",           "H100",   { { 0, 1, 1 }, { 32, 1, 1 }, 32, 0 },          -EINVAL },
	{ "a block without threads",         "H100",   { { 1, 1, 1 }, { 32, 0, 1 }, 32, 0 },          -EINVAL },
	{ "a block of 1056 threads",         "H100",   { { 1, 1, 1 }, { 33, 32, 1 }, 32, 0 },         -E2BIG },
	{ "sizes that overflow",             "H100",   { { 1, 1, 1 }, { 65536, 65536, 2 }, 32, 0 },   -E2BIG },
	{ "257 registers",                   "H100",   { { 1, 1, 1 }, { 32, 1, 1 }, 257, 0 },         -E2BIG },
	{ "1024 threads of 65 registers",    "H100",   { { 1, 1, 1 }, { 1024, 1, 1 }, 65, 0 },        -E2BIG },
	{ "shared memory above the block's", "H100",   { { 1, 1, 1 }, { 32, 1, 1 }, 32, 232449 },     -E2BIG },
	{ "all the shared memory there is",  "H100",   { { 1, 1, 1 }, { 32, 1, 1 }, 32, UINT32_MAX }, -E2BIG },
	{ "a device of AMD",                 "MI300X", { { 1, 1, 1 }, { 64, 1, 1 }, 32, 0 },          -ENOTSUP },
	/* clang-format on */
};

/* On the 132 SMs of an H100, 8 blocks of 256 threads each: 1056 at once. */
static const struct {
	uint32_t grid[3];
	double waves, tail;
} wave[] = {
	{ { 1056, 1, 1 }, 1, 1 },
	{ { 1057, 1, 1 }, 1057.0 / 1056, 1.0 / 1056 },
	{ { 33, 8, 4 }, 1, 1 },
	{ { 528, 1, 1 }, 0.5, 0.5 },
	{ { 1, 1, 1 }, 1.0 / 1056, 1.0 / 1056 },
	{ { 1056, 3, 1 }, 3, 1 },
	{ { UINT32_MAX, 65535, 65535 }, (double)UINT32_MAX * 65535 * 65535 / 1056, -1 },
};

static void check_by_hand(void)
{
	for (size_t i = 0; i < T_LEN(by_hand); i++) {
		struct launch l = { { 1, 1, 1 },
				    { by_hand[i].threads, 1, 1 },
				    by_hand[i].regs,
				    by_hand[i].shared };
		struct occupancy o = { .limiter = "" };

		T_OK(!occupancy(&o, gpu_find(by_hand[i].device), &l) &&
			     o.blocks_per_sm == by_hand[i].blocks &&
			     !strcmp(o.limiter, by_hand[i].limiter) &&
			     fabs(o.fraction - by_hand[i].fraction) < 1e-12,
		     "%s, %u threads, %u registers, %u bytes: %u blocks by %s", by_hand[i].device,
		     by_hand[i].threads, by_hand[i].regs, by_hand[i].shared, by_hand[i].blocks,
		     by_hand[i].limiter);
	}
}

static void check_waves(void)
{
	for (size_t i = 0; i < T_LEN(wave); i++) {
		struct launch l = {
			{ wave[i].grid[0], wave[i].grid[1], wave[i].grid[2] }, { 16, 16, 1 }, 32, 0
		};
		struct occupancy o = { 0 };

		T_OK(!occupancy(&o, gpu_find("H100"), &l) &&
			     fabs(o.waves - wave[i].waves) <= 1e-9 * wave[i].waves &&
			     (wave[i].tail < 0 ? o.tail > 0 && o.tail <= 1
					       : fabs(o.tail - wave[i].tail) < 1e-9),
		     "a grid of %u x %u x %u is %g waves", wave[i].grid[0], wave[i].grid[1],
		     wave[i].grid[2], wave[i].waves);
	}
}

#ifdef HAVE_CUDA_HEADERS
#include <cuda_occupancy.h>

/* What a driver says of such a device, beyond the table under test. */
static struct cudaOccDeviceProp properties(const struct gpu *g)
{
	static const struct {
		uint32_t cc;
		int threads;
		size_t shared;
	} sm[] = {
		{ 70, 2048, 98304 },   { 75, 1024, 65536 },   { 80, 2048, 167936 },
		{ 86, 1536, 102400 },  { 89, 1536, 102400 },  { 90, 2048, 233472 },
		{ 100, 2048, 233472 }, { 103, 2048, 233472 }, { 120, 1536, 102400 },
	};
	struct cudaOccDeviceProp p = { .computeMajor = (int)g->cc / 10,
				       .computeMinor = (int)g->cc % 10,
				       .maxThreadsPerBlock = 1024,
				       .regsPerBlock = 65536,
				       .regsPerMultiprocessor = 65536,
				       .warpSize = 32,
				       .sharedMemPerBlock = 49152,
				       .numSms = (int)g->sms };

	for (size_t i = 0; i < T_LEN(sm); i++)
		if (sm[i].cc == g->cc) {
			p.maxThreadsPerMultiprocessor = sm[i].threads;
			p.sharedMemPerMultiprocessor = sm[i].shared;
		}
	p.reservedSharedMemPerBlock = g->cc >= 80 ? 1024 : 0;
	p.sharedMemPerBlockOptin = p.sharedMemPerMultiprocessor - p.reservedSharedMemPerBlock;
	return p;
}

static int theirs(const struct cudaOccDeviceProp *p, uint32_t threads, uint32_t regs,
		  uint32_t shared)
{
	struct cudaOccFuncAttributes a = { .maxThreadsPerBlock = 1024,
					   .numRegs = (int)regs,
					   .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
					   .maxDynamicSharedSizeBytes = p->sharedMemPerBlockOptin };
	struct cudaOccDeviceState s = { .carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED };
	struct cudaOccResult r = { 0 };

	if (cudaOccMaxActiveBlocksPerMultiprocessor(&r, p, &a, &s, (int)threads, shared))
		return -1;
	return r.activeBlocksPerMultiprocessor;
}

/* All thread counts and registers with some sizes of shared memory, and the other way round. */
static uint64_t differ(const struct gpu *g, uint64_t *cases)
{
	static const uint32_t shared[] = {
		0, 1, 1024, 16384, 16385, 48 << 10, 65536, 101376, 232448
	};
	struct cudaOccDeviceProp p = properties(g);
	uint64_t wrong = 0;

	*cases = 0;
	for (uint32_t threads = 1; threads <= 1024; threads += threads < 64 ? 1 : 13)
		for (uint32_t regs = 1; regs <= 256; regs += 1 + regs % 3)
			for (size_t s = 0; s < T_LEN(shared); s++, (*cases)++) {
				struct launch l = {
					{ 1, 1, 1 }, { threads, 1, 1 }, regs, shared[s]
				};
				struct occupancy o = { 0 };
				int err = occupancy(&o, g, &l);

				wrong += (int)o.blocks_per_sm !=
						 theirs(&p, threads, regs, shared[s]) ||
					 (err && err != -E2BIG);
			}
	for (uint32_t bytes = 0; bytes <= p.sharedMemPerMultiprocessor; bytes += 61, (*cases)++) {
		struct launch l = { { 1, 1, 1 }, { 32, 1, 1 }, 16, bytes };
		struct occupancy o = { 0 };

		occupancy(&o, g, &l);
		wrong += (int)o.blocks_per_sm != theirs(&p, 32, 16, bytes);
	}
	return wrong;
}

static void check_theirs(void)
{
	static const char *const device[] = { "V100", "T4",   "A100",  "A10",     "L40S",
					      "H100", "B200", "GB300", "RTX_5090" };

	for (size_t i = 0; i < T_LEN(device); i++) {
		uint64_t cases, wrong = differ(gpu_find(device[i]), &cases);

		T_OK(!wrong && cases > 100000, "%s is as NVIDIA's calculator says in %llu cases",
		     device[i], (unsigned long long)cases);
		if (wrong)
			printf("# %llu differ\n", (unsigned long long)wrong);
	}
}
#else
static void check_theirs(void)
{
	T_OK(1, "NVIDIA's calculator # SKIP CUDA's headers are not here");
}
#endif

int main(void)
{
	struct gpu odd = *gpu_find("H100");

	check_by_hand();
	for (size_t i = 0; i < T_LEN(bad); i++) {
		struct occupancy o = { .blocks_per_sm = 77 };

		T_OK(occupancy(&o, gpu_find(bad[i].device), &bad[i].l) == bad[i].want &&
			     o.blocks_per_sm == 77,
		     "%s is refused", bad[i].why);
	}
	odd.cc = 35;
	T_OK(occupancy(&(struct occupancy){ 0 }, &odd,
		       &(struct launch){ { 1, 1, 1 }, { 32, 1, 1 }, 32, 0 }) == -ENOTSUP,
	     "a capability that is not in the table is refused");
	check_waves();
	check_theirs();
	return t_done();
}
