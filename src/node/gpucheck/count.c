/* SPDX-License-Identifier: Apache-2.0 */
/* count.c - the checks stride, count and names: is every launch a record, and the right one? */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpucheck/check.h"

#define THREADS 8u

static unsigned launches;
static void *stream;

/* --- ways to launch; false: this driver has none such --- */

static bool by_driver(void)
{
	for (unsigned i = 0; i < launches; i++)
		driver_launch(cu.empty, stream);
	return true;
}

static bool by_ex(void)
{
	struct launch_config c = { { 1, 1, 1 }, { 32, 1, 1 }, 0, stream, NULL, 0 };

	for (unsigned i = 0; cu.cuLaunchKernelEx && i < launches; i++)
		must(cu.cuLaunchKernelEx(&c, cu.empty, NULL, NULL), "cuLaunchKernelEx");
	return cu.cuLaunchKernelEx;
}

static bool by_cooperative(void)
{
	for (unsigned i = 0; cu.cuLaunchCooperativeKernel && i < launches; i++)
		must(cu.cuLaunchCooperativeKernel(cu.empty, 1, 1, 1, 32, 1, 1, 0, stream, NULL),
		     "cuLaunchCooperativeKernel");
	return cu.cuLaunchCooperativeKernel;
}

static bool by_own_stream(void)
{
	for (unsigned i = 0; cu.cuLaunchKernel_ptsz && i < launches; i++)
		must(cu.cuLaunchKernel_ptsz(cu.empty, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL),
		     "cuLaunchKernel_ptsz");
	return cu.cuLaunchKernel_ptsz;
}

static void *launch_share(void *ctx)
{
	void *own;

	must(cu.cuCtxSetCurrent(ctx), "cuCtxSetCurrent");
	own = driver_stream();
	for (unsigned i = 0; i < launches / THREADS; i++)
		driver_launch(cu.empty, own);
	must(cu.cuStreamSynchronize(own), "cuStreamSynchronize");
	return NULL;
}

static bool by_threads(void)
{
	pthread_t t[THREADS];
	void *ctx;

	must(cu.cuDevicePrimaryCtxRetain(&ctx, 0), "cuDevicePrimaryCtxRetain");
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, launch_share, ctx))
			unknown("no thread can be started");
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return true;
}

struct dim {
	unsigned x, y, z;
};

/* By the runtime, whose kernels need a compiler before CUDA 12.8. */
static bool by_runtime(void)
{
	int (*load)(void **, const void *, void *, void *, unsigned, void *, void *, unsigned);
	int (*get)(void **, void *, const char *);
	int (*launch)(const void *, struct dim, struct dim, void **, size_t, void *);
	void *lib = driver_runtime(), *library, *kernel;
	struct dim one = { 1, 1, 1 }, block = { 32, 1, 1 };

	if (!lib)
		return false;
	*(void **)&load = dlsym(lib, "cudaLibraryLoadData");
	*(void **)&get = dlsym(lib, "cudaLibraryGetKernel");
	*(void **)&launch = dlsym(lib, "cudaLaunchKernel");
	if (!load || !get || !launch || load(&library, driver_ptx, NULL, NULL, 0, NULL, NULL, 0) ||
	    get(&kernel, library, "empty"))
		return false;
	for (unsigned i = 0; i < launches; i++)
		must(launch(kernel, one, block, NULL, 0, stream), "cudaLaunchKernel");
	return true;
}

static const struct {
	const char *name;
	bool (*run)(void);
} ways[] = {
	{ "driver", by_driver },           { "ex", by_ex },
	{ "cooperative", by_cooperative }, { "own_stream", by_own_stream },
	{ "threads", by_threads },         { "runtime", by_runtime },
};

void check_count(void)
{
	unsigned tried = 0, wrong = 0, calls_wrong = 0;

	launches = scaled(10000, 400) / THREADS * THREADS;
	tool_inject(TOOL_PROBE, 0);
	driver_load();
	driver_init();
	tool_must();
	driver_context();
	stream = driver_stream();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		uint64_t had = tool_kernels(), calls = atomic_load(&tool.callbacks), got;

		if (!ways[i].run()) {
			fact(ways[i].name, "not in this driver or runtime");
			continue;
		}
		tried++;
		driver_wait();
		got = tool_await(CK_CONCURRENT_KERNEL, had + launches) - had;
		calls = atomic_load(&tool.callbacks) - calls;
		fact(ways[i].name, "%llu records, %llu callbacks of %u", (unsigned long long)got,
		     (unsigned long long)calls, launches);
		if (got != launches && !wrong++)
			say("%s: %llu records of %u launches", ways[i].name,
			    (unsigned long long)got, launches);
		calls_wrong += calls != launches;
	}
	fact("dropped", "%llu", (unsigned long long)atomic_load(&tool.dropped));
	if (calls_wrong) {
		setting("callbacks", "0");
		fix("AON_CUDA_PULSE=0: callbacks are not one for each launch");
	}
	if (wrong) {
		setting("fidelity", "heartbeat");
		fix("fidelity=heartbeat: records are not complete with this driver and CUPTI");
		verdict(FAIL);
	}
	say("records = launches%s, in %u ways of %u", calls_wrong ? "" : " = callbacks", tried,
	    launches);
	verdict(calls_wrong ? FAIL : PASS);
}

