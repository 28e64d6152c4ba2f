/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-in GPU (tests/sim) speaks what NVIDIA's headers say: this test is compiled with the
 * headers of one version of CUDA, and reads the stand-in's records and callbacks of that version
 * through their structs.
 *
 *	test_standin_abi FOLDER [LIBCUPTI [only]]
 *
 * LIBCUPTI is a real one, whose walk over records is compared; that only, with a third word.
 */
#include <dlfcn.h>
#include <string.h>

#include <cuda.h>
#include <cupti.h>

#include "standin_args.h"
#include "t.h"

#if CUPTI_API_VERSION == 18
typedef CUpti_ActivityKernel8 kernel_t;
typedef CUpti_ActivityMemcpy5 memcpy_t;
typedef CUpti_ActivityMemset4 memset_t;
typedef CUpti_ActivitySynchronization sync_t;
typedef CUpti_ActivityGraphTrace graph_t;
typedef CUpti_ActivityMemory3 memory_t;
typedef CUpti_ActivityMemoryPool2 pool_t;
typedef CUpti_ActivityDevice4 device_t;
typedef CUpti_ActivityContext context_t;
#elif CUPTI_API_VERSION < 130000
typedef CUpti_ActivityKernel9 kernel_t;
typedef CUpti_ActivityMemcpy6 memcpy_t;
typedef CUpti_ActivityMemset4 memset_t;
typedef CUpti_ActivitySynchronization2 sync_t;
typedef CUpti_ActivityGraphTrace2 graph_t;
typedef CUpti_ActivityMemory4 memory_t;
typedef CUpti_ActivityMemoryPool2 pool_t;
typedef CUpti_ActivityDevice5 device_t;
typedef CUpti_ActivityContext3 context_t;
#else
typedef CUpti_ActivityKernel13 kernel_t;
typedef CUpti_ActivityMemcpy7 memcpy_t;
typedef CUpti_ActivityMemset5 memset_t;
typedef CUpti_ActivitySynchronization2 sync_t;
typedef CUpti_ActivityGraphTrace2 graph_t;
typedef CUpti_ActivityMemory4 memory_t;
typedef CUpti_ActivityMemoryPool3 pool_t;
typedef CUpti_ActivityDevice6 device_t;
typedef CUpti_ActivityContext4 context_t;
#endif

/* Declared by the headers: pointers of the same types, found at run time. */
#define P(name) static __typeof__(&name) p_##name
/* clang-format off */
P(cuInit); P(cuDevicePrimaryCtxRetain); P(cuCtxSetCurrent); P(cuCtxSynchronize); P(cuModuleLoadData);
P(cuModuleGetFunction); P(cuStreamCreateWithPriority); P(cuStreamSynchronize); P(cuMemAlloc);
P(cuMemcpyHtoDAsync); P(cuMemcpyPeer); P(cuMemsetD32Async); P(cuMemAllocAsync); P(cuMemFreeAsync);
P(cuLaunchKernel); P(cuLaunchKernelEx); P(cuStreamBeginCapture); P(cuStreamEndCapture);
P(cuGraphInstantiateWithFlags); P(cuGraphLaunch); P(cuEventCreate); P(cuEventRecord);
P(cuEventSynchronize);
P(cuptiSubscribe); P(cuptiEnableCallback); P(cuptiActivityEnable); P(cuptiActivityEnableAndDump);
P(cuptiActivityRegisterCallbacks); P(cuptiActivityGetNextRecord); P(cuptiActivityFlushAll);
P(cuptiActivityPushExternalCorrelationId); P(cuptiGetVersion);
/* clang-format on */
#define TEXT_(x)        #x
#define TEXT(x)         TEXT_(x)
#define FIND(lib, name) (*(void **)&p_##name = dlsym(lib, TEXT(name)))

static void *cuda, *cupti;
static uint8_t kept[1 << 20];
static size_t kept_bytes;

static void CUPTIAPI request(uint8_t **buf, size_t *size, size_t *max)
{
	*buf = calloc(1, 65536);
	*size = 65536;
	*max = 0;
}

static void CUPTIAPI complete(CUcontext ctx, uint32_t stream, uint8_t *buf, size_t size,
			      size_t valid)
{
	(void)ctx, (void)stream, (void)size;
	if (kept_bytes + valid <= sizeof(kept)) {
		memcpy(kept + kept_bytes, buf, valid);
		kept_bytes += valid;
	}
	free(buf);
}

/* The first record of a kind, and that the next one comes after `bytes`. */
static void *first(CUpti_ActivityKind kind, size_t bytes)
{
	CUpti_Activity *r = NULL, *found = NULL;

	while (!p_cuptiActivityGetNextRecord(kept, kept_bytes, &r)) {
		if (found) {
			T_OK((size_t)((char *)r - (char *)found) == bytes, "kind %d has %zu bytes",
			     kind, bytes);
			return found;
		}
		if (r->kind == kind)
			found = r;
	}
	T_OK(found, "there is a record of kind %d", kind);
	return found;
}

