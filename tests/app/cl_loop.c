/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cl_loop.c - OpenCL programs of every temper, which count what they ask for.
 *
 *	cl_loop CASE [N]
 *
 * Prints {"result":R,"kernels":K,"copies":C,"memsets":M,"bad":B,...}: R must not depend on the
 * layer, K, C and M are what the layer must have seen, B counts answers that are wrong.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "filter.h"

#define ITEMS 64

static const char *const source =
	"__kernel void add(__global int *a) { a[get_global_id(0)] += 1; }"
	"__kernel void twice(__global int *a) { a[get_global_id(0)] *= 2; }"
	"__kernel void grind(__global int *a) { int x = a[get_global_id(0)];"
	" for (int i = 0; i < 50000; i++) x = x * 1103515245 + 12345; a[get_global_id(0)] = x; }";

static cl_context context;
static cl_device_id device;
static cl_program program;
static _Atomic uint64_t kernels, copies, memsets, bad, sum;
static unsigned n = 1000;

static void must(cl_int r, const char *what)
{
	if (r) {
		fprintf(stderr, "cl_loop: %s: %d\n", what, r);
		exit(1);
	}
}

static void check(int right, const char *what)
{
	if (!right) {
		fprintf(stderr, "cl_loop: wrong: %s\n", what);
		atomic_fetch_add(&bad, 1);
	}
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void setup(void)
{
	cl_platform_id platform;
	cl_int r;

	must(clGetPlatformIDs(1, &platform, NULL), "platform");
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &r);
	must(r, "context");
	program =
		clCreateProgramWithSource(context, 1, (const char **)(uintptr_t)&source, NULL, &r);
	must(r, "program");
	must(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
}

static cl_command_queue queue_new(cl_command_queue_properties props)
{
	cl_int r;
	cl_command_queue q = clCreateCommandQueue(context, device, props, &r);

	must(r, "queue");
	return q;
}

struct work {
	cl_kernel kernel;
	cl_mem mem;
};

static struct work work_new(const char *name)
{
	static const int zero[ITEMS];
	struct work w;
	cl_int r;

	w.kernel = clCreateKernel(program, name, &r);
	must(r, "kernel");
	w.mem = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(zero),
			       (void *)(uintptr_t)zero, &r);
	must(r, "buffer");
	must(clSetKernelArg(w.kernel, 0, sizeof(w.mem), &w.mem), "argument");
	return w;
}

static void work_free(struct work *w)
{
	clReleaseKernel(w->kernel);
	clReleaseMemObject(w->mem);
}

static void launch(cl_command_queue q, const struct work *w, cl_uint waits, const cl_event *wait,
		   cl_event *event)
{
	size_t global = ITEMS, local = ITEMS / 4;

	must(clEnqueueNDRangeKernel(q, w->kernel, 1, NULL, &global, &local, waits, wait, event),
	     "launch");
	atomic_fetch_add(&kernels, 1);
}

/* Blocks, and adds what the buffer holds to the result. */
static void take(cl_command_queue q, const struct work *w)
{
	int v[ITEMS];

	must(clEnqueueReadBuffer(q, w->mem, CL_TRUE, 0, sizeof(v), v, 0, NULL, NULL), "read");
	atomic_fetch_add(&copies, 1);
	for (int i = 0; i < ITEMS; i++)
		atomic_fetch_add(&sum, (uint64_t)(unsigned)v[i]);
}

/* --- no event, with and without profiling --- */

static void loop(cl_command_queue_properties props)
{
	cl_command_queue q = queue_new(props);
	struct work w = work_new("add");
	size_t size = 0;
	cl_command_queue_properties seen = ~0ull;

	for (unsigned i = 0; i < n; i++)
		launch(q, &w, 0, NULL, NULL);
	must(clFinish(q), "finish");
	take(q, &w);
	must(clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES, sizeof(seen), &seen, &size), "info");
	check(seen == props && size == sizeof(seen), "properties are the app's");
	work_free(&w);
	clReleaseCommandQueue(q);
}

static void plain(void)
{
	loop(0);
}

static void profiled(void)
{
	loop(CL_QUEUE_PROFILING_ENABLE);
}

/* Queues by properties: the array is the app's, too. */
static void properties(void)
{
	static const cl_queue_properties none[] = { 0 },
					 some[] = { CL_QUEUE_PROPERTIES,
						    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0 };
	const cl_queue_properties *const lists[] = { NULL, none, some };
	const size_t bytes[] = { 0, sizeof(none), sizeof(some) };

	for (int i = 0; i < 3; i++) {
		cl_int r;
		cl_command_queue q =
			clCreateCommandQueueWithProperties(context, device, lists[i], &r);
		struct work w = work_new("add");
		cl_queue_properties got[8];
		size_t size = 99;

		must(r, "queue with properties");
		launch(q, &w, 0, NULL, NULL);
		clFinish(q);
		take(q, &w);
		r = clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES_ARRAY, sizeof(got), got, &size);
		check(r == 0 && size == bytes[i] && (!size || !memcmp(got, lists[i], size)),
		      "the array of properties is the app's");
		work_free(&w);
		clReleaseCommandQueue(q);
	}
}

