/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-in GPU (tests/sim) keeps the rules that a probe relies on: what is dispatched, when
 * a buffer comes back, who may subscribe, what a fork is left with, and what time it takes.
 *
 *	test_standin FOLDER LEVEL      a folder of the build's tests/sim
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/cupti.h"
#include "t.h"

#define MS 1000000ull

/* clang-format off */
#define CUDA(X) \
	X(cuInit, (unsigned)) \
	X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice)) \
	X(cuCtxSetCurrent, (CUcontext)) \
	X(cuCtxSynchronize, (void)) \
	X(cuModuleLoadData, (CUmodule *, const void *)) \
	X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *)) \
	X(cuStreamCreate, (CUstream *, unsigned)) \
	X(cuStreamSynchronize, (CUstream)) \
	X(cuStreamQuery, (CUstream)) \
	X(cuStreamBeginCapture_v2, (CUstream, int)) \
	X(cuStreamEndCapture, (CUstream, CUgraph *)) \
	X(cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long)) \
	X(cuGraphLaunch, (CUgraphExec, CUstream)) \
	X(cuGraphExecDestroy, (CUgraphExec)) \
	X(cuGraphDestroy, (CUgraph)) \
	X(cuEventCreate, (CUevent *, unsigned)) \
	X(cuEventRecord, (CUevent, CUstream)) \
	X(cuEventElapsedTime, (float *, CUevent, CUevent)) \
	X(cuMemAlloc_v2, (CUdeviceptr *, size_t)) \
	X(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t)) \
	X(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t)) \
	X(cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream)) \
	X(cuMemsetD8_v2, (CUdeviceptr, unsigned char, size_t)) \
	X(cuGetProcAddress_v2, (const char *, void **, int, unsigned long long, int *)) \
	X(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
			   unsigned, CUstream, void **, void **))
#define CUPTI(X) \
	X(cuptiGetVersion, (uint32_t *)) \
	X(cuptiSubscribe, (struct client **, callback_fn, void *)) \
	X(cuptiUnsubscribe, (struct client *)) \
	X(cuptiEnableCallback, (uint32_t, struct client *, int, uint32_t)) \
	X(cuptiActivityEnable, (uint32_t)) \
	X(cuptiActivityEnableAndDump, (uint32_t)) \
	X(cuptiActivityDisable, (uint32_t)) \
	X(cuptiActivityRegisterCallbacks, (request_fn, complete_fn)) \
	X(cuptiActivityGetNextRecord, (uint8_t *, size_t, uint8_t **)) \
	X(cuptiActivityGetNumDroppedRecords, (CUcontext, uint32_t, size_t *)) \
	X(cuptiActivityFlushAll, (uint32_t)) \
	X(cuptiActivitySetAttribute, (uint32_t, size_t *, void *)) \
	X(cuptiActivityPushExternalCorrelationId, (uint32_t, uint64_t)) \
	X(cuptiActivityPopExternalCorrelationId, (uint32_t, uint64_t *)) \
	X(cuptiActivityRegisterTimestampCallback, (timestamp_fn)) \
	X(cuptiFinalize, (void))
/* clang-format on */
#define POINTER(name, args) static int(*name) args;
CUDA(POINTER)
CUPTI(POINTER)

static void *cupti;
static int level;
static CUfunction small, wide, never;
static CUstream stream[2];
static struct client *sub;

/* --- a client that keeps what it gets --- */

#define KEPT 65536
static uint8_t kept[KEPT * 256]; /* records, one after the other */
static size_t kept_bytes;
static uint8_t *lent[256]; /* the last ones: finalizing does not bring them back */
static unsigned lendings;
static int buffers, refuse;
static size_t max_records;
static pthread_t deliverer;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the above */

static void request(uint8_t **buf, size_t *size, size_t *max)
{
	pthread_mutex_lock(&lock);
	*buf = refuse ? NULL : malloc(8192);
	*size = 8192;
	*max = max_records;
	lent[lendings++ % T_LEN(lent)] = *buf;
	pthread_mutex_unlock(&lock);
}