static struct {
	int launches, wrong;
	uint32_t corr, context;
} told;

static void CUPTIAPI callback(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			      const void *data)
{
	const CUpti_CallbackData *d = data;
	const cuLaunchKernel_params *p = d->functionParams;

	(void)userdata;
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || cbid != CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel)
		return;
	told.launches++;
	told.corr = d->correlationId;
	told.context = d->contextUid;
	if (p->gridDimX != 3 || p->gridDimZ != 2 || p->blockDimY != 4 || p->sharedMemBytes != 512 ||
	    strcmp(d->symbolName, "axpy") || strcmp(d->functionName, "cuLaunchKernel"))
		told.wrong++;
	if (d->callbackSite == CUPTI_API_ENTER)
		*d->correlationData = 42;
	else if (*d->correlationData != 42 || *(CUresult *)d->functionReturnValue)
		told.wrong++;
}

static int load(const char *folder)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/libcuda.so.1", folder);
	cuda = dlopen(path, RTLD_NOW);
	snprintf(path, sizeof(path), "%s/libcupti.so", folder);
	cupti = dlopen(path, RTLD_NOW);
	if (!cuda || !cupti)
		return fprintf(stderr, "test_standin_abi: %s\n", dlerror()), -1;
	/* clang-format off */
	return FIND(cuda, cuInit) && FIND(cuda, cuDevicePrimaryCtxRetain) && FIND(cuda, cuCtxSetCurrent) &&
	       FIND(cuda, cuCtxSynchronize) && FIND(cuda, cuModuleLoadData) && FIND(cuda, cuModuleGetFunction) &&
	       FIND(cuda, cuStreamCreateWithPriority) && FIND(cuda, cuStreamSynchronize) &&
	       FIND(cuda, cuMemAlloc) && FIND(cuda, cuMemcpyHtoDAsync) && FIND(cuda, cuMemcpyPeer) &&
	       FIND(cuda, cuMemsetD32Async) && FIND(cuda, cuMemAllocAsync) && FIND(cuda, cuMemFreeAsync) &&
	       FIND(cuda, cuLaunchKernel) && FIND(cuda, cuLaunchKernelEx) && FIND(cuda, cuStreamBeginCapture) &&
	       FIND(cuda, cuStreamEndCapture) && FIND(cuda, cuGraphInstantiateWithFlags) &&
	       FIND(cuda, cuGraphLaunch) && FIND(cuda, cuEventCreate) && FIND(cuda, cuEventRecord) &&
	       FIND(cuda, cuEventSynchronize) &&
	       FIND(cupti, cuptiSubscribe) && FIND(cupti, cuptiEnableCallback) &&
	       FIND(cupti, cuptiActivityEnable) && FIND(cupti, cuptiActivityEnableAndDump) &&
	       FIND(cupti, cuptiActivityRegisterCallbacks) && FIND(cupti, cuptiActivityGetNextRecord) &&
	       FIND(cupti, cuptiActivityFlushAll) && FIND(cupti, cuptiActivityPushExternalCorrelationId) &&
	       FIND(cupti, cuptiGetVersion) ? 0 : -1;
	/* clang-format on */
}

static const int kinds[] = {
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMCPY2,
	CUPTI_ACTIVITY_KIND_MEMSET,
	CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
	CUPTI_ACTIVITY_KIND_MEMORY2,
	CUPTI_ACTIVITY_KIND_MEMORY_POOL,
	CUPTI_ACTIVITY_KIND_CONTEXT,
	CUPTI_ACTIVITY_KIND_STREAM,
	CUPTI_ACTIVITY_KIND_DRIVER,
	CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
};

