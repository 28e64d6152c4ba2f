/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_launch.c - the cost of a launch on the stand-in GPU, with any injected library.
 *
 *	cuda_launch BATCHES        the smallest and the middle batch, ns a launch, as JSON
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../tests/sim/cu.h"

#define LAUNCHES 200 /* a batch */

static CUresult (*init)(unsigned);
static CUresult (*retain)(CUcontext *, CUdevice);
static CUresult (*current)(CUcontext);
static CUresult (*load)(CUmodule *, const void *);
static CUresult (*function)(CUfunction *, CUmodule, const char *);
static CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			  unsigned, CUstream, void **, void **);
static CUresult (*wait_all)(void);

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int find(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	if (!lib)
		return -1;
	*(void **)&init = dlsym(lib, "cuInit");
	*(void **)&retain = dlsym(lib, "cuDevicePrimaryCtxRetain");
	*(void **)&current = dlsym(lib, "cuCtxSetCurrent");
	*(void **)&load = dlsym(lib, "cuModuleLoadData");
	*(void **)&function = dlsym(lib, "cuModuleGetFunction");
	*(void **)&launch = dlsym(lib, "cuLaunchKernel");
	*(void **)&wait_all = dlsym(lib, "cuCtxSynchronize");
	return launch && wait_all ? 0 : -1;
}

int main(int argc, char *argv[])
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	uint64_t *ns = calloc(n, sizeof(*ns));
	CUcontext ctx;
	CUmodule mod;
	CUfunction f;

	if (!ns || find() || init(0) || retain(&ctx, 0) || current(ctx) ||
	    load(&mod, "sim-module\nkernel saxpy ns=100 regs=32\n") || function(&f, mod, "saxpy"))
		return 1;
	for (size_t i = 0; i < n; i++) {
		uint64_t t = now();

		for (int k = 0; k < LAUNCHES; k++)
			launch(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
		ns[i] = now() - t;
		wait_all();
	}
	qsort(ns, n, sizeof(*ns), by_size);
	printf("{\"least\":%.2f,\"middle\":%.2f}\n", (double)ns[0] / LAUNCHES,
	       (double)ns[n / 2] / LAUNCHES);
	return 0;
}
