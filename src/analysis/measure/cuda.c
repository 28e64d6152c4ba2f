/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.c - a device behind CUDA's driver; see backend.h. NVRTC compiles the kernels.
 *
 * Tensor cores are measured by mma.sync, which reaches their peak on compute capability 8.x and
 * 12.x. Hopper and data-center Blackwell need other instructions for it: tensor.c.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/backend.h"
#include "measure/kernels.h"
#include "measure/tensor.h"

/* Of cuda.h and nvrtc.h, which are not needed to build: handles are pointers, results are ints. */
typedef unsigned long long devptr;
/* clang-format off */
#define DRIVER(F) \
	F(cuInit,                   unsigned flags) \
	F(cuDriverGetVersion,       int *version) \
	F(cuDeviceGet,              int *device, int index) \
	F(cuDeviceGetName,          char *name, int len, int device) \
	F(cuDeviceGetAttribute,     int *value, int attribute, int device) \
	F(cuDeviceTotalMem_v2,      size_t *bytes, int device) \
	F(cuDevicePrimaryCtxRetain, void **ctx, int device) \
	F(cuDevicePrimaryCtxRelease_v2, int device) \
	F(cuCtxSetCurrent,          void *ctx) \
	F(cuCtxSynchronize,         void) \
	F(cuModuleLoadData,         void **module, const void *image) \
	F(cuModuleUnload,           void *module) \
	F(cuModuleGetFunction,      void **function, void *module, const char *name) \
	F(cuLaunchKernel,           void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, \
				    unsigned by, unsigned bz, unsigned shared, void *stream, void **args, \
				    void **extra) \
	F(cuMemAlloc_v2,            devptr *ptr, size_t bytes) \
	F(cuMemFree_v2,             devptr ptr) \
	F(cuMemAllocHost_v2,        void **ptr, size_t bytes) \
	F(cuMemFreeHost,            void *ptr) \
	F(cuMemcpyHtoD_v2,          devptr to, const void *from, size_t bytes) \
	F(cuMemcpyDtoH_v2,          void *to, devptr from, size_t bytes) \
	F(cuGetErrorName,           int error, const char **name)
#define NVRTC(F) \
	F(nvrtcCreateProgram,       void **prog, const char *text, const char *name, int headers, \
				    const char *const *texts, const char *const *names) \
	F(nvrtcCompileProgram,      void *prog, int n, const char *const *options) \
	F(nvrtcGetCUBINSize,        void *prog, size_t *bytes) \
	F(nvrtcGetCUBIN,            void *prog, char *cubin) \
	F(nvrtcGetProgramLogSize,   void *prog, size_t *bytes) \
	F(nvrtcGetProgramLog,       void *prog, char *log) \
	F(nvrtcDestroyProgram,      void **prog)
enum { ATTR_CLOCK = 13, ATTR_SMS = 16, ATTR_MEMORY_CLOCK = 36, ATTR_L2 = 38, ATTR_MAJOR = 75, ATTR_MINOR = 76 };
/* clang-format on */

struct cuda {
	struct backend b;
	void *driver_lib, *nvrtc_lib;
	int device;
	void *ctx, *module, *function;
	char function_name[16];
	devptr buffer;
	void *host;
#define F(name, ...) int (*name)(__VA_ARGS__);
	DRIVER(F)
	NVRTC(F)
#undef F
};

static struct cuda *of(struct backend *b)
{
	return (struct cuda *)b;
}

static int __attribute__((format(printf, 3, 4)))
failed(struct cuda *c, int code, const char *fmt, ...)
{
	const char *name = NULL;
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	n = (size_t)vsnprintf(c->b.why, BACKEND_WHY, fmt, ap);
	va_end(ap);
	c->cuGetErrorName(code, &name);
	if (n < BACKEND_WHY)
		snprintf(c->b.why + n, BACKEND_WHY - n, ": CUDA error %d %s", code,
			 name ? name : "");
	return code == 2 ? -ENOMEM : -EIO;
}

/* --- the program --- */

