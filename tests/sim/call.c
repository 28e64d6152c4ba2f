/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.c - what surrounds each call of the driver: faults that were asked for, the tool's
 * callbacks, correlation ids; and the calls' names.
 */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

__thread struct sim_thread sim_me __attribute__((tls_model("initial-exec")));
struct sim_tool *_Atomic sim_tool;
bool sim_watch;

static atomic_uint last_corr;

/* SIM_FAIL: name=error@nth,... : the nth call of that name, and those after it, fail. */
static struct fault {
	uint32_t cbid;
	CUresult error;
	atomic_long left;
} faults[8];
static size_t nfaults;

static void parse_faults(const char *s)
{
	while (s && *s && nfaults < ARRAY_LEN(faults)) {
		size_t len = strcspn(s, "=,"), end = strcspn(s, ",");
		struct fault *f = &faults[nfaults];
		const char *at = memchr(s, '@', end);

		for (size_t i = 0; i < sim_entries_len; i++)
			if (!strncmp(sim_entries[i].name, s, len) && !sim_entries[i].name[len])
				f->cbid = sim_entries[i].cbid;
		f->error = s[len] == '=' ? atoi(s + len + 1) : CUDA_ERROR_UNKNOWN;
		f->left = at ? atol(at + 1) : 1;
		nfaults += f->cbid != 0;
		s += end + (s[end] == ',');
	}
}

/* The driver does not survive a fork: whatever the child calls fails. */
static bool forked;

static void after_fork(void)
{
	forked = true;
	SET(sim_watch, true);
	atomic_store_explicit(&sim_tool, NULL, memory_order_relaxed);
}

void sim_call_init(void)
{
	pthread_atfork(NULL, NULL, after_fork);
	parse_faults(sim_env("SIM_FAIL"));
	if (nfaults || sim_env("SIM_LOST"))
		SET(sim_watch, true);
}

static CUresult fault_of(uint32_t cbid)
{
	struct sim_ctx *ctx = sim_me.depth ? sim_me.stack[sim_me.depth - 1] : NULL;

	if (forked)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (ctx && ctx->dev->lost && cbid != 2 && cbid != 4)
		return CUDA_ERROR_LAUNCH_FAILED;
	for (size_t i = 0; i < nfaults; i++)
		if (faults[i].cbid == cbid && atomic_fetch_sub(&faults[i].left, 1) <= 1)
			return faults[i].error;
	return CUDA_SUCCESS;
}

static uint32_t next_corr(void)
{
	return atomic_fetch_add_explicit(&last_corr, 1, memory_order_relaxed) + 1;
}

void sim_call_begin(struct sim_call *c, struct sim_tool *tool, uint32_t cbid, const char *name,
		    const void *args, const char *symbol, uint32_t corr)
{
	*c = (struct sim_call){
		.cbid = cbid, .corr = corr, .name = name, .symbol = symbol, .args = args
	};
	c->ctx = sim_me.depth ? sim_me.stack[sim_me.depth - 1] : NULL;
	c->ctx_id = c->ctx ? c->ctx->id : 0;
	tool->enter(c);
}

CUresult sim_enter(struct sim_call *c, uint32_t cbid, const char *name, const void *args,
		   const char *symbol)
{
	struct sim_tool *tool = sim_tool_get();

	c->cbid = 0;
	if (!tool)
		return fault_of(cbid);
	sim_me.corr = sim_me.runtime_corr ? sim_me.runtime_corr : next_corr();
	if (GET(tool->driver[cbid]) || sim_wants(tool, SIM_DRIVER))
		sim_call_begin(c, tool, cbid, name, args, symbol, sim_me.corr);
	return fault_of(cbid);
}

CUresult sim_leave(struct sim_call *c, CUresult r)
{
	struct sim_tool *tool;

	if (c->cbid && (tool = sim_tool_get())) {
		c->result = r;
		tool->leave(c);
	}
	return r;
}