/* --- stride --- */

void check_stride(void)
{
	unsigned long long ptr;
	char host[256] = { 0 };

	tool.check_walk = true;
	tool_inject(TOOL_PROBE | TOOL_API, 0);
	driver_load();
	driver_init();
	tool_must();
	driver_context();
	stream = driver_stream();
	launches = scaled(2000, 200);
	for (unsigned i = 0; i < launches; i++) {
		driver_launch(cu.empty, stream);
		if (i % 16)
			continue;
		must(cu.cuMemAlloc_v2(&ptr, sizeof(host)), "cuMemAlloc");
		must(cu.cuMemcpyDtoH_v2(host, cu.where, 16), "cuMemcpyDtoH");
	}
	driver_wait();
	tool_await(CK_CONCURRENT_KERNEL, launches);
	fact("kinds", "%u", tool.strides);
	fact("kernel_bytes", "%u", tool.stride[CK_CONCURRENT_KERNEL]);
	say("%llu records, %llu steps of CUPTI's own walk elsewhere",
	    (unsigned long long)atomic_load(&tool.walks),
	    (unsigned long long)atomic_load(&tool.walk_faults));
	if (!atomic_load(&tool.walks))
		verdict(UNKNOWN);
	if (!atomic_load(&tool.walk_faults) && !atomic_load(&tool.strays))
		return;
	setting("fidelity", "heartbeat");
	fix("fidelity=heartbeat: this CUPTI's records cannot be read; send its version");
	verdict(FAIL);
}

/* --- names --- */

#define MODULES   10u
#define IN_MODULE 20u
#define EXPECTED  4096u

static char expected[EXPECTED][32]; /* by correlation */
static char launching[32];
static unsigned right, mistaken;
static char mistake[96];

static void note_launch(uint32_t correlation)
{
	memcpy(expected[correlation % EXPECTED], launching, sizeof(launching));
}

static void compare_name(const uint8_t *r)
{
	const char *name = (const char *)(uintptr_t)at64(r, AT_NAME);
	const char *want = expected[at32(r, AT_CORRELATION) % EXPECTED];

	if (name && !strcmp(name, want)) {
		right++;
		return;
	}
	if (!mistaken++)
		snprintf(mistake, sizeof(mistake), "%.40s instead of %s", name ? name : "none",
			 want);
}

/* One module of kernels whose names have its generation; it is gone when its records come. */
static void generation(unsigned g)
{
	static char ptx[IN_MODULE * 64 + 128];
	void *module, *function;
	size_t at;

	at = (size_t)snprintf(ptx, sizeof(ptx), ".version 6.4\n.target sm_70\n.address_size 64\n");
	for (unsigned k = 0; k < IN_MODULE; k++)
		at += (size_t)snprintf(ptx + at, sizeof(ptx) - at,
				       ".visible .entry g%u_k%u()\n{\n\tret;\n}\n", g, k);
	must(cu.cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	for (unsigned k = 0; k < IN_MODULE; k++) {
		snprintf(launching, sizeof(launching), "g%u_k%u", g, k);
		must(cu.cuModuleGetFunction(&function, module, launching), "cuModuleGetFunction");
		driver_launch(function, stream);
	}
	driver_wait();
	must(cu.cuModuleUnload(module), "cuModuleUnload");
}

void check_names(void)
{
	unsigned want = 2 * MODULES * IN_MODULE;

	tool.on_launch = note_launch;
	tool.on_kernel = compare_name;
	tool_inject(TOOL_PROBE, 0);
	driver_load();
	driver_init();
	tool_must();
	driver_context();
	stream = driver_stream();
	for (unsigned g = 0; g < 2 * MODULES; g++)
		generation(g);
	tool_await(CK_CONCURRENT_KERNEL, want);
	say("%u of %u names are right, modules unloaded before their records came", right, want);
	fact("wrong", "%u", mistaken);
	if (right == want)
		return;
	if (mistaken)
		fact("first", "%s", mistake);
	fix("AON_CUDA_PULSE=1: names are those of the launches, records have others");
	setting("callbacks", "1");
	verdict(FAIL);
}