/* --- the app's own events --- */

static cl_uint refs(cl_event e)
{
	cl_uint v = 0;

	must(clGetEventInfo(e, CL_EVENT_REFERENCE_COUNT, sizeof(v), &v, NULL), "references");
	return v;
}

/* The driver lets go of some of its own a moment after the command is done. */
static cl_uint settled_refs(cl_event e)
{
	usleep(5000);
	return refs(e);
}

static void one_event(cl_command_queue q, const struct work *w, int profiles)
{
	cl_ulong t[4] = { 0 };
	cl_int r = 0;
	cl_event e;

	launch(q, w, 0, NULL, &e);
	must(clWaitForEvents(1, &e), "wait");
	for (int i = 0; i < 4; i++)
		r |= clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_QUEUED + (cl_profiling_info)i,
					     sizeof(t[i]), &t[i], NULL);
	if (profiles)
		check(!r && t[0] && t[0] <= t[1] && t[1] <= t[2] && t[2] <= t[3],
		      "four times in order");
	else
		check(r == CL_PROFILING_INFO_NOT_AVAILABLE, "no times without profiling");
	must(clRetainEvent(e), "retain");
	atomic_fetch_add(&sum, settled_refs(e));
	must(clReleaseEvent(e), "release");
	atomic_fetch_add(&sum, settled_refs(e));
	must(clReleaseEvent(e), "release");
}

static void CL_CALLBACK called(cl_event e, cl_int status, void *arg)
{
	(void)e;
	(void)status;
	atomic_fetch_add((_Atomic unsigned *)arg, 1);
}

static void events(void)
{
	cl_command_queue q = queue_new(0), p = queue_new(CL_QUEUE_PROFILING_ENABLE);
	struct work w = work_new("add"), v = work_new("add");
	static _Atomic unsigned calls;
	cl_event e;

	for (unsigned i = 0; i < 20; i++) {
		one_event(q, &w, 0);
		one_event(p, &v, 1);
	}
	/* References while the layer certainly has its own: behind an event that nobody has set. */
	cl_event gate = clCreateUserEvent(context, NULL);

	launch(q, &w, 1, &gate, &e);
	must(clSetEventCallback(e, CL_COMPLETE, called, &calls), "callback");
	must(clFlush(q), "flush");
	atomic_fetch_add(&sum, refs(e));
	clRetainEvent(e);
	atomic_fetch_add(&sum, refs(e));
	clReleaseEvent(e);
	must(clSetUserEventStatus(gate, CL_COMPLETE), "set");
	must(clFinish(q), "finish");
	atomic_fetch_add(&sum, settled_refs(e));
	clReleaseEvent(e);
	clReleaseEvent(gate);
	/* Released at once, before it has run. */
	for (unsigned i = 0; i < n; i++) {
		launch(q, &w, 0, NULL, &e);
		clReleaseEvent(e);
	}
	must(clFinish(q), "finish");
	for (int i = 0; i < 200 && !atomic_load(&calls); i++)
		usleep(10000);
	check(atomic_load(&calls) == 1, "the callback came once");
	take(q, &w);
	take(p, &v);
	work_free(&w);
	work_free(&v);
	clReleaseCommandQueue(q);
	clReleaseCommandQueue(p);
}

/* --- copies of all kinds --- */

static void copy(void)
{
	cl_command_queue q = queue_new(0);
	struct work a = work_new("add"), b = work_new("twice");
	const size_t from[3] = { 0, 0, 0 }, box[3] = { 16, 4, 1 };
	int v[ITEMS], seven = 7;

	for (int i = 0; i < ITEMS; i++)
		v[i] = i;
	for (unsigned i = 0; i < 100; i++) {
		must(clEnqueueWriteBuffer(q, a.mem, CL_FALSE, 0, sizeof(v), v, 0, NULL, NULL),
		     "write");
		must(clEnqueueCopyBuffer(q, a.mem, b.mem, 0, 0, sizeof(v), 0, NULL, NULL), "copy");
		launch(q, &b, 0, NULL, NULL);
		must(clEnqueueCopyBufferRect(q, b.mem, a.mem, from, from, box, 16, 64, 16, 64, 0,
					     NULL, NULL),
		     "copy of a box");
		must(clEnqueueFillBuffer(q, a.mem, &seven, sizeof(seven), 0, 16, 0, NULL, NULL),
		     "fill");
		atomic_fetch_add(&copies, 3);
		atomic_fetch_add(&memsets, 1);
		take(q, &a);
		take(q, &b);
	}
	clEnqueueMapBuffer(q, a.mem, CL_TRUE, CL_MAP_READ, 0, sizeof(v), 0, NULL, NULL, NULL);
	atomic_fetch_add(&copies, 1);
	work_free(&a);
	work_free(&b);
	clReleaseCommandQueue(q);
}