/* One of each. */
static int work(void)
{
	CUdeviceptr a, b, pooled;
	CUcontext ctx, peer;
	CUmodule mod;
	CUfunction f;
	CUstream s;
	static CUevent event; /* static, as what is not destroyed is reached from somewhere */
	static CUgraph graph;
	static CUgraphExec exec;
	CUlaunchConfig config = { .gridDimX = 5,
				  .gridDimY = 1,
				  .gridDimZ = 1,
				  .blockDimX = 32,
				  .blockDimY = 1,
				  .blockDimZ = 1 };
	static char host[4096];

	p_cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1,
						 0x1234567890);
	if (p_cuDevicePrimaryCtxRetain(&peer, 1) || p_cuCtxSetCurrent(peer) ||
	    p_cuMemAlloc(&b, 4096) || p_cuDevicePrimaryCtxRetain(&ctx, 0) ||
	    p_cuCtxSetCurrent(ctx) || p_cuMemAlloc(&a, 4096) ||
	    p_cuModuleLoadData(&mod,
			       "sim-module\nkernel axpy ns=3000 regs=77 smem=128 local=16\n") ||
	    p_cuModuleGetFunction(&f, mod, "axpy") || p_cuStreamCreateWithPriority(&s, 1, -3) ||
	    p_cuLaunchKernel(f, 3, 1, 2, 8, 4, 1, 512, s, NULL, NULL) ||
	    p_cuMemcpyHtoDAsync(a, host, 4096, s) || p_cuMemcpyPeer(b, peer, a, ctx, 1000) ||
	    p_cuMemsetD32Async(a, 0x55aa, 256, s) || p_cuMemAllocAsync(&pooled, 65536, s) ||
	    p_cuMemFreeAsync(pooled, s) || p_cuEventCreate(&event, 0) ||
	    p_cuEventRecord(event, s) || p_cuEventSynchronize(event))
		return -1;
	config.hStream = s;
	if (p_cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL) ||
	    p_cuLaunchKernelEx(&config, f, NULL, NULL) || p_cuStreamEndCapture(s, &graph) ||
	    p_cuGraphInstantiateWithFlags(&exec, graph, 0) ||
	    p_cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) || p_cuGraphLaunch(exec, s) ||
	    p_cuStreamSynchronize(s))
		return -1;
	return p_cuptiActivityEnableAndDump(CUPTI_ACTIVITY_KIND_DEVICE);
}

static void device_work(void)
{
	kernel_t *k = first(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(*k));
	memcpy_t *c = first(CUPTI_ACTIVITY_KIND_MEMCPY, sizeof(*c));
	CUpti_ActivityMemcpyPtoP4 *p = first(CUPTI_ACTIVITY_KIND_MEMCPY2, sizeof(*p));
	memset_t *m = first(CUPTI_ACTIVITY_KIND_MEMSET, sizeof(*m));
	graph_t *g = first(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, sizeof(*g));

	T_OK(k->gridX == 3 && k->gridZ == 2 && k->blockX == 8 && k->blockY == 4 &&
		     k->registersPerThread == 77 && k->staticSharedMemory == 128 &&
		     k->dynamicSharedMemory == 512 && k->localMemoryPerThread == 16 &&
		     !strcmp(k->name, "axpy") && k->end - k->start == 3000 && k->streamId == 13 &&
		     k->deviceId == 0 && k->contextId == 2 && !k->graphId,
	     "a kernel's fields");
	T_OK(told.launches == 2 && !told.wrong && told.corr == k->correlationId &&
		     told.context == 2,
	     "a launch's callbacks");
	T_OK(c->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD && c->bytes == 4096 &&
		     c->streamId == 13 && c->srcKind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE &&
		     c->dstKind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE && c->end > c->start &&
		     c->correlationId > k->correlationId && c->contextId == 2,
	     "a copy's fields");
	T_OK(p->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP && p->bytes == 1000 &&
		     p->srcDeviceId == 0 && p->dstDeviceId == 1 && p->srcContextId == 2 &&
		     p->dstContextId == 1 && p->correlationId > c->correlationId,
	     "those of a copy between devices");
	T_OK(m->value == 0x55aa && m->bytes == 1024 && m->streamId == 13 && m->end > m->start &&
		     m->memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE && m->contextId == 2,
	     "a memset's fields");
	T_OK(g->graphId && g->end > g->start && g->streamId == 13 && g->contextId == 2 &&
		     g->correlationId > m->correlationId,
	     "a graph launch's fields");
}

static void host_work(void)
{
	sync_t *y = first(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, sizeof(*y));
	memory_t *a = first(CUPTI_ACTIVITY_KIND_MEMORY2, sizeof(*a));
	pool_t *p = first(CUPTI_ACTIVITY_KIND_MEMORY_POOL, sizeof(*p));
	CUpti_ActivityAPI *d = first(CUPTI_ACTIVITY_KIND_DRIVER, sizeof(*d));
	CUpti_ActivityExternalCorrelation *e =
		first(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, sizeof(*e));

	T_OK(y->type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE &&
		     y->cudaEventId == 1 && y->contextId == 2 && y->end > y->start,
	     "a wait's fields");
	T_OK(a->memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION &&
		     a->memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE && a->bytes == 4096 &&
		     a->deviceId == 1 && a->contextId == 1 && a->address && a->timestamp &&
		     !a->isAsync,
	     "an allocation's fields");
	T_OK(p->memoryPoolOperationType == CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED &&
		     p->memoryPoolType == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL && p->address &&
		     p->deviceId == 0,
	     "a pool's fields");
	T_OK(d->cbid == CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRetain && d->end >= d->start &&
		     d->processId && d->threadId && !d->returnValue,
	     "a call's fields");
	T_OK(e->externalId == 0x1234567890 && e->correlationId == d->correlationId &&
		     e->externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1,
	     "an external id's fields");
}

