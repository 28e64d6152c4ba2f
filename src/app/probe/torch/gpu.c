/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.c - blocks of torch's caching allocator of GPUs, as it reports them.
 *
 * libc10_cuda.so reports each block to a profiler, if there is one, by two functions of libc10.so. They are
 * intercepted as those of the CPU's allocator (cpu.c). Device is a struct of two bytes, passed in a register.
 *
 *	reportMemoryUsageToProfiler(block, bytes, allocated, reserved, device)   bytes below 0: freed
 *	reportOutOfMemoryToProfiler(bytes, allocated, reserved, device)          an exception follows
 */
#include <dlfcn.h>
#include <stddef.h>

#include "probe/torch/box.h"
#include "probe/got.h"
#include "probe/torch/torch.h"

#define USAGE     "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
#define USAGE_OLD "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE" /* before 2.0 */
#define OOM       "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"
#define OOM_OLD   "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE"

typedef void usage_fn(void *block, int64_t bytes, uint64_t allocated, uint64_t reserved,
		      uint16_t device);
typedef void oom_fn(int64_t bytes, uint64_t allocated, uint64_t reserved, uint16_t device);

static struct {
	usage_fn *usage;
	oom_fn *refused;
	_Atomic uint32_t first; /* GPU that was seen first, + 1: the one that counts */
} cuda;

/* A rank uses one GPU: blocks of others are not counted. */
static bool is_first(uint16_t device)
{
	uint32_t index = (device >> 8 & 0xff) + 1u, none = 0;

	if (!atomic_load_explicit(&cuda.first, memory_order_relaxed) &&
	    atomic_compare_exchange_strong_explicit(&cuda.first, &none, index, memory_order_relaxed,
						    memory_order_relaxed))
		__atomic_store_n(&block_table()->total[AON_MEMORY_GPU].index, index - 1,
				 __ATOMIC_RELAXED);
	return atomic_load_explicit(&cuda.first, memory_order_relaxed) == index;
}

static void on_usage(void *block, int64_t bytes, uint64_t allocated, uint64_t reserved,
		     uint16_t device)
{
	cuda.usage(block, bytes, allocated, reserved, device);
	if (bytes < 0)
		block_freed(block);
	else if (is_first(device))
		block_made(AON_MEMORY_GPU, block, (size_t)bytes, site_now);
}

static void on_oom(int64_t bytes, uint64_t allocated, uint64_t reserved, uint16_t device)
{
	struct aon_memory *m = block_table();

	if (bytes > 0 && is_first(device))
		box_fail(m, AON_MEMORY_GPU, (uint64_t)bytes, site_now(m, AON_MEMORY_GPU, NULL));
	cuda.refused(bytes, allocated, reserved, device);
}

AON_API int aon_torch_gpu_memory(void);
AON_API void aon_torch_gpu_limit(uint32_t index, uint64_t bytes);

/* After aon_torch_cpu_memory(). -ENOENT: a torch without GPUs. */
AON_API int aon_torch_gpu_memory(void)
{
	void *lib = library_open("libc10.so");
	bool old = lib && !dlsym(lib, USAGE);
	struct got_place want[] = { { old ? USAGE_OLD : USAGE, (void *)on_usage },
				    { old ? OOM_OLD : OOM, (void *)on_oom } };

	if (!block_on() || !lib)
		return -1;
	cuda.usage = (usage_fn *)dlsym(lib, want[0].name);
	cuda.refused = (oom_fn *)dlsym(lib, want[1].name);
	if (!cuda.usage)
		return -ENOSYS;
	return library_take("libc10_cuda.so", want, cuda.refused ? 2 : 1, 1);
}

/* What a GPU has in all. */
AON_API void aon_torch_gpu_limit(uint32_t index, uint64_t bytes)
{
	if (block_on() && atomic_load_explicit(&cuda.first, memory_order_relaxed) == index + 1)
		__atomic_store_n(&block_table()->total[AON_MEMORY_GPU].limit, bytes,
				 __ATOMIC_RELAXED);
}