#define COMMON                                                                                   \
	"#define KERNEL(name) extern \"C\" __global__ void name\n#define GLOBAL\n"               \
	"#define ITEM threadIdx.x\n#define ITEMS blockDim.x\n"                                   \
	"#define GROUP blockIdx.x\n#define GROUPS gridDim.x\n"                                   \
	"#define V float4\n#define VZERO make_float4(0, 0, 0, 0)\n"                              \
	"static __device__ float4 VADD(float4 x, float4 y)\n"                                    \
	"{ return make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w); }\n"                  \
	"static __device__ float4 VMAD(float4 s, float a, float4 x)\n"                           \
	"{ return make_float4(fmaf(a, x.x, s.x), fmaf(a, x.y, s.y), fmaf(a, x.z, s.z), fmaf(a, " \
	"x.w, s.w)); }\n"
#define SCALAR(t, f)                                                                            \
	COMMON "typedef " t " T;\n#define SET(u) (T)(u)\n#define MAD(x, a, b) " f "(x, a, b)\n" \
	       "#define ADD(x, y) ((x) + (y))\n"
/* Two of a half width in one register; which numbers they are does not matter. */
#define PAIR(t)                                                                      \
	COMMON "typedef unsigned T;\n#define SET(u) (0x3c003c00u * (u))\n"           \
	       "static __device__ T MAD(T x, T a, T b)\n"                            \
	       "{ asm(\"fma.rn." t                                                   \
	       " %0, %0, %1, %2;\" : \"+r\"(x) : \"r\"(a), \"r\"(b)); return x; }\n" \
	       "#define ADD(x, y) ((x) ^ (y))\n"
/* A warp's product of matrices, sixteen rows by eight columns: each thread has four sums. */
#define MMA(shape, types, sum, r)                                                                  \
	COMMON "struct T { " sum " v[4]; };\n"                                                     \
	       "static __device__ T SET(unsigned u) { T x = { { (" sum                             \
	       ")u, 0, 0, 0 } }; return x; }\n"                                                    \
	       "static __device__ unsigned bits(T x) { return (unsigned)x.v[0]; }\n"               \
	       "static __device__ T MAD(T x, T a, T b)\n"                                          \
	       "{ asm volatile(\"mma.sync.aligned." shape ".row.col." types                        \
	       " {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%5, %5}, {%0, %1, %2, %3};\""                \
	       " : \"+" r "\"(x.v[0]), \"+" r "\"(x.v[1]), \"+" r "\"(x.v[2]), \"+" r "\"(x.v[3])" \
	       " : \"r\"(bits(a)), \"r\"(bits(b))); return x; }\n"                                 \
	       "static __device__ T ADD(T x, T y)\n"                                               \
	       "{ for (int i = 0; i < 4; i++) x.v[i] += y.v[i]; return x; }\n"

static const struct row {
	enum gpu_type type;
	bool tensor;
	uint32_t least_cc;
	struct variant v; /* its flops are of one thread: of a warp's matrices the 32nd part */
} row[] = {
	/* clang-format off */
	{ GPU_FP64, false, 0,  { SCALAR("double", "__fma_rn"), 2 } },
	{ GPU_FP32, false, 0,  { SCALAR("float", "__fmaf_rn"), 2 } },
	{ GPU_FP16, false, 53, { PAIR("f16x2"),  4 } },
	{ GPU_BF16, false, 80, { PAIR("bf16x2"), 4 } },
	{ GPU_FP16, true,  80, { MMA("m16n8k16", "f32.f16.f16.f32",   "float", "f"), 128 } },
	{ GPU_BF16, true,  80, { MMA("m16n8k16", "f32.bf16.bf16.f32", "float", "f"), 128 } },
	{ GPU_TF32, true,  80, { MMA("m16n8k8",  "f32.tf32.tf32.f32", "float", "f"), 64 } },
	{ GPU_INT8, true,  80, { MMA("m16n8k32", "s32.s8.s8.s32",     "int",   "r"), 256 } },
	{ GPU_FP8,  true,  89, { MMA("m16n8k32", "f32.e4m3.e4m3.f32", "float", "f"), 256 } },
	/* clang-format on */
};

static bool variant(const struct backend *b, enum gpu_type t, bool tensor, struct variant *out)
{
	if (tensor && b->cc >= 90 && b->cc < 120)
		return tensor_variant(b->cc, t, out);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (row[i].type == t && row[i].tensor == tensor && b->cc >= row[i].least_cc) {
			*out = row[i].v;
			return true;
		}
	return false;
}