static void complete(CUcontext ctx, uint32_t id, uint8_t *buf, size_t size, size_t valid)
{
	(void)ctx, (void)id, (void)size;
	pthread_mutex_lock(&lock);
	deliverer = pthread_self();
	if (kept_bytes + valid <= sizeof(kept)) {
		memcpy(kept + kept_bytes, buf, valid);
		kept_bytes += valid;
	}
	buffers++;
	pthread_mutex_unlock(&lock);
	free(buf);
}

static int got_buffers(void)
{
	int n;

	pthread_mutex_lock(&lock);
	n = buffers;
	pthread_mutex_unlock(&lock);
	return n;
}

static void forget(void)
{
	pthread_mutex_lock(&lock);
	kept_bytes = 0;
	buffers = 0;
	pthread_mutex_unlock(&lock);
}

static uint32_t u32(const uint8_t *r, size_t off)
{
	uint32_t v;

	memcpy(&v, r + off, sizeof(v));
	return v;
}

static uint64_t u64(const uint8_t *r, size_t off)
{
	uint64_t v;

	memcpy(&v, r + off, sizeof(v));
	return v;
}

/* The n-th kept record of a kind, or NULL; `count` gets how many there are. */
static uint8_t *record(uint32_t kind, int n, int *count)
{
	uint8_t *r = NULL, *found = NULL;

	*count = 0;
	while (!cuptiActivityGetNextRecord(kept, kept_bytes, &r))
		if (u32(r, 0) == kind && (*count)++ == n)
			found = r;
	return found;
}

static int count(uint32_t kind)
{
	int n;

	record(kind, 0, &n);
	return n;
}

static void nap(uint64_t ns)
{
	struct timespec t = { .tv_nsec = (long)(ns % 1000000000ull),
			      .tv_sec = (time_t)(ns / 1000000000ull) };

	nanosleep(&t, NULL);
}

static bool comes(int want)
{
	for (int i = 0; i < 2000 && got_buffers() < want; i++)
		nap(5 * MS);
	return got_buffers() >= want;
}

static int launch(CUfunction f, CUstream s)
{
	return cuLaunchKernel(f, f == wide ? 4096 : 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL);
}

static void launches(int n)
{
	for (int i = 0; i < n; i++)
		launch(small, stream[0]);
	cuStreamSynchronize(stream[0]);
}

/* --- the rules --- */

static struct {
	int calls[2], wrong, other;
	uint32_t corr;
} told;

static void callback(void *userdata, int domain, uint32_t cbid, const void *data)
{
	const struct callback_data *d = data;

	(void)userdata;
	if (domain != D_DRIVER || cbid != 307) {
		told.other++;
		return;
	}
	told.calls[d->site]++;
	if (!d->site)
		*d->shared = d->corr;
	else if (*d->shared != d->corr || *(int *)d->result)
		told.wrong++;
	if (strcmp(d->symbol, "small") || strcmp(d->function, "cuLaunchKernel"))
		told.wrong++;
	told.corr = d->corr;
}

static void subscribing(void)
{
	int (*v2)(struct client **, callback_fn, void *, struct subscriber_params *);
	char holder[64] = "";
	struct subscriber_params p = { .size = 32, .old_name = holder, .old_size = sizeof(holder) };
	struct client *second = NULL;

	T_OK(!cuptiSubscribe(&sub, callback, NULL), "the first subscribes");
	T_OK(cuptiSubscribe(&second, callback, NULL) == E_MULTIPLE && !second,
	     "a second is refused");
	*(void **)&v2 = dlsym(cupti, "cuptiSubscribe_v2");
	T_OK(!v2 == (level < 130), "cuptiSubscribe_v2 is there from 13.0 on");
	T_OK(!dlsym(cupti, "cuptiActivityEnable_v2") == (level < 132),
	     "per-subscriber calls from 13.2");
	T_OK(!dlsym(cupti, "cuptiActivityEnableDriverApi") == (level < 125), "filters from 12.5");
	if (v2)
		T_OK(v2(&second, callback, NULL, &p) == E_MULTIPLE && strstr(holder, "CUPTI for"),
		     "and is told who holds it");
}