/* --- order, user events, failures --- */

static void disorder(void)
{
	cl_command_queue q = queue_new(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	struct work w = work_new("add"), other = work_new("add");
	cl_event gate = clCreateUserEvent(context, NULL), last = NULL;

	launch(q, &other, 1, &gate, NULL);
	for (unsigned i = 0; i < n; i++) {
		cl_event e;

		launch(q, &w, last ? 1 : 0, last ? &last : NULL, &e);
		if (last)
			clReleaseEvent(last);
		last = e;
	}
	must(clWaitForEvents(1, &last), "wait");
	clReleaseEvent(last);
	must(clSetUserEventStatus(gate, CL_COMPLETE), "set");
	must(clFinish(q), "finish");
	take(q, &w);
	take(q, &other);
	clReleaseEvent(gate);
	work_free(&w);
	work_free(&other);
	clReleaseCommandQueue(q);
}

static void blocked(void)
{
	cl_command_queue q = queue_new(0);
	struct work w = work_new("add");
	cl_event gate = clCreateUserEvent(context, NULL);

	launch(q, &w, 1, &gate, NULL);
	for (unsigned i = 0; i < n; i++)
		launch(q, &w, 0, NULL, NULL);
	must(clFlush(q), "flush");
	must(clSetUserEventStatus(gate, CL_COMPLETE), "set");
	must(clFinish(q), "finish");
	take(q, &w);
	clReleaseEvent(gate);
	work_free(&w);
	clReleaseCommandQueue(q);
}

/* A command that will never run: it must be counted, and nothing may wait for it. */
static void failing(void)
{
	cl_command_queue q = queue_new(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE), good = queue_new(0);
	struct work w = work_new("add"), lost = work_new("add");
	cl_event gate = clCreateUserEvent(context, NULL), e;

	launch(q, &lost, 1, &gate, &e);
	must(clSetUserEventStatus(gate, -1), "set");
	for (unsigned i = 0; i < n; i++)
		launch(good, &w, 0, NULL, NULL);
	clFinish(q);
	must(clFinish(good), "finish");
	take(good, &w);
	atomic_fetch_sub(&kernels, 1);
	clReleaseEvent(e);
	clReleaseEvent(gate);
	clReleaseCommandQueue(q);
	clReleaseCommandQueue(good);
}

/* --- names: handles come again --- */

static void names(void)
{
	cl_command_queue q = queue_new(0);

	for (unsigned i = 0; i < n; i++) {
		struct work w = work_new(i % 3 ? "add" : "twice");

		launch(q, &w, 0, NULL, NULL);
		work_free(&w);
	}
	must(clFinish(q), "finish");
	clReleaseCommandQueue(q);
}

/* --- many queues, many threads --- */

static void *one_thread(void *shared)
{
	cl_command_queue q = shared ? shared : queue_new(0);
	struct work w = work_new("add");

	for (unsigned i = 0; i < n; i++) {
		launch(q, &w, 0, NULL, NULL);
		if (i % 100 == 99)
			must(clFinish(q), "finish");
	}
	must(clFinish(q), "finish");
	take(q, &w);
	work_free(&w);
	if (!shared)
		clReleaseCommandQueue(q);
	return NULL;
}

static void in_threads(cl_command_queue shared)
{
	pthread_t t[8];

	for (int i = 0; i < 8; i++)
		if (pthread_create(&t[i], NULL, one_thread, shared))
			exit(1);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
}

static void threads(void)
{
	in_threads(NULL);
}

static void shared(void)
{
	cl_command_queue q = queue_new(0);

	in_threads(q);
	clReleaseCommandQueue(q);
}

/* Retained, released in another order, before their work is done; the next ones come at once. */
static void queues(void)
{
	cl_command_queue q[50], last = queue_new(0);
	struct work w = work_new("add");

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 50; i++) {
			q[i] = queue_new(i % 2 ? CL_QUEUE_PROFILING_ENABLE : 0);
			must(clRetainCommandQueue(q[i]), "retain");
			for (int k = 0; k < 10; k++)
				launch(q[i], &w, 0, NULL, NULL);
			must(clFlush(q[i]), "flush");
		}
		for (int i = 49; i >= 0; i--)
			clReleaseCommandQueue(q[i]);
		for (int i = 0; i < 50; i++)
			clReleaseCommandQueue(q[i]);
		if (round % 4 == 3)
			usleep(20000);
	}
	usleep(200000);
	launch(last, &w, 0, NULL, NULL);
	must(clFinish(last), "finish");
	clReleaseCommandQueue(queue_new(0)); /* looks after those that were left */
	work_free(&w);
	clReleaseCommandQueue(last);
}

