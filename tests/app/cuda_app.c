/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_app.c - a program that uses a GPU, for tests of the CUDA probe on the stand-in. It knows
 * nothing of aon or CUPTI: it opens libcuda.so.1, as programs do, and says in JSON what it did.
 *
 *	cuda_app [option=number ...] MODE
 *
 * Options: devices threads streams launches nodes rate (launches/s; 0: as fast as it goes) forks
 * ns (of a kernel) block (seconds to stay at the end) runtime (1: by libcudart) late (1: the profiler
 * comes after cuInit). Modes are the rows of the table below.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../sim/cu.h"

/* clang-format off */
#define CALLS(X) \
	X(cuInit, (unsigned)) \
	X(cuDeviceGetCount, (int *)) \
	X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice)) \
	X(cuCtxSetCurrent, (CUcontext)) \
	X(cuCtxSynchronize, (void)) \
	X(cuModuleLoadData, (CUmodule *, const void *)) \
	X(cuModuleUnload, (CUmodule)) \
	X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *)) \
	X(cuStreamCreate, (CUstream *, unsigned)) \
	X(cuStreamSynchronize, (CUstream)) \
	X(cuStreamWaitEvent, (CUstream, CUevent, unsigned)) \
	X(cuStreamBeginCapture_v2, (CUstream, int)) \
	X(cuStreamEndCapture, (CUstream, CUgraph *)) \
	X(cuEventCreate, (CUevent *, unsigned)) \
	X(cuEventRecord, (CUevent, CUstream)) \
	X(cuEventSynchronize, (CUevent)) \
	X(cuMemAlloc_v2, (CUdeviceptr *, size_t)) \
	X(cuMemFree_v2, (CUdeviceptr)) \
	X(cuMemAllocHost_v2, (void **, size_t)) \
	X(cuMemAllocAsync, (CUdeviceptr *, size_t, CUstream)) \
	X(cuMemFreeAsync, (CUdeviceptr, CUstream)) \
	X(cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream)) \
	X(cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream)) \
	X(cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUstream)) \
	X(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t)) \
	X(cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream)) \
	X(cuMemsetD32Async, (CUdeviceptr, unsigned, size_t, CUstream)) \
	X(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
			   unsigned, CUstream, void **, void **)) \
	X(cuLaunchKernelEx, (const CUlaunchConfig *, CUfunction, void **, void **)) \
	X(cuLaunchHostFunc, (CUstream, CUhostFn, void *)) \
	X(cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long)) \
	X(cuGraphLaunch, (CUgraphExec, CUstream)) \
	X(cuGraphExecDestroy, (CUgraphExec)) \
	X(cuGraphDestroy, (CUgraph))
/* clang-format on */
#define POINTER(name, args) static CUresult(*p_##name) args;
CALLS(POINTER)

#define TRY(call)                            \
	do {                                 \
		CUresult try_ = p_##call;    \
		if (try_) {                  \
			failed(#call, try_); \
			return try_;         \
		}                            \
	} while (0)

static struct {
	const char *name;
	long value;
} options[] = {
	{ "devices", 1 }, { "threads", 1 }, { "streams", 1 }, { "launches", 1000 },
	{ "nodes", 100 }, { "rate", 0 },    { "forks", 4 },   { "ns", 2000 },
	{ "block", 0 },   { "late", 0 },    { "runtime", 0 },
};

static struct {
	_Atomic long kernels, copies, copied, memsets, syncs, graphs, allocs, hosts;
	_Atomic int error;
	const char *_Atomic where;
} did;

static char **args;

static long opt(const char *name)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (!strcmp(options[i].name, name))
			return options[i].value;
	abort();
}

static void failed(const char *call, CUresult r)
{
	int none = 0;

	if (__atomic_compare_exchange_n((int *)&did.error, &none, r, 0, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST))
		did.where = call;
}

