/* SPDX-License-Identifier: Apache-2.0 */
/* opencl.c - a device behind OpenCL; see backend.h. A GPU if there is one, else a CPU. */
#include "measure/backend.h"

#ifndef HAVE_CL
#include <errno.h>
#include <stdio.h>

int opencl_open(struct backend **out, uint32_t index, char *why)
{
	(void)out, (void)index;
	snprintf(why, BACKEND_WHY, "aon was built without OpenCL's headers");
	return -ENOENT;
}
#else
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "measure/kernels.h"

#define DEVICES_MAX 16u

/* The functions that are used, by one list. */
/* clang-format off */
#define CALLS(F) \
	F(clGetPlatformIDs) F(clGetDeviceIDs) F(clGetDeviceInfo) F(clCreateContext) F(clReleaseContext) \
	F(clCreateCommandQueue) F(clReleaseCommandQueue) F(clCreateBuffer) F(clReleaseMemObject) \
	F(clCreateProgramWithSource) F(clBuildProgram) F(clGetProgramBuildInfo) F(clReleaseProgram) \
	F(clCreateKernel) F(clReleaseKernel) F(clSetKernelArg) F(clEnqueueNDRangeKernel) \
	F(clEnqueueWriteBuffer) F(clEnqueueReadBuffer) F(clEnqueueFillBuffer) F(clFinish)
/* clang-format on */

struct opencl {
	struct backend b;
	void *lib;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_mem buffer;
	cl_program program;
	cl_kernel kernel;
	char kernel_name[16];
	void *host;      /* what is copied in */
	uint32_t tracks; /* floats that the device likes at once: a CPU's vector */
	bool fp64, fp16;
#define F(name)     __typeof__(&name) name;
	CALLS(F)
#undef F
};

static struct opencl *of(struct backend *b)
{
	return (struct opencl *)b;
}

static int __attribute__((format(printf, 3, 4)))
failed(struct opencl *o, int code, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	n = (size_t)vsnprintf(o->b.why, BACKEND_WHY, fmt, ap);
	va_end(ap);
	if (n < BACKEND_WHY)
		snprintf(o->b.why + n, BACKEND_WHY - n, ": OpenCL error %d", code);
	return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY ? -ENOMEM
											 : -EIO;
}

/* --- the program --- */

#define COMMON                                                                                  \
	"#define KERNEL(name) __kernel void name\n#define GLOBAL __global\n"                    \
	"#define ITEM (unsigned)get_local_id(0)\n#define ITEMS (unsigned)get_local_size(0)\n"   \
	"#define GROUP (unsigned)get_group_id(0)\n#define GROUPS (unsigned)get_num_groups(0)\n" \
	"#define MAD(x, a, b) fma(x, a, b)\n#define ADD(x, y) ((x) + (y))\n"                    \
	"#define VADD(x, y) ((x) + (y))\n#define VMAD(s, a, x) fma((V)(a), x, s)\n"
#define READS(v)  "#define V " v "\n#define VZERO (" v ")(0)\n"
#define COUNTS(t) "#define T " t "\n#define SET(u) (" t ")(u)\n"
#define FP64      "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
#define FP16      "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"

/* A CPU counts in vectors, as wide as its own; a GPU in what a work-item has. */
static const struct row {
	enum gpu_type type;
	uint32_t tracks; /* 0: of a GPU */
	struct variant v;
} row[] = {
	/* clang-format off */
	{ GPU_FP32, 0,  { COMMON READS("float4")  COUNTS("float"),           2 } },
	{ GPU_FP32, 4,  { COMMON READS("float4")  COUNTS("float4"),          8 } },
	{ GPU_FP32, 8,  { COMMON READS("float8")  COUNTS("float8"),         16 } },
	{ GPU_FP32, 16, { COMMON READS("float16") COUNTS("float16"),        32 } },
	{ GPU_FP64, 0,  { FP64 COMMON READS("float4") COUNTS("double"),      2 } },
	{ GPU_FP64, 4,  { FP64 COMMON READS("float4") COUNTS("double2"),     4 } },
	{ GPU_FP64, 8,  { FP64 COMMON READS("float8") COUNTS("double4"),     8 } },
	{ GPU_FP64, 16, { FP64 COMMON READS("float16") COUNTS("double8"),   16 } },
	{ GPU_FP16, 0,  { FP16 COMMON READS("float4") COUNTS("half2"),       4 } },
	{ GPU_FP16, 4,  { FP16 COMMON READS("float4") COUNTS("half8"),      16 } },
	{ GPU_FP16, 8,  { FP16 COMMON READS("float8") COUNTS("half16"),     32 } },
	{ GPU_FP16, 16, { FP16 COMMON READS("float16") COUNTS("half16"),    32 } },
	/* clang-format on */
};

static bool variant(const struct backend *b, enum gpu_type t, bool tensor, struct variant *out)
{
	const struct opencl *o = (const struct opencl *)b;

	if (tensor || (t == GPU_FP64 && !o->fp64) || (t == GPU_FP16 && !o->fp16))
		return false;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (row[i].type == t && row[i].tracks == o->tracks) {
			*out = row[i].v;
			return true;
		}
	return false;
}