static void things(void)
{
	device_t *d = first(CUPTI_ACTIVITY_KIND_DEVICE, sizeof(*d));
	context_t *c = first(CUPTI_ACTIVITY_KIND_CONTEXT, sizeof(*c));
	CUpti_ActivityStream *s = first(CUPTI_ACTIVITY_KIND_STREAM, sizeof(*s));

	T_OK(d->id == 0 && !strcmp(d->name, "NVIDIA A100-SXM4-80GB") &&
		     d->numMultiprocessors == 108 && d->computeCapabilityMajor == 8 &&
		     d->globalMemorySize == 80ull << 30 && d->coreClockRate == 1410000 &&
		     d->maxWarpsPerMultiprocessor == 64,
	     "a device's fields");
	T_OK(c->contextId == 1 && c->deviceId == 1 &&
		     c->computeApiKind == CUPTI_ACTIVITY_COMPUTE_API_CUDA && c->nullStreamId == 7,
	     "a context's fields");
	T_OK(s->contextId == 2 && s->streamId == 13 && (int)s->priority == -3 &&
		     s->flag == CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING,
	     "a stream's fields");
}

#if CUPTI_API_VERSION >= 130000
/* The newest headers know every call of the table. */
static void arguments(void)
{
	static const struct standin_args theirs[] = {
#include "meta.h"
	};
	int wrong = 0;

	for (size_t i = 0; i < T_LEN(theirs); i++)
		if (strcmp(theirs[i].name, standin_args[i].name) ||
		    theirs[i].cbid != standin_args[i].cbid ||
		    theirs[i].bytes != standin_args[i].bytes) {
			printf("# %s: id %u, %zu bytes of arguments; here %u, %zu\n",
			       theirs[i].name, theirs[i].cbid, theirs[i].bytes,
			       standin_args[i].cbid, standin_args[i].bytes);
			wrong++;
		}
	T_OK(!wrong, "%zu calls have their callback ids and arguments", T_LEN(theirs));
}
#else
static void arguments(void)
{
}
#endif

/* Where a walk over a buffer full of one kind comes to next; 0: it refuses the kind. */
static long stride(__typeof__(&cuptiActivityGetNextRecord) next, uint64_t kind)
{
	static uint64_t words[512];
	CUpti_Activity *r = NULL, *a;

	for (size_t i = 0; i < T_LEN(words); i++)
		words[i] = kind;
	if (next((uint8_t *)words, sizeof(words), &r))
		return 0;
	a = r;
	return next((uint8_t *)words, sizeof(words), &r) ? 0 : (char *)r - (char *)a;
}

static void walk(const char *path)
{
	void *real = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	__typeof__(&cuptiActivityGetNextRecord) theirs;
	int wrong = 0;

	if (!real) {
		printf("ok %d - a real libcupti walks alike # SKIP %s\n", ++t_count, dlerror());
		return;
	}
	*(void **)&theirs = dlsym(real, "cuptiActivityGetNextRecord");
	for (uint64_t k = 1; k < 64; k++)
		if (stride(theirs, k) != stride(p_cuptiActivityGetNextRecord, k)) {
			printf("# kind %d: %ld bytes, here %ld\n", (int)k, stride(theirs, k),
			       stride(p_cuptiActivityGetNextRecord, k));
			wrong++;
		}
	T_OK(!wrong, "a real libcupti walks over records of every kind alike");
}

int main(int argc, char *argv[])
{
	CUpti_SubscriberHandle sub;
	uint32_t version = 0;

	if (argc < 2 || load(argv[1]))
		return 2;
	if (argc > 3) {
		walk(argv[2]);
		return t_done();
	}
	setenv("SIM_DEVICES", "2", 1);
	setenv("SIM_DEVICE_TYPE", "a100", 1);
	T_OK(!p_cuInit(0) && !p_cuptiSubscribe(&sub, callback, NULL), "the stand-in begins");
	T_OK(!p_cuptiGetVersion(&version) && version == CUPTI_API_VERSION, "as version %u",
	     version);
	p_cuptiEnableCallback(1, sub, CUPTI_CB_DOMAIN_DRIVER_API,
			      CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	p_cuptiActivityRegisterCallbacks(request, complete);
	for (size_t i = 0; i < T_LEN(kinds); i++)
		p_cuptiActivityEnable((CUpti_ActivityKind)kinds[i]);
	T_OK(!work(), "a program of every kind of work runs");
	p_cuptiActivityFlushAll(0);
	device_work();
	host_work();
	things();
	arguments();
	if (argc > 2)
		walk(argv[2]);
	return t_done();
}