/* Nothing is finished, nothing is released. */
static void leaves(void)
{
	cl_command_queue q = queue_new(0);
	struct work w = work_new("add");

	for (unsigned i = 0; i < n; i++)
		launch(q, &w, 0, NULL, NULL);
	must(clFlush(q), "flush");
	usleep(300000);
}

/* Children do what children do; none touches OpenCL, all end by exit(). */
static void forks(void)
{
	cl_command_queue q = queue_new(0);
	struct work w = work_new("add");

	for (unsigned i = 0; i < 20; i++) {
		pid_t pid;
		int status = 1;

		for (unsigned k = 0; k < 50; k++)
			launch(q, &w, 0, NULL, NULL);
		pid = fork();
		if (!pid) {
			cl_uint v = 0;

			clGetCommandQueueInfo(q, CL_QUEUE_REFERENCE_COUNT, sizeof(v), &v, NULL);
			exit(v ? 0 : 1);
		}
		waitpid(pid, &status, 0);
		check(status == 0, "a child ends well");
	}
	must(clFinish(q), "finish");
	take(q, &w);
	work_free(&w);
	clReleaseCommandQueue(q);
}

/* From the filter on, whoever talks to a daemon kills the process. */
static void filtered(void)
{
	static char out[4096];
	cl_command_queue q = queue_new(0);
	struct work w = work_new("add");

	setvbuf(stdout, out, _IOFBF, sizeof(out));
	launch(q, &w, 0, NULL, NULL);
	must(clFinish(q), "finish");
	take(q, &w);
	check(!put_on_filter(), "the filter is on");
	for (unsigned i = 0; i < n; i++)
		launch(q, &w, 0, NULL, NULL);
	must(clFinish(q), "finish");
	take(q, &w);
	work_free(&w);
	clReleaseCommandQueue(q);
}

/* Until it is killed. */
static void storm(void)
{
	puts("{}");
	fflush(stdout);
	for (;;)
		shared();
}

/* Batches of 200 for the benchmark: the least time for an enqueue, and with finish. */
static void bench(void)
{
	cl_command_queue q = queue_new(0);
	struct work w = work_new("add");
	uint64_t ask = UINT64_MAX, all = UINT64_MAX;

	for (unsigned i = 0; i < n; i++) {
		uint64_t t0 = now_ns(), t1, t2;

		for (int k = 0; k < 200; k++)
			launch(q, &w, 0, NULL, NULL);
		t1 = now_ns();
		must(clFinish(q), "finish");
		t2 = now_ns();
		ask = t1 - t0 < ask ? t1 - t0 : ask;
		all = t2 - t0 < all ? t2 - t0 : all;
	}
	printf("{\"enqueue_ns\":%.1f,\"finish_ns\":%.1f}\n", (double)ask / 200, (double)all / 200);
	work_free(&w);
	clReleaseCommandQueue(q);
}

/* Kernels of milliseconds, for n tenths of a second. */
static void heavy(void)
{
	cl_command_queue q = queue_new(0);
	struct work w = work_new("grind");
	uint64_t until = now_ns() + n * 100000000ull;

	while (now_ns() < until) {
		launch(q, &w, 0, NULL, NULL);
		must(clFinish(q), "finish");
	}
	work_free(&w);
	clReleaseCommandQueue(q);
}

int main(int argc, char *argv[])
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		{ "plain", plain },     { "profiled", profiled }, { "properties", properties },
		{ "events", events },   { "copy", copy },         { "disorder", disorder },
		{ "blocked", blocked }, { "failing", failing },   { "names", names },
		{ "threads", threads }, { "shared", shared },     { "queues", queues },
		{ "leaves", leaves },   { "forks", forks },       { "bench", bench },
		{ "storm", storm },     { "filtered", filtered }, { "heavy", heavy },
	};
	uint64_t from = now_ns();

	if (argc > 2)
		n = (unsigned)atoi(argv[2]);
	setup();
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(cases[i].name, argv[1]))
			cases[i].run();
	printf("{\"result\":%llu,\"kernels\":%llu,\"copies\":%llu,\"memsets\":%llu,\"bad\":%llu,"
	       "\"from_ns\":%llu,\"to_ns\":%llu}\n",
	       (unsigned long long)sum, (unsigned long long)kernels, (unsigned long long)copies,
	       (unsigned long long)memsets, (unsigned long long)bad, (unsigned long long)from,
	       (unsigned long long)now_ns());
	return bad != 0;
}