static int load(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	if (!lib)
		return fprintf(stderr, "cuda_app: %s\n", dlerror()), -1;
#define FIND(name, args)                         \
	*(void **)&p_##name = dlsym(lib, #name); \
	if (!p_##name)                           \
		return fprintf(stderr, "cuda_app: no %s\n", #name), -1;
	CALLS(FIND)
	return 0;
}

/* What a thread works with: one device, one module, some streams. */
struct ctx {
	CUcontext ctx;
	CUmodule mod;
	CUfunction small, big;
	CUstream stream[64];
	int streams;
};

static CUresult begin(struct ctx *c, int device)
{
	char image[512];

	snprintf(image, sizeof(image),
		 "sim-module\nkernel _Z5smallPfi ns=%ld regs=40\n"
		 "kernel _Z3bigPfS_i ns=%ld regs=255 smem=4096\nkernel never ns=never\n",
		 opt("ns"), 10 * opt("ns"));
	TRY(cuDevicePrimaryCtxRetain(&c->ctx, device));
	TRY(cuCtxSetCurrent(c->ctx));
	TRY(cuModuleLoadData(&c->mod, image));
	TRY(cuModuleGetFunction(&c->small, c->mod, "_Z5smallPfi"));
	TRY(cuModuleGetFunction(&c->big, c->mod, "_Z3bigPfS_i"));
	c->streams = (int)opt("streams");
	for (int i = 0; i < c->streams && i < 64; i++)
		TRY(cuStreamCreate(&c->stream[i], 1));
	return CUDA_SUCCESS;
}

/* runtime=1: by libcudart, whose calls are made of the driver's. */
struct dim {
	unsigned x, y, z;
};
static int (*runtime_launch)(const void *, struct dim, struct dim, void **, size_t, CUstream);
static int (*runtime_graph)(CUgraphExec, CUstream);

static void load_runtime(void)
{
	static const char *const names[] = { "libcudart.so.13", "libcudart.so.12",
					     "libcudart.so.11.0" };
	void *lib = NULL;

	for (size_t i = 0; i < 3 && !lib; i++)
		lib = dlopen(names[i], RTLD_NOW);
	if (!lib)
		return;
	*(void **)&runtime_launch = dlsym(lib, "cudaLaunchKernel");
	*(void **)&runtime_graph = dlsym(lib, "cudaGraphLaunch");
}

static CUresult launch_graph(CUgraphExec exec, CUstream s)
{
	if (runtime_graph) {
		int r = runtime_graph(exec, s);

		if (r)
			failed("cudaGraphLaunch", r);
		return r;
	}
	TRY(cuGraphLaunch(exec, s));
	return CUDA_SUCCESS;
}

static CUresult kernel(struct ctx *c, long i)
{
	CUstream s = c->stream[i % c->streams];

	if (runtime_launch) {
		struct dim grid = { (unsigned)(i % 3) + 1, 1, 1 }, block = { 64, 1, 1 };
		int r = runtime_launch(c->small, grid, block, NULL, 0, s);

		if (r)
			failed("cudaLaunchKernel", r);
		did.kernels += !r;
		return r;
	}
	if (i % 8 == 7)
		TRY(cuLaunchKernel(c->big, 512, 2, 1, 128, 2, 1, 1024, s, NULL, NULL));
	else
		TRY(cuLaunchKernel(c->small, (unsigned)(i % 3) + 1, 1, 1, 64, 1, 1, 0, s, NULL,
				   NULL));
	did.kernels++;
	return CUDA_SUCCESS;
}

static void pace(const struct timespec *start, long i)
{
	long rate = opt("rate");
	struct timespec t = *start;
	long long ns;

	if (!rate)
		return;
	ns = t.tv_nsec + (long long)i * 1000000000 / rate;
	t.tv_sec += ns / 1000000000;
	t.tv_nsec = ns % 1000000000;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static CUresult storm(struct ctx *c)
{
	long n = opt("launches");
	struct timespec start;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (long i = 0; i < n; i++) {
		CUresult r = kernel(c, i);

		if (r)
			return r;
		if (i % 64 == 63)
			pace(&start, i);
	}
	TRY(cuCtxSynchronize());
	did.syncs++;
	return CUDA_SUCCESS;
}

/* Steps, told to libaon where the probe has brought it: two kernels in each, at the paces of -rate. */
static CUresult steps(struct ctx *c)
{
	void *lib = dlopen("libaon.so.0", RTLD_NOW | RTLD_NOLOAD);
	void (*step_begin)(uint64_t) = NULL, (*step_end)(uint64_t) = NULL;
	struct timespec start;

	if (lib) {
		*(void **)&step_begin = dlsym(lib, "aon_step_begin");
		*(void **)&step_end = dlsym(lib, "aon_step_end");
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (long i = 0; i < opt("launches") / 2; i++) {
		CUresult r;

		if (step_begin)
			step_begin((uint64_t)i);
		r = kernel(c, 2 * i);
		r = r ? r : kernel(c, 2 * i + 1);
		if (r)
			return r;
		TRY(cuStreamSynchronize(c->stream[0]));
		pace(&start, i);
		if (step_end)
			step_end((uint64_t)i);
	}
	return CUDA_SUCCESS;
}

static void count_host(void *arg)
{
	(void)arg;
	did.hosts++;
}

/* One of each thing, over and over. */
static CUresult mix(struct ctx *c)
{
	enum { BYTES = 1 << 16 };
	CUdeviceptr a, b, pooled;
	CUevent event;
	void *host;

	TRY(cuMemAlloc_v2(&a, BYTES));
	TRY(cuMemAlloc_v2(&b, BYTES));
	TRY(cuMemAllocHost_v2(&host, BYTES));
	TRY(cuEventCreate(&event, 0));
	did.allocs += 3;
	for (long i = 0; i < opt("launches"); i++) {
		CUstream s = c->stream[i % c->streams], other = c->stream[(i + 1) % c->streams];
		size_t bytes = (size_t)(i % 100 + 1) * 64;
		CUlaunchConfig config = { .gridDim = { 7, 1, 1 },
					  .blockDim = { 32, 1, 1 },
					  .hStream = s };

		TRY(cuMemcpyHtoDAsync_v2(a, host, bytes, s));
		TRY(cuMemsetD8Async(b, 0xa5, bytes, s));
		TRY(cuLaunchKernelEx(&config, c->small, NULL, NULL));
		TRY(cuMemcpyDtoDAsync_v2(b, a, bytes, s));
		TRY(cuMemcpyDtoHAsync_v2(host, b, bytes, s));
		TRY(cuEventRecord(event, s));
		TRY(cuStreamWaitEvent(other, event, 0));
		TRY(cuMemAllocAsync(&pooled, 4096, s));
		TRY(cuMemFreeAsync(pooled, s));
		TRY(cuLaunchHostFunc(s, count_host, NULL));
		TRY(cuStreamSynchronize(s));
		TRY(cuEventSynchronize(event));
		did.kernels++;
		did.copies += 3;
		did.copied += 3 * (long)bytes;
		did.memsets++;
		did.syncs += 3;
		did.allocs++;
	}
	TRY(cuCtxSynchronize());
	did.syncs++;
	return CUDA_SUCCESS;
}

static CUresult graph(struct ctx *c)
{
	CUgraph g;
	CUgraphExec exec;

	TRY(cuStreamBeginCapture_v2(c->stream[0], 0));
	for (long i = 0; i < opt("nodes"); i++)
		if (kernel(c, i * c->streams))
			return did.error;
	TRY(cuStreamEndCapture(c->stream[0], &g));
	TRY(cuGraphInstantiateWithFlags(&exec, g, 0));
	did.kernels = 0;
	for (long i = 0; i < opt("launches"); i++) {
		if (launch_graph(exec, c->stream[0]))
			return did.error;
		did.kernels += opt("nodes");
		did.graphs++;
		if (i % 16 == 15)
			TRY(cuStreamSynchronize(c->stream[0]));
	}
	TRY(cuCtxSynchronize());
	TRY(cuGraphExecDestroy(exec));
	TRY(cuGraphDestroy(g));
	return CUDA_SUCCESS;
}

/* Graphs come, are launched a few times, and go: on every thread at once. */
static CUresult regraph(struct ctx *c)
{
	for (long n = 0; n < opt("launches"); n++) {
		CUgraphExec exec;
		CUgraph g;

		TRY(cuStreamBeginCapture_v2(c->stream[0], 0));
		for (long i = 0; i < opt("nodes"); i++)
			TRY(cuLaunchKernel(c->small, 1, 1, 1, 64, 1, 1, 0, c->stream[0], NULL,
					   NULL));
		TRY(cuStreamEndCapture(c->stream[0], &g));
		TRY(cuGraphInstantiateWithFlags(&exec, g, 0));
		for (long i = 0; i < 5; i++) {
			TRY(cuGraphLaunch(exec, c->stream[0]));
			did.kernels += opt("nodes");
			did.graphs++;
		}
		TRY(cuStreamSynchronize(c->stream[0]));
		TRY(cuGraphExecDestroy(exec));
		TRY(cuGraphDestroy(g));
	}
	return CUDA_SUCCESS;
}

/* Workers of a data loader's kind: forked after the driver began, they do not touch it. */
static CUresult forks(struct ctx *c)
{
	long n = opt("forks");
	int status;

	for (long f = 0; f < n; f++) {
		pid_t pid = fork();

		if (pid < 0)
			return CUDA_ERROR_UNKNOWN;
		if (!pid) {
			usleep(2000);
			exit(p_cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED ? 0 : 9);
		}
		for (long i = 0; i < opt("launches") / n; i++)
			if (kernel(c, i))
				return did.error;
		if (waitpid(pid, &status, 0) != pid || status)
			failed("fork", WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status);
	}
	TRY(cuCtxSynchronize());
	return CUDA_SUCCESS;
}

/* A process that works, becomes another, and works again. */
static CUresult again(struct ctx *c)
{
	CUresult r = storm(c);

	if (!r && !getenv("CUDA_APP_AGAIN")) {
		setenv("CUDA_APP_AGAIN", "1", 1);
		execv("/proc/self/exe", args);
		return CUDA_ERROR_UNKNOWN;
	}
	return r;
}

/* Ends while work is under way, and while a tool may be flushing. */
static CUresult leave(struct ctx *c)
{
	for (long i = 0; i < opt("launches"); i++)
		if (kernel(c, i))
			return did.error;
	exit(0);
}

/* A kernel that does not end, and others beside it. */
static CUresult hang(struct ctx *c)
{
	CUfunction never;
	CUstream s;

	TRY(cuModuleGetFunction(&never, c->mod, "never"));
	TRY(cuStreamCreate(&s, 1));
	TRY(cuLaunchKernel(never, 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL));
	for (long i = 0; i < opt("launches"); i++)
		if (kernel(c, i))
			return did.error;
	for (int i = 0; i < c->streams; i++)
		TRY(cuStreamSynchronize(c->stream[i]));
	return CUDA_SUCCESS;
}

/* Modules come and go; names may get the place of others. */
static CUresult reload(struct ctx *c)
{
	char image[128], name[64];
	CUfunction f;
	CUmodule m;

	for (long i = 0; i < opt("launches"); i++) {
		snprintf(name, sizeof(name), "generation%ld", i);
		snprintf(image, sizeof(image), "sim-module\nkernel %s ns=1500\n", name);
		TRY(cuModuleLoadData(&m, image));
		TRY(cuModuleGetFunction(&f, m, name));
		TRY(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, c->stream[0], NULL, NULL));
		TRY(cuStreamSynchronize(c->stream[0]));
		did.kernels++;
		TRY(cuModuleUnload(m));
	}
	return CUDA_SUCCESS;
}

/*
 * Two kernels in turn, which on an H100 take of the device, by the stand-in's model: a multiplication
 * all SMs, 70 % of compute, by tensor cores, 20 % of DRAM; a copy half of the SMs, 2 %, none, 80 %.
 */
static CUresult phases(struct ctx *c)
{
	const double threads = 132 * 64 * 32, gflops = 989000, kbs = 3352e6, ns = (double)opt("ns");
	CUfunction gemm, copy;
	char image[512];
	CUmodule m;

	snprintf(image, sizeof(image),
		 "sim-module\nkernel gemm ns=%ld flops=%.6f bytes=%.6f tensor=1\n"
		 "kernel copy ns=%ld flops=%.6f bytes=%.6f\n",
		 opt("ns"), 0.7 * gflops * ns / threads, 0.2 * kbs * ns / threads / 1e6, opt("ns"),
		 0.02 * gflops * ns / threads * 2, 0.8 * kbs * ns / threads / 1e6 * 2);
	TRY(cuModuleLoadData(&m, image));
	TRY(cuModuleGetFunction(&gemm, m, "gemm"));
	TRY(cuModuleGetFunction(&copy, m, "copy"));
	for (long i = 0; i < opt("launches"); i++) {
		bool is_gemm = i / 10 % 2 == 0;

		TRY(cuLaunchKernel(is_gemm ? gemm : copy, is_gemm ? 1056 : 528, 1, 1, 256, 1, 1, 0,
				   c->stream[0], NULL, NULL));
		did.kernels++;
		if (i % 10 == 9)
			TRY(cuStreamSynchronize(c->stream[0]));
	}
	return CUDA_SUCCESS;
}

/* A kernel whose name tells its work: 2^20 elements, in 4 us. */
static CUresult loops(struct ctx *c)
{
	CUfunction f;
	CUmodule m;

	TRY(cuModuleLoadData(&m, "sim-module\nkernel E_1024_256_4 ns=4000\n"));
	TRY(cuModuleGetFunction(&f, m, "E_1024_256_4"));
	for (long i = 0; i < opt("launches"); i++) {
		TRY(cuLaunchKernel(f, 1024, 1, 1, 256, 1, 1, 0, c->stream[0], NULL, NULL));
		did.kernels++;
	}
	TRY(cuStreamSynchronize(c->stream[0]));
	return CUDA_SUCCESS;
}

/* --- beside a profiler of the program's own: tests/app/cuda_kineto.c, by its two functions --- */

static void (*profiler_start)(void), (*profiler_stop)(void);

/* Before cuInit(), as torch is; or, with late=1, after it. */
static void load_profiler(void)
{
	const char *path = getenv("APP_PROFILER");
	void *lib = path ? dlopen(path, RTLD_NOW) : NULL;

	if (!lib)
		return;
	*(void **)&profiler_start = dlsym(lib, "profiler_start");
	*(void **)&profiler_stop = dlsym(lib, "profiler_stop");
}

static CUresult work(struct ctx *c, CUgraphExec exec, long n)
{
	for (long i = 0; i < n; i++) {
		CUresult r = kernel(c, i);

		if (r)
			return r;
	}
	for (long i = 0; i < 20; i++) {
		TRY(cuGraphLaunch(exec, c->stream[0]));
		did.kernels += opt("nodes");
	}
	TRY(cuCtxSynchronize());
	return CUDA_SUCCESS;
}

/* Work without a profiler, with it, and without it for as long as a probe may need to come back. */
static CUresult profiled(struct ctx *c)
{
	CUgraphExec exec;
	CUgraph g;

	if (opt("late")) {
		load_profiler();
		sleep(1);
	}
	TRY(cuStreamBeginCapture_v2(c->stream[0], 0));
	for (long i = 0; i < opt("nodes"); i++)
		if (kernel(c, i * c->streams))
			return did.error;
	TRY(cuStreamEndCapture(c->stream[0], &g));
	TRY(cuGraphInstantiateWithFlags(&exec, g, 0));
	did.kernels = 0;
	for (int twice = 0; twice < 2; twice++) {
		if (work(c, exec, opt("launches")))
			return did.error;
		if (profiler_start)
			profiler_start();
		if (work(c, exec, opt("launches")))
			return did.error;
		if (profiler_stop)
			profiler_stop();
		for (int tenth = 0; tenth < 40; tenth++) {
			if (kernel(c, tenth))
				return did.error;
			usleep(100000);
		}
		if (work(c, exec, opt("launches")))
			return did.error;
	}
	return CUDA_SUCCESS;
}

static CUresult nothing(struct ctx *c)
{
	(void)c;
	return CUDA_SUCCESS;
}

static const struct {
	const char *name;
	CUresult (*run)(struct ctx *c);
} modes[] = {
	{ "init", nothing },      { "storm", storm },     { "mix", mix },     { "graph", graph },
	{ "forks", forks },       { "exec", again },      { "exit", leave },  { "hang", hang },
	{ "reload", reload },     { "phases", phases },   { "loops", loops }, { "steps", steps },
	{ "profiled", profiled }, { "regraph", regraph },
};

static CUresult (*run)(struct ctx *c);

static void *thread_main(void *arg)
{
	static __thread struct ctx c;

	if (!begin(&c, (int)((long)(intptr_t)arg % opt("devices"))))
		run(&c);
	return NULL;
}

static void report(void)
{
	printf("{\"error\":%d,\"where\":\"%.40s\",\"kernels\":%ld,\"copies\":%ld,\"copied\":%ld,"
	       "\"memsets\":%ld,\"syncs\":%ld,\"graphs\":%ld,\"allocs\":%ld,\"hosts\":%ld}\n",
	       did.error, did.where ? did.where : "", did.kernels, did.copies, did.copied,
	       did.memsets, did.syncs, did.graphs, did.allocs, did.hosts);
}

static int parse(int argc, char *argv[])
{
	for (int i = 1; i < argc; i++) {
		char *v = strchr(argv[i], '=');

		for (size_t o = 0; v && o < sizeof(options) / sizeof(*options); o++)
			if (!strncmp(options[o].name, argv[i], (size_t)(v - argv[i])))
				options[o].value = atol(v + 1);
		for (size_t m = 0; !v && m < sizeof(modes) / sizeof(*modes); m++)
			if (!strcmp(modes[m].name, argv[i]))
				run = modes[m].run;
	}
	return run ? 0 : -1;
}

int main(int argc, char *argv[])
{
	pthread_t t[256];
	CUresult r;
	long n;

	args = argv;
	if (parse(argc, argv)) {
		fprintf(stderr, "usage: cuda_app [option=number ...] MODE\n");
		return 2;
	}
	if (load())
		return 1;
	if (opt("runtime"))
		load_runtime();
	if (!opt("late"))
		load_profiler();
	if ((r = p_cuInit(0)))
		failed("cuInit", r);
	n = opt("threads") < 256 ? opt("threads") : 256;
	if (!did.error && n > 1) {
		for (long i = 0; i < n; i++)
			pthread_create(&t[i], NULL, thread_main, (void *)(intptr_t)i);
		for (long i = 0; i < n; i++)
			pthread_join(t[i], NULL);
	} else if (!did.error) {
		thread_main(NULL);
	}
	sleep((unsigned)opt("block"));
	report();
	return 0;
}