/* A call of the runtime: those of the driver that it makes have its correlation id. */
static void runtime_enter(struct sim_call *c, uint32_t cbid, const char *name, const void *args,
			  const char *symbol)
{
	struct sim_tool *tool = sim_tool_get();

	*c = (struct sim_call){ .runtime = true };
	if (!tool)
		return;
	sim_me.runtime_corr = next_corr();
	if (!GET(tool->runtime[cbid]) && !sim_wants(tool, SIM_RUNTIME))
		return;
	*c = (struct sim_call){ .cbid = cbid,
				.corr = sim_me.runtime_corr,
				.name = name,
				.symbol = symbol,
				.args = args,
				.runtime = true };
	c->ctx = sim_me.depth ? sim_me.stack[sim_me.depth - 1] : NULL;
	c->ctx_id = c->ctx ? c->ctx->id : 0;
	tool->enter(c);
}

static void runtime_leave(struct sim_call *c, CUresult r)
{
	sim_me.runtime_corr = 0;
	sim_leave(c, r);
}

static const char *symbol_of(CUfunction f)
{
	return f ? f->name : NULL;
}

const char *sim_call_name(uint32_t cbid)
{
	for (size_t i = 0; i < sim_entries_len; i++)
		if (sim_entries[i].cbid == cbid)
			return sim_entries[i].name;
	return NULL;
}

/* The newest form of a name, as cuGetProcAddress() gives it. */
void *sim_call_find(const char *name, bool per_thread)
{
	static const char *const ends[] = { "_v3", "_v2", "" };
	static const char *const own[] = { "_ptsz", "_ptds", "" };
	char full[96];

	for (size_t o = per_thread ? 0 : 2; o < 3; o++)
		for (size_t e = 0; e < 3; e++) {
			if (strlen(name) > 80)
				return NULL;
			strcat(strcat(strcpy(full, name), ends[e]), own[o]);
			for (size_t i = 0; i < sim_entries_len; i++)
				if (!strcmp(sim_entries[i].name, full))
					return sim_entries[i].fn;
		}
	return NULL;
}

void sim_resource(uint32_t cbid, struct sim_ctx *ctx, struct sim_stream *s, void *descriptor)
{
	struct sim_tool *tool = sim_tool_get();

	if (tool && GET(tool->resource[cbid]))
		tool->resourced(cbid, ctx, s, descriptor);
}

static void attach(struct sim_tool *tool)
{
	atomic_store_explicit(&sim_tool, tool, memory_order_release); /* with sim_tool_get() */
	SET(sim_watch, tool || nfaults || sim_env("SIM_LOST") || forked);
}

static bool ready(void)
{
	return sim_ndevices > 0;
}

static uint32_t devices(void)
{
	return sim_ndevices;
}

static const struct sim_device_info *device(uint32_t i)
{
	return &sim_devices[i].info;
}

static CUcontext current(void)
{
	return sim_me.depth ? sim_me.stack[sim_me.depth - 1] : NULL;
}

SIM_API CUresult cuGetExportTable(const void **table, const CUuuid *id);

CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	static const struct sim_driver driver = {
		.attach = attach,
		.ready = ready,
		.now = sim_now,
		.devices = devices,
		.device = device,
		.contexts = sim_each_context,
		.streams = sim_each_stream,
		.context_id = sim_context_id,
		.stream_id = sim_stream_id,
		.node_id = sim_node_id,
		.graph_id = sim_graph_id,
		.exec_id = sim_exec_id,
		.event_id = sim_event_id,
		.current = current,
		.call_name = sim_call_name,
		.next_corr = next_corr,
		.runtime_enter = runtime_enter,
		.runtime_leave = runtime_leave,
		.symbol = symbol_of,
	};

	if (!table || !id || memcmp(id, SIM_UUID, sizeof(*id)))
		return CUDA_ERROR_INVALID_VALUE;
	*table = &driver;
	return CUDA_SUCCESS;
}
