/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tool.c - a tool on CUPTI that counts, made of the probe's own search, strides and calls, in their
 * order. It has no daemon and no thread: a check asks for what has come.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "gpucheck/check.h"

#define QUIET_MS 1000u /* without a record, which means that none comes any more */

struct tool tool;

static unsigned wanted;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER; /* one buffer at a time */

__attribute__((visibility("default"))) void aon_gpu_check_injected(void);

static int step(const char *call, int kind, int error)
{
	if (tool.steps < TOOL_STEPS) {
		tool.step[tool.steps].call = call;
		tool.step[tool.steps].kind = kind;
		tool.step[tool.steps++].error = error;
	}
	return error;
}

/* --- what CUPTI calls --- */

static void on_callback(void *user, int domain, uint32_t cbid, const void *data)
{
	const struct cupti_cb_data *d = data;

	(void)user, (void)cbid;
	if (domain != CD_DRIVER || d->site != 0)
		return;
	atomic_fetch_add_explicit(&tool.callbacks, 1, memory_order_relaxed);
	if (tool.on_launch)
		tool.on_launch(d->correlation);
}

static void on_request(uint8_t **buffer, size_t *size, size_t *max)
{
	*buffer = calloc(1, tool.buffer_bytes);
	*size = *buffer ? tool.buffer_bytes : 0;
	*max = 0;
	atomic_fetch_add_explicit(&tool.requests, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&tool.lent, *buffer != NULL, memory_order_relaxed);
}

static void see(const uint8_t *r, uint32_t kind)
{
	atomic_fetch_add_explicit(&tool.records[kind], 1, memory_order_relaxed);
	if (kind != CK_CONCURRENT_KERNEL)
		return;
	if (!at64(r, AT_START) || !at64(r, AT_END))
		atomic_fetch_add_explicit(&tool.untimed, 1, memory_order_relaxed);
	if (tool.on_kernel)
		tool.on_kernel(r);
}

/* CUPTI's own walk must come by the same places. */
static void compare(uint8_t *buffer, size_t valid)
{
	void *at = NULL;
	size_t ours = 0;

	while (!tool.api.ActivityGetNextRecord(buffer, valid, &at)) {
		uint32_t kind = at32(buffer + ours, 0);

		atomic_fetch_add_explicit(&tool.walks, 1, memory_order_relaxed);
		if ((uint8_t *)at != buffer + ours || kind >= CK_MAX || !tool.stride[kind]) {
			atomic_fetch_add_explicit(&tool.walk_faults, 1, memory_order_relaxed);
			return;
		}
		ours += tool.stride[kind];
		if (ours + 4 > valid)
			return;
	}
}

static void on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	size_t dropped = 0;

	(void)size;
	pthread_mutex_lock(&turn);
	if (tool.check_walk && buffer && valid)
		compare(buffer, valid);
	for (size_t at = 0; buffer && at + 4 <= valid;) {
		uint32_t kind = at32(buffer + at, 0), n = kind < CK_MAX ? tool.stride[kind] : 0;

		if (!n || at + n > valid) {
			atomic_fetch_add_explicit(&tool.strays, 1, memory_order_relaxed);
			break;
		}
		see(buffer + at, kind);
		at += n;
	}
	pthread_mutex_unlock(&turn);
	if (tool.api.ActivityGetNumDroppedRecords &&
	    !tool.api.ActivityGetNumDroppedRecords(context, stream, &dropped))
		atomic_fetch_add_explicit(&tool.dropped, dropped, memory_order_relaxed);
	atomic_fetch_sub_explicit(&tool.lent, buffer != NULL, memory_order_relaxed);
	free(buffer);
}

/* --- as the probe opens its session --- */

static int subscribe(void)
{
	struct cupti_params p = { .name = "aon-gpu-check" };

	if (!tool.api.Subscribe_v2)
		return step("Subscribe", 0, tool.api.Subscribe(&tool.sub, on_callback, NULL));
	p.size = tool.api.version >= 130200 ? CUPTI_PARAMS_13_2 : CUPTI_PARAMS_13_0;
	return step("Subscribe_v2", 0, tool.api.Subscribe_v2(&tool.sub, on_callback, NULL, &p));
}

