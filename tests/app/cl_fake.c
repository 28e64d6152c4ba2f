/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cl_fake.c - plays loader and driver to the OpenCL layer, and does what no real one does on demand.
 *
 *	cl_fake LAYER race | timer | refuses | reenters | stuck | twice | storm | cycles
 *
 * Prints {"kernels":K,"from_ns":F,"to_ns":T}: K commands were asked for between F and T.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define AHEAD 123456789000ll /* of the host's clock: the device's */

struct _cl_event {
	_Atomic unsigned asked, refs;
	uint64_t at;
};

static const cl_icd_dispatch *layer;
static cl_command_queue queue;
static _Atomic uint64_t kernels;
static _Atomic int entered, go_on = 1, nested;
static int races, timer, refuses, reenters, plain;
static char platform, device, handles[2], kernel;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- the driver --- */

static cl_int get_platforms(cl_uint n, cl_platform_id *p, cl_uint *used)
{
	(void)n;
	*p = (cl_platform_id)(void *)&platform;
	*used = 1;
	return 0;
}

static cl_int get_devices(cl_platform_id p, cl_device_type t, cl_uint n, cl_device_id *d,
			  cl_uint *used)
{
	(void)p;
	(void)t;
	(void)n;
	*d = (cl_device_id)(void *)&device;
	*used = 1;
	return 0;
}

static cl_int get_timer(cl_device_id d, cl_ulong *dev, cl_ulong *host)
{
	(void)d;
	*host = now();
	*dev = *host + AHEAD;
	return timer ? 0 : CL_INVALID_OPERATION;
}

static cl_command_queue create(cl_context c, cl_device_id d, cl_command_queue_properties p,
			       cl_int *err)
{
	(void)c;
	(void)d;
	if (refuses && p & CL_QUEUE_PROFILING_ENABLE) {
		*err = CL_INVALID_QUEUE_PROPERTIES;
		return NULL;
	}
	plain = !(p & CL_QUEUE_PROFILING_ENABLE);
	*err = 0;
	return (cl_command_queue)(void *)&handles[0];
}

static cl_int release_queue(cl_command_queue q)
{
	(void)q;
	return 0;
}

static cl_int kernel_info(cl_kernel k, cl_kernel_info what, size_t cap, void *out, size_t *used)
{
	(void)k;
	(void)what;
	(void)cap;
	memcpy(out, "fake", 5);
	*used = 5;
	return 0;
}

static cl_int build(cl_program p, cl_uint n, const cl_device_id *d, const char *o,
		    void(CL_CALLBACK *f)(cl_program, void *), void *a)
{
	(void)p;
	(void)n;
	(void)d;
	(void)o;
	(void)f;
	(void)a;
	return 0;
}

static cl_int enqueue(cl_command_queue q, cl_kernel k, cl_uint dim, const size_t *off,
		      const size_t *global, const size_t *local, cl_uint waits,
		      const cl_event *wait, cl_event *event)
{
	(void)q;
	(void)k;
	(void)dim;
	(void)off;
	(void)global;
	(void)local;
	(void)waits;
	(void)wait;
	if (event) {
		*event = calloc(1, sizeof(**event));
		atomic_store(&(*event)->refs, 1);
		(*event)->at = now();
	}
	return 0;
}

static cl_int finish(cl_command_queue q)
{
	(void)q;
	return 0;
}

static cl_int retain(cl_event e)
{
	atomic_fetch_add(&e->refs, 1);
	return 0;
}

static void launch(void)
{
	static const size_t global = 64, local = 16;

	layer->clEnqueueNDRangeKernel(queue, (cl_kernel)(void *)&kernel, 1, NULL, &global, &local,
				      0, NULL, NULL);
	atomic_fetch_add(&kernels, 1);
}

/* A driver may call the app back here, which may do anything. */
static cl_int release(cl_event e)
{
	if (reenters && atomic_fetch_add(&nested, 1) < 1000) {
		launch();
		layer->clFinish(queue);
	}
	if (atomic_fetch_sub(&e->refs, 1) == 1)
		free(e);
	return 0;
}

static cl_int event_info(cl_event e, cl_event_info what, size_t cap, void *out, size_t *used)
{
	(void)e;
	(void)cap;
	(void)used;
	if (what == CL_EVENT_COMMAND_EXECUTION_STATUS)
		*(cl_int *)out = CL_COMPLETE;
	return 0;
}

