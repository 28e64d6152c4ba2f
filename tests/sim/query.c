/* SPDX-License-Identifier: Apache-2.0 */
/* query.c - CUPTI's small questions and switches. */
#include <stddef.h>

#include "cupti.h"
#include "cupti_calls.h"

int cuptiGetVersion(uint32_t *version)
{
	static const struct {
		int level;
		uint32_t version;
	} known[] = {
		{ 118, 18 },     { 120, 18 },     { 121, 18 },     { 122, 20 },     { 123, 21 },
		{ 124, 22 },     { 125, 23 },     { 126, 24 },     { 128, 26 },     { 129, 28 },
		{ 130, 130001 }, { 131, 130101 }, { 132, 130202 }, { 133, 130301 }, { 134, 130401 },
	};
	int err = sim_cupti_start();

	if (!version)
		return E_PARAMETER;
	if (err && sim_level >= 133)
		return err; /* these answer nothing without a driver */
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].level <= sim_level)
			*version = known[i].version;
	return OK;
}

int cuptiGetTimestamp(uint64_t *timestamp)
{
	sim_cupti_start();
	if (!timestamp)
		return E_PARAMETER;
	for (int i = 1; i < CLIENTS; i++)
		if (sim_strict() && GET(sim_clients[i].used) && GET(sim_clients[i].multi))
			return E_NOT_COMPATIBLE;
	*timestamp = sim_ts();
	return OK;
}

int cuptiGetTimestamp_v2(struct client *c, uint64_t *timestamp)
{
	if (!sim_client_is(c) || !timestamp)
		return E_PARAMETER;
	*timestamp = sim_ts();
	return OK;
}

int cuptiActivityRegisterTimestampCallback(timestamp_fn fn)
{
	int err = sim_cupti_start();

	if (err || !fn)
		return err ? err : E_PARAMETER;
	sim_ts_set(fn);
	return OK;
}

int cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
	int err = sim_cupti_start();

	SET(sim_clients[0].attr[A_LATENCY], enable);
	return err;
}

int cuptiActivityEnableLaunchAttributes(uint8_t enable)
{
	(void)enable;
	return sim_cupti_start();
}

int cuptiActivityEnableDeviceGraph(uint8_t enable)
{
	(void)enable;
	return sim_cupti_start();
}

int cuptiActivityEnableAllocationSource(uint8_t enable)
{
	(void)enable;
	return sim_cupti_start();
}

int cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
	(void)enable;
	return sim_cupti_start();
}

int cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable)
{
	(void)enable;
	return sim_cupti_start();
}

/* The Hardware Event System is Blackwell's; SIM_HES_ERROR refuses it there too. */
int cuptiActivityEnableHWTrace(uint8_t enable)
{
	int err = sim_cupti_start();

	if (err || !enable)
		return err;
	err = (int)sim_fault_int("SIM_HES_ERROR", 0);
	if (!err && (!sim_drv->devices() || sim_drv->device(0)->major < 10))
		err = E_NOT_SUPPORTED;
	return err;
}

int cuptiGetContextId(CUcontext ctx, uint32_t *id)
{
	if (sim_cupti_start() || !ctx)
		return E_CONTEXT;
	*id = sim_drv->context_id(ctx, NULL);
	return OK;
}

int cuptiGetStreamId(CUcontext ctx, CUstream stream, uint32_t *id)
{
	(void)ctx;
	if (sim_cupti_start() || !id)
		return E_PARAMETER;
	*id = sim_drv->stream_id(stream);
	return *id ? OK : E_STREAM;
}

int cuptiGetStreamIdEx(CUcontext ctx, CUstream stream, uint8_t per_thread, uint32_t *id)
{
	return cuptiGetStreamId(ctx, !stream && per_thread ? CU_STREAM_PER_THREAD : stream, id);
}

int cuptiGetDeviceId(CUcontext ctx, uint32_t *id)
{
	if (sim_cupti_start() || !id)
		return E_PARAMETER;
	return sim_drv->context_id(ctx ? ctx : sim_drv->current(), id) ? OK : E_CONTEXT;
}

int cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
	if (sim_cupti_start() || !graph || !id)
		return E_PARAMETER;
	*id = sim_drv->graph_id(graph);
	return OK;
}

int cuptiGetGraphExecId(CUgraphExec exec, uint32_t *id)
{
	if (sim_cupti_start() || !exec || !id)
		return E_PARAMETER;
	*id = sim_drv->exec_id(exec);
	return OK;
}

int cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
	if (sim_cupti_start() || !node || !id)
		return E_PARAMETER;
	*id = sim_drv->node_id(node);
	return OK;
}

int cuptiGetCudaEventId(CUevent event, uint32_t *id)
{
	if (sim_cupti_start() || !event || !id)
		return E_PARAMETER;
	*id = sim_drv->event_id(event);
	return OK;
}

static const struct {
	int result;
	const char *name;
} results[] = {
	/* clang-format off */
	{ 0,   "CUPTI_SUCCESS" },
	{ 1,   "CUPTI_ERROR_INVALID_PARAMETER" },
	{ 2,   "CUPTI_ERROR_INVALID_DEVICE" },
	{ 3,   "CUPTI_ERROR_INVALID_CONTEXT" },
	{ 7,   "CUPTI_ERROR_INVALID_OPERATION" },
	{ 8,   "CUPTI_ERROR_OUT_OF_MEMORY" },
	{ 9,   "CUPTI_ERROR_HARDWARE" },
	{ 10,  "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT" },
	{ 12,  "CUPTI_ERROR_MAX_LIMIT_REACHED" },
	{ 14,  "CUPTI_ERROR_NOT_COMPATIBLE" },
	{ 15,  "CUPTI_ERROR_NOT_INITIALIZED" },
	{ 18,  "CUPTI_ERROR_QUEUE_EMPTY" },
	{ 20,  "CUPTI_ERROR_INVALID_STREAM" },
	{ 21,  "CUPTI_ERROR_INVALID_KIND" },
	{ 27,  "CUPTI_ERROR_NOT_SUPPORTED" },
	{ 33,  "CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED" },
	{ 35,  "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" },
	{ 39,  "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" },
	{ 40,  "CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES" },
	{ 41,  "CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED" },
	{ 42,  "CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED" },
	{ 43,  "CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED" },
	{ 999, "CUPTI_ERROR_UNKNOWN" },
	/* clang-format on */
};

int cuptiGetResultString(int result, const char **text)
{
	if (!text)
		return E_PARAMETER;
	for (size_t i = 0; i < sizeof(results) / sizeof(*results); i++)
		if (results[i].result == result) {
			*text = results[i].name;
			return OK;
		}
	return E_PARAMETER;
}

int cuptiGetErrorMessage(int result, const char **text)
{
	return cuptiGetResultString(result, text);
}

int cuptiGetLastError(void)
{
	return OK;
}

static uint32_t thread_id_type;

int cuptiSetThreadIdType(uint32_t type)
{
	if (type > 1)
		return E_NOT_SUPPORTED;
	thread_id_type = type;
	return OK;
}

int cuptiGetThreadIdType(uint32_t *type)
{
	if (!type)
		return E_PARAMETER;
	*type = thread_id_type;
	return OK;
}

/* SIM_VGPU: 1 passed through, 2 a share of a device. */
int cuptiDeviceVirtualizationMode(CUdevice dev, uint32_t *mode)
{
	if (sim_cupti_start() || dev < 0 || (uint32_t)dev >= sim_drv->devices())
		return E_DEVICE;
	*mode = (uint32_t)sim_fault_int("SIM_VGPU", 0);
	return OK;
}

int cuptiDeviceSupported(CUdevice dev, int *support)
{
	if (sim_cupti_start() || dev < 0 || (uint32_t)dev >= sim_drv->devices())
		return E_DEVICE;
	*support = 1;
	return OK;
}

int cuptiIsTracingSessionRunning(uint8_t *running)
{
	if (!running)
		return E_PARAMETER;
	*running = 0;
	for (int i = 0; i < CLIENTS; i++)
		*running |= GET(sim_clients[i].used) || GET(sim_clients[i].kinds);
	return OK;
}