static void callbacks(void)
{
	static const uint16_t cbid[] = {
#define CBID(name, number, what) number,
#include "probe/cuda/cbid.tbl.h"
	};
	int err = 0, one, refused = 0;

	for (size_t i = 0; i < sizeof(cbid) / sizeof(cbid[0]); i++) {
		one = tool.api.EnableCallback(1, tool.sub, CD_DRIVER, cbid[i]);
		refused += one != 0;
		err = one ? one : err;
	}
	/* What a version does not have it refuses; it has some. */
	step("EnableCallback", 0, refused == sizeof(cbid) / sizeof(cbid[0]) ? err : 0);
}

static void attributes(void)
{
	uint8_t off = 0, one = 1;
	size_t size = 1;

	if (tool.api.caps & CAP_PER_THREAD)
		step("ActivitySetAttribute", CA_PER_THREAD,
		     tool.api.ActivitySetAttribute(CA_PER_THREAD, &size, &off));
	size = 1;
	if (tool.api.caps & CAP_ZEROED)
		tool.api.ActivitySetAttribute(CA_ZEROED_OUT, &size, &one);
	if (tool.api.SetThreadIdType)
		step("SetThreadIdType", 0, tool.api.SetThreadIdType(CUPTI_THREAD_ID_SYSTEM));
}

int tool_enable(int kind, bool on)
{
	return on ? tool.api.ActivityEnable(kind) : tool.api.ActivityDisable(kind);
}

static void kinds(void)
{
	static const struct {
		unsigned what;
		int kind;
	} rows[] = {
		{ TOOL_KERNELS, CK_CONCURRENT_KERNEL },
		{ TOOL_COPIES, CK_MEMCPY },
		{ TOOL_COPIES, CK_MEMCPY2 },
		{ TOOL_COPIES, CK_MEMSET },
		{ TOOL_COPIES, CK_MEMORY2 },
		{ TOOL_SYNC, CK_SYNC },
		{ TOOL_API, CK_RUNTIME },
		{ TOOL_API, CK_DRIVER },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (wanted & rows[i].what)
			step("ActivityEnable", rows[i].kind, tool_enable(rows[i].kind, true));
}

void aon_gpu_check_injected(void)
{
	tool.tid = (pid_t)syscall(SYS_gettid);
	tool.why = load_cupti(&tool.api);
	if (tool.why || step("GetVersion", 0, tool.api.GetVersion(&tool.api.version)))
		return;
	tool.api.caps = load_caps(&tool.api);
	if (subscribe())
		return;
	tool.strides = stride_learn(tool.stride, tool.api.ActivityGetNextRecord,
				    tool.api.ActivityGetStructSize);
	if (step("record lengths", 0, stride_usable(tool.stride) ? 0 : CUPTI_NOT_COMPATIBLE))
		return;
	attributes();
	if (step("ActivityRegisterCallbacks", 0,
		 tool.api.ActivityRegisterCallbacks(on_request, on_complete)))
		return;
	if (wanted & TOOL_CALLBACKS)
		callbacks();
	kinds();
	tool.open = true;
}

void tool_inject(unsigned what, uint32_t buffer_bytes)
{
	char path[512];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 64);
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	snprintf(slash ? slash : path, 64, "/libaon-gpu-check.so");
	wanted = what;
	tool.buffer_bytes = buffer_bytes ? buffer_bytes : 16384;
	setenv("CUDA_INJECTION64_PATH", path, 1);
}

void tool_must(void)
{
	if (tool.why)
		unknown("%s", tool.why);
	if (tool.open)
		return;
	if (!tool.steps)
		say("the driver did not load the injection: it ignores CUDA_INJECTION64_PATH");
	else
		say("cupti%s: error %d: %s", tool.step[tool.steps - 1].call,
		    tool.step[tool.steps - 1].error, session_why(tool.step[tool.steps - 1].error));
	verdict(FAIL);
}

void tool_flush(void)
{
	tool.api.ActivityFlushAll(0);
}

uint64_t tool_seen(int kind)
{
	return atomic_load_explicit(&tool.records[kind], memory_order_relaxed);
}

uint64_t tool_kernels(void)
{
	return tool_seen(CK_CONCURRENT_KERNEL);
}

uint64_t tool_await(int kind, uint64_t want)
{
	uint64_t had = tool_seen(kind), now = had, since = clock_mono_ms();

	tool_flush();
	while ((now = tool_seen(kind)) < want && clock_mono_ms() - since < QUIET_MS) {
		if (now != had) {
			had = now;
			since = clock_mono_ms();
		}
		nap_ms(5);
		tool_flush();
	}
	return now;
}