static void dispatch(void)
{
	uint8_t *r;
	int n;

	cuptiActivityRegisterCallbacks(request, complete);
	launches(10);
	cuptiActivityFlushAll(0);
	T_OK(!got_buffers() && !told.calls[0], "nothing is dispatched that was not enabled");
	cuptiEnableCallback(1, sub, D_DRIVER, 307);
	cuptiActivityEnable(SIM_KERNEL);
	launches(10);
	cuptiActivityFlushAll(0);
	T_OK(told.calls[0] == 10 && told.calls[1] == 10 && !told.other,
	     "only the call that was enabled");
	T_OK(!told.wrong, "entry and exit share their word, name and correlation id");
	r = record(SIM_KERNEL, 9, &n);
	T_OK(n == 10 && count(SIM_SYNC) == 0, "only the kind that was enabled");
	T_OK(r && u32(r, 92) == told.corr, "a kernel has its launch's correlation id");
	T_OK(!pthread_equal(deliverer, pthread_self()), "a thread of CUPTI's hands buffers out");
	cuptiEnableCallback(0, sub, D_DRIVER, 307);
	launches(1);
	T_OK(told.calls[0] == 10, "a callback that is disabled is not called");
	cuptiActivityFlushAll(0);
	forget();
}

static void flushing(void)
{
	uint8_t *r;
	int n, ended = 0;

	max_records = 16;
	launches(40);
	T_OK(comes(2) && got_buffers() == 2 && count(SIM_KERNEL) == 32,
	     "full and complete buffers come by themselves, the rest does not");
	cuptiActivityFlushAll(0);
	T_OK(count(SIM_KERNEL) == 40, "a flush brings what is complete");
	forget();
	launch(never, stream[1]);
	launches(20);
	nap(20 * MS);
	cuptiActivityFlushAll(0);
	T_OK(count(SIM_KERNEL) == 5,
	     "a kernel that does not end holds back its buffer, and only it");
	cuptiActivityFlushAll(1);
	T_OK(count(SIM_KERNEL) == 21, "a forced flush brings that one, too");
	for (int i = 0; i < 21 && (r = record(SIM_KERNEL, i, &n)); i++)
		ended += u64(r, 16) && u64(r, 24) >= u64(r, 16) + 1000;
	T_OK(ended == 20, "with times 0 for what has not ended, and for nothing else");
	max_records = 0;
	forget();
}

static void dropping(void)
{
	size_t dropped = 0;

	if (level < 129)
		return; /* those crash on it: see refused() */
	cuptiActivityFlushAll(1);
	refuse = 1;
	launches(7);
	refuse = 0;
	cuptiActivityFlushAll(1);
	cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);
	T_OK(dropped == 7, "records without a buffer are counted as dropped");
	cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);
	T_OK(dropped == 0, "once");
	forget();
}

