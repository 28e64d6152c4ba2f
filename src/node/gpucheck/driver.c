/* SPDX-License-Identifier: Apache-2.0 */
/* driver.c - CUDA's driver, opened on demand, and two kernels in PTX, which every driver compiles. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpucheck/check.h"

#define ATTR_MAJOR 75
#define ATTR_MINOR 76
#define CC_LEAST   70 /* of the kernels below; CUPTI's records need it, too */

/* empty() ends at once. spin_ns(ns, where) runs that long, and notes its start and end. */
const char driver_ptx[] = ".version 6.4\n.target sm_70\n.address_size 64\n"
			  ".visible .entry empty()\n{\n\tret;\n}\n"
			  ".visible .entry spin_ns(.param .u64 ns, .param .u64 where)\n{\n"
			  "\t.reg .u64 %t0, %t1, %d, %n, %w;\n\t.reg .pred %p;\n"
			  "\tld.param.u64 %n, [ns];\n\tld.param.u64 %w, [where];\n"
			  "\tcvta.to.global.u64 %w, %w;\n"
			  "\tmov.u64 %t0, %globaltimer;\n"
			  "again:\n"
			  "\tmov.u64 %t1, %globaltimer;\n"
			  "\tsub.u64 %d, %t1, %t0;\n"
			  "\tsetp.lt.u64 %p, %d, %n;\n"
			  "\t@%p bra again;\n"
			  "\tst.global.u64 [%w], %t0;\n"
			  "\tst.global.u64 [%w+8], %t1;\n"
			  "\tret;\n}\n";

struct driver cu;

static const char *error_name(int error)
{
	const char *name = NULL;

	if (cu.cuGetErrorName)
		cu.cuGetErrorName(error, &name);
	return name ? name : "";
}

void must(int error, const char *call)
{
	if (!error)
		return;
	say("%s: CUDA error %d %s", call, error, error_name(error));
	verdict(FAIL);
}

/* Where pip puts it: "" or a path. */
static void runtime_of_python(char *path, size_t cap)
{
	static const char command[] =
		"python3 -c \"import glob, sysconfig; print((sorted(glob.glob("
		"sysconfig.get_paths()['purelib'] + '/nvidia/*/lib/libcudart.so.*')) or ['']"
		")[-1])\" 2>/dev/null";
	FILE *f = popen(command, "re");

	path[0] = '\0';
	if (!f)
		return;
	if (!fgets(path, (int)cap, f))
		path[0] = '\0';
	path[strcspn(path, "\n")] = '\0';
	pclose(f);
}

void *driver_runtime(void)
{
	static const char *const name[] = { "libcudart.so.13", "libcudart.so.12",
					    "libcudart.so.11.0" };
	const char *given = getenv("AON_GPU_RUNTIME");
	static void *lib;
	char path[512];

	if (given && !lib) /* found by the check env */
		return lib = *given ? dlopen(given, RTLD_NOW) : NULL;
	for (size_t i = 0; !lib && i < sizeof(name) / sizeof(name[0]); i++)
		lib = dlopen(name[i], RTLD_NOW);
	if (lib)
		return lib;
	runtime_of_python(path, sizeof(path));
	return lib = *path ? dlopen(path, RTLD_NOW) : NULL;
}

void driver_load(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	const char *missing = NULL;

	driver_runtime();

	if (!lib) {
		fact("gpus", "0");
		unknown("no libcuda.so.1: the NVIDIA driver is not installed here");
	}
#define F(name, ...)                            \
	*(void **)&cu.name = dlsym(lib, #name); \
	missing = cu.name || missing ? missing : #name;
	DRIVER_MUST(F)
#undef F
#define F(name, ...) *(void **)&cu.name = dlsym(lib, #name);
	DRIVER_MAY(F)
#undef F
	if (missing)
		unknown("libcuda.so.1 has no %s", missing);
}

void driver_init(void)
{
	int device = 0, major = 0, minor = 0, err = cu.cuInit(0);

	if (err) {
		fact("gpus", "0");
		unknown("cuInit: CUDA error %d %s", err, error_name(err));
	}
	must(cu.cuDriverGetVersion(&cu.version), "cuDriverGetVersion");
	must(cu.cuDeviceGetCount(&cu.devices), "cuDeviceGetCount");
	if (!cu.devices) {
		fact("gpus", "0");
		unknown("the driver shows no GPU");
	}
	must(cu.cuDeviceGet(&device, 0), "cuDeviceGet");
	cu.cuDeviceGetName(cu.name, sizeof(cu.name), device);
	cu.cuDeviceGetAttribute(&major, ATTR_MAJOR, device);
	cu.cuDeviceGetAttribute(&minor, ATTR_MINOR, device);
	cu.cc = 10 * major + minor;
}

void driver_context(void)
{
	void *ctx;

	if (cu.cc < CC_LEAST)
		unknown("GPUs before compute capability 7.0 cannot be traced");
	must(cu.cuDevicePrimaryCtxRetain(&ctx, 0), "cuDevicePrimaryCtxRetain");
	must(cu.cuCtxSetCurrent(ctx), "cuCtxSetCurrent");
	must(cu.cuModuleLoadData(&cu.module, driver_ptx), "cuModuleLoadData");
	must(cu.cuModuleGetFunction(&cu.empty, cu.module, "empty"), "cuModuleGetFunction");
	must(cu.cuModuleGetFunction(&cu.spin, cu.module, "spin_ns"), "cuModuleGetFunction");
	must(cu.cuMemAlloc_v2(&cu.where, 16), "cuMemAlloc");
}

void *driver_stream(void)
{
	void *stream;

	must(cu.cuStreamCreate(&stream, 1), "cuStreamCreate");
	return stream;
}

void driver_launch(void *function, void *stream)
{
	must(cu.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL),
	     "cuLaunchKernel");
}

void driver_spin(uint64_t ns, void *stream)
{
	void *args[] = { &ns, &cu.where };

	must(cu.cuLaunchKernel(cu.spin, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL), "cuLaunchKernel");
}

void driver_wait(void)
{
	must(cu.cuCtxSynchronize(), "cuCtxSynchronize");
}

void *driver_graph(unsigned nodes, void *stream)
{
	void *graph, *exec;

	must(cu.cuStreamBeginCapture_v2(stream, 0), "cuStreamBeginCapture");
	for (unsigned i = 0; i < nodes; i++)
		driver_launch(cu.empty, stream);
	must(cu.cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
	must(cu.cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiate");
	cu.cuGraphDestroy(graph);
	return exec;
}