/* Machine code, to be freed: PTX of a newer NVRTC is refused by an older driver. */
static int compile(struct cuda *c, const struct variant *v, char **cubin)
{
	char arch[48], *text, log[320] = "";
	const char *options[] = { arch };
	bool whole = tensor_is_whole(v);
	size_t bytes = 0;
	void *prog = NULL;
	int err;

	snprintf(arch, sizeof(arch), "--gpu-architecture=sm_%u%s", c->b.cc, whole ? "a" : "");
	if (asprintf(&text, "%s%s", v->text, whole ? "" : kernels_source) < 0)
		return -ENOMEM;
	err = c->nvrtcCreateProgram(&prog, text, "aon.cu", 0, NULL, NULL);
	err = err ? err : c->nvrtcCompileProgram(prog, 1, options);
	if (err && prog && !c->nvrtcGetProgramLogSize(prog, &bytes) && bytes && bytes < 65536) {
		char *all = malloc(bytes);

		if (all && !c->nvrtcGetProgramLog(prog, all))
			snprintf(log, sizeof(log), "%.*s", (int)strcspn(all, "\n"), all);
		free(all);
	}
	*cubin = NULL;
	if (!err && !c->nvrtcGetCUBINSize(prog, &bytes) && (*cubin = malloc(bytes)))
		err = c->nvrtcGetCUBIN(prog, *cubin);
	if (prog)
		c->nvrtcDestroyProgram(&prog);
	free(text);
	if (!err && *cubin)
		return 0;
	snprintf(c->b.why, BACKEND_WHY, "NVRTC does not compile for capability %u.%u: error %d %s",
		 c->b.cc / 10, c->b.cc % 10, err, log);
	free(*cubin);
	return -EIO;
}

static int build(struct backend *b, const struct variant *v)
{
	struct cuda *c = of(b);
	char *cubin;
	int err = compile(c, v, &cubin);

	if (err)
		return err;
	if (c->module)
		c->cuModuleUnload(c->module);
	c->module = NULL;
	c->function_name[0] = '\0';
	err = c->cuModuleLoadData(&c->module, cubin);
	free(cubin);
	return err ? failed(c, err, "the kernels cannot be loaded") : 0;
}

/* --- work --- */

static int buffer(struct backend *b, uint64_t bytes)
{
	struct cuda *c = of(b);
	int err;

	if (c->buffer)
		c->cuMemFree_v2(c->buffer);
	c->buffer = 0;
	err = c->cuMemAlloc_v2(&c->buffer, bytes);
	return err ? failed(c, err, "no buffer of %llu bytes", (unsigned long long)bytes) : 0;
}

static int launch(struct backend *b, const char *kernel, uint32_t groups, uint32_t n, uint32_t reps)
{
	struct cuda *c = of(b);
	unsigned zero = 0;
	void *args[] = { &c->buffer, &n, &reps, &zero };
	int err = 0;

	if (strcmp(c->function_name, kernel)) {
		err = c->cuModuleGetFunction(&c->function, c->module, kernel);
		snprintf(c->function_name, sizeof(c->function_name), "%s", err ? "" : kernel);
	}
	if (!err)
		err = c->cuLaunchKernel(c->function, groups, 1, 1, b->group, 1, 1, 0, NULL, args,
					NULL);
	return err ? failed(c, err, "%s cannot be launched", kernel) : 0;
}

static int finish(struct backend *b)
{
	int err = of(b)->cuCtxSynchronize();

	return err ? failed(of(b), err, "the device does not finish") : 0;
}

/* Page-locked. */
static int need_host(struct cuda *c, uint64_t bytes)
{
	if (bytes > BACKEND_HOST)
		return 1; /* CUDA_ERROR_INVALID_VALUE */
	return c->host ? 0 : c->cuMemAllocHost_v2(&c->host, BACKEND_HOST);
}

static int copy_in(struct backend *b, uint64_t bytes)
{
	struct cuda *c = of(b);
	int err = need_host(c, bytes);

	err = err ? err : c->cuMemcpyHtoD_v2(c->buffer, c->host, bytes);
	return err ? failed(c, err, "no copy to the device") : 0;
}

static int copy_out(struct backend *b, uint64_t from, uint64_t bytes)
{
	struct cuda *c = of(b);
	int err = need_host(c, bytes);

	err = err ? err : c->cuMemcpyDtoH_v2(c->host, c->buffer + from, bytes);
	return err ? failed(c, err, "no copy from the device") : 0;
}

static void *host(struct backend *b)
{
	return of(b)->host;
}