static void drop_kernel(struct opencl *o)
{
	if (o->kernel)
		o->clReleaseKernel(o->kernel);
	o->kernel = NULL;
	o->kernel_name[0] = '\0';
}

static void drop_program(struct opencl *o)
{
	drop_kernel(o);
	if (o->program)
		o->clReleaseProgram(o->program);
	o->program = NULL;
}

static int build(struct backend *b, const struct variant *v)
{
	struct opencl *o = of(b);
	const char *text[] = { v->text, kernels_source };
	char log[256] = "";
	cl_int err;

	drop_program(o);
	o->program = o->clCreateProgramWithSource(o->context, 2, text, NULL, &err);
	if (!o->program)
		return failed(o, err, "no program");
	err = o->clBuildProgram(o->program, 1, &o->device, "-cl-mad-enable", NULL, NULL);
	if (err != CL_SUCCESS) {
		o->clGetProgramBuildInfo(o->program, o->device, CL_PROGRAM_BUILD_LOG,
					 sizeof(log) - 1, log, NULL);
		log[strcspn(log, "\n")] = '\0';
		return failed(o, err, "the kernels do not compile: %s", log);
	}
	return 0;
}

/* --- work --- */

static int buffer(struct backend *b, uint64_t bytes)
{
	struct opencl *o = of(b);
	cl_uint zero = 0;
	cl_int err;

	if (o->buffer)
		o->clReleaseMemObject(o->buffer);
	o->buffer = o->clCreateBuffer(o->context, CL_MEM_READ_WRITE, bytes, NULL, &err);
	if (!o->buffer)
		return failed(o, err, "no buffer of %llu bytes", (unsigned long long)bytes);
	drop_kernel(o); /* it has the old one */
	err = o->clEnqueueFillBuffer(o->queue, o->buffer, &zero, sizeof(zero), 0, bytes, 0, NULL,
				     NULL);
	return err ? failed(o, err, "a buffer cannot be filled") : 0;
}

static int choose(struct opencl *o, const char *kernel)
{
	cl_int err;

	if (!strcmp(o->kernel_name, kernel))
		return 0;
	drop_kernel(o);
	o->kernel = o->clCreateKernel(o->program, kernel, &err);
	if (!o->kernel)
		return failed(o, err, "no kernel %s", kernel);
	snprintf(o->kernel_name, sizeof(o->kernel_name), "%s", kernel);
	err = o->clSetKernelArg(o->kernel, 0, sizeof(o->buffer), &o->buffer);
	return err ? failed(o, err, "the buffer of %s", kernel) : 0;
}

static int launch(struct backend *b, const char *kernel, uint32_t groups, uint32_t n, uint32_t reps)
{
	struct opencl *o = of(b);
	size_t local = b->group, global = local * groups;
	cl_uint arg[] = { n, reps, 0 };
	int err = choose(o, kernel);

	for (cl_uint i = 0; !err && i < 3; i++)
		if (o->clSetKernelArg(o->kernel, i + 1, sizeof(arg[i]), &arg[i]))
			err = failed(o, 0, "an argument of %s", kernel);
	if (err)
		return err;
	err = o->clEnqueueNDRangeKernel(o->queue, o->kernel, 1, NULL, &global, &local, 0, NULL,
					NULL);
	return err ? failed(o, err, "%s cannot be launched", kernel) : 0;
}

static int finish(struct backend *b)
{
	struct opencl *o = of(b);
	int err = o->clFinish(o->queue);

	return err ? failed(o, err, "the device does not finish") : 0;
}

static int need_host(struct opencl *o, uint64_t bytes)
{
	if (bytes > BACKEND_HOST)
		return -EINVAL;
	o->host = o->host ? o->host : calloc(1, BACKEND_HOST);
	return o->host ? 0 : -ENOMEM;
}

static int copy_in(struct backend *b, uint64_t bytes)
{
	struct opencl *o = of(b);
	int err = need_host(o, bytes);

	if (err)
		return err;
	err = o->clEnqueueWriteBuffer(o->queue, o->buffer, CL_TRUE, 0, bytes, o->host, 0, NULL,
				      NULL);
	return err ? failed(o, err, "no copy to the device") : 0;
}

static int copy_out(struct backend *b, uint64_t from, uint64_t bytes)
{
	struct opencl *o = of(b);
	int err = need_host(o, bytes);

	if (err)
		return err;
	err = o->clEnqueueReadBuffer(o->queue, o->buffer, CL_TRUE, from, bytes, o->host, 0, NULL,
				     NULL);
	return err ? failed(o, err, "no copy from the device") : 0;
}

static void *host(struct backend *b)
{
	return of(b)->host;
}

static uint64_t address(struct backend *b)
{
	(void)b;
	return 0;
}

/* --- the device --- */