/* In a process of its own, which may not survive it. */
static void refused(char *self, char *folder)
{
	char *argv[] = { self, folder, NULL, (char *)"refuse", NULL }, text[16];
	int status;
	pid_t pid;

	snprintf(text, sizeof(text), "%d", level);
	argv[2] = text;
	pid = fork();
	if (!pid) {
		execv(self, argv);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	if (level < 129)
		T_OK(status, "a refused buffer is fatal before 12.9");
	else
		T_OK(!status, "a refused buffer is survived from 12.9 on");
}

static void external(void)
{
	uint64_t last = 0;

	cuptiActivityEnable(SIM_EXTERNAL);
	cuptiActivityPushExternalCorrelationId(3, 77);
	launches(3);
	cuptiActivityFlushAll(0);
	T_OK(count(SIM_EXTERNAL) == 0, "no external id without a record of the call");
	cuptiActivityEnable(SIM_DRIVER);
	launch(small, stream[0]);
	T_OK(!cuptiActivityPopExternalCorrelationId(3, &last) && last == 77,
	     "what was pushed is popped");
	T_OK(cuptiActivityPopExternalCorrelationId(3, &last) == E_QUEUE_EMPTY, "once");
	launches(1);
	cuptiActivityFlushAll(0);
	T_OK(count(SIM_EXTERNAL) == 1 && count(SIM_DRIVER) == 3,
	     "one for the call between push and pop");
	cuptiActivityDisable(SIM_DRIVER);
	cuptiActivityDisable(SIM_EXTERNAL);
	forget();
}

static void graphs(void)
{
	CUgraph graph;
	CUgraphExec exec;
	uint8_t *r;
	int n;

	cuStreamBeginCapture_v2(stream[0], 0);
	for (int i = 0; i < 5; i++)
		launch(small, stream[0]);
	cuStreamEndCapture(stream[0], &graph);
	cuGraphInstantiateWithFlags(&exec, graph, 0);
	cuGraphLaunch(exec, stream[0]);
	cuStreamSynchronize(stream[0]);
	cuptiActivityFlushAll(0);
	r = record(SIM_KERNEL, 0, &n);
	T_OK(n == 5 && u32(r, 156) && u64(r, 144),
	     "a graph's kernels are records with its id and node");
	cuptiActivityEnable(SIM_GRAPH_TRACE);
	cuGraphLaunch(exec, stream[0]);
	cuStreamSynchronize(stream[0]);
	cuptiActivityFlushAll(0);
	T_OK(count(SIM_KERNEL) == 5 && count(SIM_GRAPH_TRACE) == 1, "or the graph is one record");
	cuptiActivityDisable(SIM_GRAPH_TRACE);
	cuGraphExecDestroy(exec);
	cuGraphDestroy(graph);
	forget();
}

static uint64_t thousand(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1000 + (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void times(void)
{
	uint64_t before = thousand(), a, b;
	uint8_t *r;
	int n;

	cuptiActivityRegisterTimestampCallback(thousand);
	launches(3);
	cuptiActivityFlushAll(0);
	r = record(SIM_KERNEL, 0, &n);
	T_OK(r && u64(r, 16) > before && u64(r, 24) < thousand() + MS,
	     "times are the client's clock's");
	r = record(SIM_KERNEL, 1, &n);
	a = u64(record(SIM_KERNEL, 0, &n), 24);
	T_OK(u64(r, 16) >= a && u64(r, 24) == u64(r, 16) + 2000, "one stream: one after the other");
	forget();
	launch(wide, stream[0]);
	launch(small, stream[1]);
	cuCtxSynchronize();
	cuptiActivityFlushAll(0);
	a = u64(record(SIM_KERNEL, 0, &n), 24);
	b = u64(record(SIM_KERNEL, 1, &n), 16);
	T_OK(b < a, "two streams: side by side while there is room");
	forget();
}

static void memory(void)
{
	enum { BYTES = 1 << 22 };
	static char from[BYTES], to[BYTES];
	CUdeviceptr at;
	uint8_t *first, *second;
	int n;

	memset(from, 7, sizeof(from));
	cuptiActivityEnable(SIM_MEMCPY);
	cuptiActivityEnable(SIM_MEMSET);
	T_OK(!cuMemAlloc_v2(&at, BYTES) && !cuMemcpyHtoD_v2(at, from, BYTES) &&
		     !cuMemsetD8_v2(at, 9, BYTES / 2) && !cuMemcpyDtoH_v2(to, at, BYTES) &&
		     to[0] == 9 && to[BYTES - 1] == 7,
	     "copies and memsets move bytes");
	cuMemcpyHtoDAsync_v2(at, from, BYTES, stream[0]);
	cuMemcpyHtoDAsync_v2(at, from, BYTES, stream[1]);
	cuCtxSynchronize();
	cuptiActivityFlushAll(0);
	first = record(SIM_MEMCPY, 2, &n);
	second = record(SIM_MEMCPY, 3, &n);
	T_OK(n == 4 && count(SIM_MEMSET) == 1 && u64(first, 8) == BYTES && first[4] == 1,
	     "and are records with their bytes and direction");
	T_OK(u64(second, 16) >= u64(first, 24), "two copies in one direction share an engine");
	forget();
}

static void dumping(void)
{
	cuptiActivityEnableAndDump(SIM_DEVICE);
	cuptiActivityEnableAndDump(SIM_CONTEXT);
	cuptiActivityEnableAndDump(SIM_STREAM);
	cuptiActivityFlushAll(0);
	T_OK(count(SIM_DEVICE) == 2 && count(SIM_CONTEXT) == 1 && count(SIM_STREAM) == 2,
	     "what there is already is dumped");
	forget();
}

static void in_a_child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
	waitpid(pid, &status, 0);
	T_OK(status == 0, "the driver does not work in a forked child");
	pid = fork();
	if (!pid) {
		alarm(1);
		cuptiActivityFlushAll(0);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	T_OK(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM,
	     "and a flush there does not return");
}

static void ending(void)
{
	launches(5);
	T_OK(!cuptiFinalize(), "CUPTI can be left");
	launches(5);
	T_OK(!cuptiSubscribe(&sub, callback, NULL), "and entered again");
	cuptiActivityEnable(SIM_KERNEL);
	forget();
	launches(5);
	cuptiActivityFlushAll(0);
	T_OK(count(SIM_KERNEL) == 5, "with records of what came after");
	cuptiUnsubscribe(sub);
}

static int begin(const char *folder)
{
	char path[4096];
	CUcontext ctx;
	CUmodule mod;
	void *cuda;

	snprintf(path, sizeof(path), "%s/libcuda.so.1", folder);
	cuda = dlopen(path, RTLD_NOW);
	snprintf(path, sizeof(path), "%s/libcupti.so", folder);
	cupti = dlopen(path, RTLD_NOW);
	if (!cuda || !cupti)
		return -1;
#define FIND_CUDA(name, args)  *(void **)&name = dlsym(cuda, #name);
#define FIND_CUPTI(name, args) *(void **)&name = dlsym(cupti, #name);
	CUDA(FIND_CUDA)
	CUPTI(FIND_CUPTI)
	return cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) ||
	       cuModuleLoadData(&mod, "sim-module\nkernel small ns=2000\nkernel wide ns=20000000\n"
				      "kernel never ns=never\n") ||
	       cuModuleGetFunction(&small, mod, "small") ||
	       cuModuleGetFunction(&wide, mod, "wide") ||
	       cuModuleGetFunction(&never, mod, "never") || cuStreamCreate(&stream[0], 1) ||
	       cuStreamCreate(&stream[1], 1);
}

int main(int argc, char *argv[])
{
	if (argc < 3)
		return 2;
	level = atoi(argv[2]);
	setenv("SIM_DEVICES", "2", 1);
	if (begin(argv[1]))
		return fprintf(stderr, "test_standin: %s: %s\n", argv[1], dlerror()), 1;
	if (argc > 3) { /* refused() */
		refuse = 1;
		cuptiActivityRegisterCallbacks(request, complete);
		cuptiActivityEnable(SIM_KERNEL);
		launches(1);
		return 0;
	}
	subscribing();
	dispatch();
	external();
	graphs();
	times();
	memory();
	dumping();
	dropping();
	refused(argv[0], argv[1]);
	in_a_child();
	flushing(); /* leaves a kernel that does not end */
	ending();
	return t_done();
}
