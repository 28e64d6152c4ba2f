/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.c - libcudart.so: the calls of the runtime that launch work. Each is a call of the driver
 * inside of a call of the runtime, and CUPTI tells of both, with one correlation id. A function is
 * the driver's CUfunction here, because there is no compiler to register another.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

#include "hook.h"

struct dim {
	unsigned x, y, z;
};

SIM_API int cudaRuntimeGetVersion(int *version);
SIM_API int cudaLaunchKernel(const void *f, struct dim grid, struct dim block, void **args,
			     size_t shared, CUstream stream);
SIM_API int cudaGraphLaunch(CUgraphExec exec, CUstream stream);
SIM_API int cudaLibraryLoadData(void **library, const void *code, void *jit, void *jit_values,
				unsigned njit, void *opts, void *opt_values, unsigned nopts);
SIM_API int cudaLibraryGetKernel(void **kernel, void *library, const char *name);
SIM_API int cudaProfilerStart(void);
SIM_API int cudaProfilerStop(void);

enum { CUDA_LAUNCH_KERNEL = 211, CUDA_GRAPH_LAUNCH = 311, CUDA_PROFILER_START = 171 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct sim_driver *drv;
static CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			  unsigned, CUstream, void **, void **);
static CUresult (*graph)(CUgraphExec, CUstream);
static CUresult (*profiler_start)(void), (*profiler_stop)(void);
static CUresult (*module_load)(CUmodule *, const void *);
static CUresult (*module_function)(CUfunction *, CUmodule, const char *);

static void begin(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*table)(const void **, const CUuuid *);
	const void *t;

	if (!lib)
		return;
	*(void **)&table = dlsym(lib, "cuGetExportTable");
	*(void **)&launch = dlsym(lib, "cuLaunchKernel");
	*(void **)&graph = dlsym(lib, "cuGraphLaunch");
	*(void **)&module_load = dlsym(lib, "cuModuleLoadData");
	*(void **)&module_function = dlsym(lib, "cuModuleGetFunction");
	*(void **)&profiler_start = dlsym(lib, "cuProfilerStart");
	*(void **)&profiler_stop = dlsym(lib, "cuProfilerStop");
	if (table && !table(&t, (const CUuuid *)SIM_UUID))
		drv = t;
}

static bool ready(void)
{
	pthread_once(&once, begin);
	return drv;
}

int cudaRuntimeGetVersion(int *version)
{
	*version = SIM_RUNTIME_VERSION;
	return 0;
}

int cudaLaunchKernel(const void *f, struct dim grid, struct dim block, void **args, size_t shared,
		     CUstream stream)
{
	struct {
		const void *f;
		struct dim grid, block;
		void **args;
		size_t shared;
		CUstream stream;
	} p = { f, grid, block, args, shared, stream };
	CUfunction fn = (CUfunction)f;
	struct sim_call c;
	CUresult r;

	if (!ready())
		return CUDA_ERROR_NOT_INITIALIZED;
	drv->runtime_enter(&c, CUDA_LAUNCH_KERNEL, "cudaLaunchKernel_v7000", &p, drv->symbol(fn));
	r = launch(fn, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared, stream,
		   args, NULL);
	drv->runtime_leave(&c, r);
	return r;
}

/* Kernels without a compiler: a library is a module here, a kernel its function. */
int cudaLibraryLoadData(void **library, const void *code, void *jit, void *jit_values,
			unsigned njit, void *opts, void *opt_values, unsigned nopts)
{
	(void)jit, (void)jit_values, (void)njit, (void)opts, (void)opt_values, (void)nopts;
	return ready() ? (int)module_load((CUmodule *)library, code) : CUDA_ERROR_NOT_INITIALIZED;
}

int cudaLibraryGetKernel(void **kernel, void *library, const char *name)
{
	return ready() ? (int)module_function((CUfunction *)kernel, library, name)
		       : CUDA_ERROR_NOT_INITIALIZED;
}

int cudaGraphLaunch(CUgraphExec exec, CUstream stream)
{
	struct {
		CUgraphExec exec;
		CUstream stream;
	} p = { exec, stream };
	struct sim_call c;
	CUresult r;

	if (!ready())
		return CUDA_ERROR_NOT_INITIALIZED;
	drv->runtime_enter(&c, CUDA_GRAPH_LAUNCH, "cudaGraphLaunch_v10000", &p, NULL);
	r = graph(exec, stream);
	drv->runtime_leave(&c, r);
	return r;
}

int cudaProfilerStart(void)
{
	struct sim_call c;
	CUresult r;

	if (!ready())
		return CUDA_ERROR_NOT_INITIALIZED;
	drv->runtime_enter(&c, CUDA_PROFILER_START, "cudaProfilerStart_v4000", NULL, NULL);
	r = profiler_start();
	drv->runtime_leave(&c, r);
	return r;
}

int cudaProfilerStop(void)
{
	return ready() ? (int)profiler_stop() : CUDA_ERROR_NOT_INITIALIZED;
}