static uint64_t address(struct backend *b)
{
	return of(b)->cuCtxSetCurrent(of(b)->ctx) ? 0 : of(b)->buffer;
}

/* --- the device --- */

static void close_all(struct backend *b)
{
	struct cuda *c = of(b);

	if (c->ctx)
		c->cuCtxSetCurrent(c->ctx);
	if (c->module)
		c->cuModuleUnload(c->module);
	if (c->buffer)
		c->cuMemFree_v2(c->buffer);
	if (c->host)
		c->cuMemFreeHost(c->host);
	if (c->ctx)
		c->cuDevicePrimaryCtxRelease_v2(c->device);
	free(c); /* the libraries stay: they do not survive being unloaded */
}

static const struct backend_ops ops = { "CUDA",  variant,  build, buffer,  launch,   finish,
					copy_in, copy_out, host,  address, close_all };

static uint32_t attribute(const struct cuda *c, int which)
{
	int v = 0;

	return c->cuDeviceGetAttribute(&v, which, c->device) || v < 0 ? 0 : (uint32_t)v;
}

static void describe(struct cuda *c)
{
	struct backend *b = &c->b;
	size_t bytes = 0;
	int version = 0;

	c->cuDeviceGetName(b->name, sizeof(b->name), c->device);
	c->cuDriverGetVersion(&version);
	snprintf(b->driver, sizeof(b->driver), "%d.%d", version / 1000, version % 1000 / 10);
	b->cc = attribute(c, ATTR_MAJOR) * 10 + attribute(c, ATTR_MINOR);
	b->units = attribute(c, ATTR_SMS);
	b->clock_mhz = attribute(c, ATTR_CLOCK) / 1000;
	b->memory_mhz = attribute(c, ATTR_MEMORY_CLOCK) / 1000;
	b->cache_bytes = attribute(c, ATTR_L2);
	c->cuDeviceTotalMem_v2(&bytes, c->device);
	b->memory_bytes = b->buffer_max = bytes;
	b->group = TENSOR_THREADS;
	b->word = 16;
}

static void *open_nvrtc(void)
{
	static const char *const name[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
					    "libnvrtc.so" };
	const char *given = getenv("AON_NVRTC");
	void *lib = NULL;

	if (given && *given)
		return dlopen(given, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; !lib && i < sizeof(name) / sizeof(name[0]); i++)
		lib = dlopen(name[i], RTLD_NOW | RTLD_LOCAL);
	return lib;
}

static int load(struct cuda *c, char *why)
{
	const char *missing = NULL;

	c->driver_lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!c->driver_lib) {
		snprintf(why, BACKEND_WHY, "no libcuda.so.1: the NVIDIA driver is not installed");
		return -ENOENT;
	}
	c->nvrtc_lib = open_nvrtc();
	if (!c->nvrtc_lib) {
		snprintf(why, BACKEND_WHY,
			 "no libnvrtc, which compiles the kernels: pip install "
			 "nvidia-cuda-nvrtc, and name it in AON_NVRTC");
		return -ENOENT;
	}
#define F(name, ...)                                      \
	*(void **)&c->name = dlsym(c->driver_lib, #name); \
	missing = c->name ? missing : #name;
	DRIVER(F)
#undef F
#define F(name, ...)                                     \
	*(void **)&c->name = dlsym(c->nvrtc_lib, #name); \
	missing = c->name ? missing : #name;
	NVRTC(F)
#undef F
	if (missing)
		snprintf(why, BACKEND_WHY, "libcuda or libnvrtc has no %s", missing);
	return missing ? -ENOENT : 0;
}

int cuda_open(struct backend **out, uint32_t index, char *why)
{
	struct cuda *c = calloc(1, sizeof(*c));
	int err = c ? load(c, why) : -ENOMEM;

	if (err)
		goto free_it;
	c->b.ops = &ops;
	err = c->cuInit(0);
	err = err ? err : c->cuDeviceGet(&c->device, (int)index);
	err = err ? err : c->cuDevicePrimaryCtxRetain(&c->ctx, c->device);
	err = err ? err : c->cuCtxSetCurrent(c->ctx);
	if (err) {
		failed(c, err, "there is no CUDA device %u", index);
		snprintf(why, BACKEND_WHY, "%s", c->b.why);
		err = -ENOENT;
		goto free_it;
	}
	describe(c);
	*out = &c->b;
	return 0;
free_it:
	if (c)
		close_all(&c->b);
	return err;
}