static cl_int profiling(cl_event e, cl_profiling_info what, size_t cap, void *out, size_t *used)
{
	uint64_t at = e->at + (timer ? AHEAD : 0);

	(void)cap;
	(void)used;
	atomic_store(&entered, 1);
	while (!atomic_load(&go_on))
		usleep(1000);
	if (races && what == CL_PROFILING_COMMAND_END && !atomic_fetch_add(&e->asked, 1))
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	*(cl_ulong *)out = at + (what - CL_PROFILING_COMMAND_QUEUED) * 100;
	return plain ? CL_PROFILING_INFO_NOT_AVAILABLE : 0;
}

/* --- the cases --- */

static void *finisher(void *arg)
{
	(void)arg;
	layer->clFinish(queue);
	return NULL;
}

/* One thread is held up while it reads events: nobody waits for it, and what does not fit is counted. */
static void stuck(void)
{
	pthread_t t;

	launch();
	atomic_store(&entered, 0);
	atomic_store(&go_on, 0);
	pthread_create(&t, NULL, finisher, NULL);
	while (!atomic_load(&entered))
		usleep(1000);
	for (int i = 0; i < 40000; i++)
		launch();
	layer->clFinish(queue);
	atomic_store(&go_on, 1);
	pthread_join(t, NULL);
}

static void *launcher(void *arg)
{
	(void)arg;
	for (int i = 0; i < 5000; i++) {
		launch();
		if (i % 700 == 0)
			layer->clFinish(queue);
	}
	return NULL;
}

static void storm(void)
{
	pthread_t t[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, launcher, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
}

static void *lib;

/* A real program takes longer to its first command than aond to its answer. */
static int wait_for_aond(void)
{
	void *aon = dlopen("libaon.so.0", RTLD_NOW | RTLD_NOLOAD);
	int (*join)(unsigned) = aon ? (int (*)(unsigned))dlsym(aon, "aon_join") : NULL;

	return join ? join(5000) : -1;
}

static int load(const char *path)
{
	static cl_icd_dispatch driver = {
		.clGetPlatformIDs = get_platforms,
		.clGetDeviceIDs = get_devices,
		.clGetDeviceAndHostTimer = get_timer,
		.clCreateCommandQueue = create,
		.clReleaseCommandQueue = release_queue,
		.clGetKernelInfo = kernel_info,
		.clBuildProgram = build,
		.clEnqueueNDRangeKernel = enqueue,
		.clFinish = finish,
		.clRetainEvent = retain,
		.clReleaseEvent = release,
		.clGetEventInfo = event_info,
		.clGetEventProfilingInfo = profiling,
	};
	pfn_clInitLayer init;
	cl_uint n;

	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	init = lib ? (pfn_clInitLayer)dlsym(lib, "clInitLayer") : NULL;
	if (!init || init(sizeof(driver) / sizeof(void *), &driver, &n, &layer)) {
		fprintf(stderr, "cl_fake: %s\n", lib ? "no layer" : dlerror());
		return -1;
	}
	return wait_for_aond();
}

/* A queue, some commands, and the layer is let go. */
static int round_trip(void)
{
	cl_int err;

	queue = layer->clCreateCommandQueue(NULL, (cl_device_id)(void *)&device, 0, &err);
	for (int i = 0; i < 10; i++)
		launch();
	layer->clFinish(queue);
	layer->clReleaseCommandQueue(queue);
	return dlclose(lib);
}

int main(int argc, char *argv[])
{
	const char *how = argc > 2 ? argv[2] : "";
	uint64_t from = now();
	cl_int err = 0;

	races = !strcmp(how, "race");
	timer = !strcmp(how, "timer");
	refuses = !strcmp(how, "refuses");
	for (int i = 0; !strcmp(how, "cycles") && i < 63; i++)
		if (load(argv[1]) || round_trip())
			return 1;
	if (argc < 3 || load(argv[1]))
		return 1;
	queue = layer->clCreateCommandQueue(NULL, (cl_device_id)(void *)&device, 0, &err);
	if (!queue || err)
		return 1;
	if (!strcmp(how, "stuck"))
		stuck();
	else if (!strcmp(how, "twice"))
		for (int i = 0; i < 2; i++)
			stuck();
	else if (!strcmp(how, "storm"))
		storm();
	else
		for (int i = 0; i < 1000; i++)
			launch();
	reenters = !strcmp(how, "reenters");
	layer->clFinish(queue);
	layer->clFinish(queue);
	reenters = 0;
	layer->clFinish(queue);
	layer->clReleaseCommandQueue(queue);
	printf("{\"kernels\":%llu,\"from_ns\":%llu,\"to_ns\":%llu}\n", (unsigned long long)kernels,
	       (unsigned long long)from, (unsigned long long)now());
	return 0;
}