static void close_all(struct backend *b)
{
	struct opencl *o = of(b);

	if (o->context) {
		drop_program(o);
		if (o->buffer)
			o->clReleaseMemObject(o->buffer);
		if (o->queue)
			o->clReleaseCommandQueue(o->queue);
		o->clReleaseContext(o->context);
	}
	/* The library stays: drivers do not survive being unloaded. */
	free(o->host);
	free(o);
}

static const struct backend_ops ops = { "OpenCL", variant,  build, buffer,  launch,   finish,
					copy_in,  copy_out, host,  address, close_all };

/* The device `index` of those of all platforms: GPUs come first. */
static bool find_device(struct opencl *o, uint32_t index)
{
	static const cl_device_type type[] = { CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR,
					       CL_DEVICE_TYPE_CPU };
	cl_platform_id platform[DEVICES_MAX];
	cl_device_id device[DEVICES_MAX];
	cl_uint platforms = 0, n;

	if (o->clGetPlatformIDs(DEVICES_MAX, platform, &platforms))
		return false;
	for (size_t t = 0; t < 2; t++)
		for (cl_uint p = 0; p < platforms && p < DEVICES_MAX; p++) {
			if (o->clGetDeviceIDs(platform[p], type[t], DEVICES_MAX, device, &n))
				continue;
			n = n < DEVICES_MAX ? n : DEVICES_MAX;
			if (index < n) {
				o->device = device[index];
				return true;
			}
			index -= n;
		}
	return false;
}

static uint64_t info(const struct opencl *o, cl_device_info what, size_t bytes)
{
	uint64_t v = 0;

	return o->clGetDeviceInfo(o->device, what, bytes, &v, NULL) ? 0 : v;
}

static void describe(struct opencl *o)
{
	char extensions[8192] = "";
	struct backend *b = &o->b;

	o->clGetDeviceInfo(o->device, CL_DEVICE_NAME, sizeof(b->name) - 1, b->name, NULL);
	if (!*b->name) { /* longer than there is room */
		char name[512] = "";

		o->clGetDeviceInfo(o->device, CL_DEVICE_NAME, sizeof(name) - 1, name, NULL);
		snprintf(b->name, sizeof(b->name), "%.63s", *name ? name : "OpenCL device");
	}
	o->clGetDeviceInfo(o->device, CL_DRIVER_VERSION, sizeof(b->driver) - 1, b->driver, NULL);
	o->clGetDeviceInfo(o->device, CL_DEVICE_EXTENSIONS, sizeof(extensions) - 1, extensions,
			   NULL);
	o->fp64 = strstr(extensions, "cl_khr_fp64");
	o->fp16 = strstr(extensions, "cl_khr_fp16");
	b->cpu = info(o, CL_DEVICE_TYPE, sizeof(cl_device_type)) & CL_DEVICE_TYPE_CPU;
	b->units = (uint32_t)info(o, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint));
	b->clock_mhz = (uint32_t)info(o, CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof(cl_uint));
	b->memory_bytes = info(o, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong));
	b->buffer_max = info(o, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong));
	b->cache_bytes = info(o, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof(cl_ulong));
	o->tracks = (uint32_t)info(o, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof(cl_uint));
	o->tracks = !b->cpu ? 0 : o->tracks >= 16 ? 16 : o->tracks >= 8 ? 8 : 4;
	b->group = b->cpu ? 1 : 256;
	b->word = 4 * (o->tracks ? o->tracks : 4);
}

static int load(struct opencl *o, char *why)
{
	o->lib = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!o->lib) {
		snprintf(why, BACKEND_WHY,
			 "no libOpenCL.so.1: install an OpenCL driver and its loader "
			 "(apt install ocl-icd-libopencl1)");
		return -ENOENT;
	}
#define F(name)                                                                \
	*(void **)&o->name = dlsym(o->lib, #name);                             \
	if (!o->name) {                                                        \
		snprintf(why, BACKEND_WHY, "libOpenCL.so.1 has no %s", #name); \
		return -ENOENT;                                                \
	}
	CALLS(F)
#undef F
	return 0;
}

int opencl_open(struct backend **out, uint32_t index, char *why)
{
	struct opencl *o = calloc(1, sizeof(*o));
	int err = o ? load(o, why) : -ENOMEM;
	cl_int code;

	if (err)
		goto free_it;
	o->b.ops = &ops;
	err = -ENOENT;
	if (!find_device(o, index)) {
		snprintf(why, BACKEND_WHY,
			 index ? "there is no OpenCL device %u" : "there is no OpenCL device",
			 index);
		goto free_it;
	}
	describe(o);
	o->context = o->clCreateContext(NULL, 1, &o->device, NULL, NULL, &code);
	o->queue = o->context ? o->clCreateCommandQueue(o->context, o->device, 0, &code) : NULL;
	if (!o->queue || !o->b.units) {
		snprintf(why, BACKEND_WHY, "OpenCL gives no queue: error %d", code);
		err = -EIO;
		goto free_it;
	}
	*out = &o->b;
	return 0;
free_it:
	if (o)
		close_all(&o->b);
	return err;
}
#endif
