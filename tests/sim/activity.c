/* SPDX-License-Identifier: Apache-2.0 */
/* activity.c - CUPTI's activity interface: kinds, attributes, walking a buffer, external ids. */
#include <stdlib.h>
#include <string.h>

#include "cupti.h"
#include "cupti_calls.h"

#define STACK     64
#define ENABLE_NS 5000000 /* SIM_STRICT */

/* The old calls act on what all share; in multi-subscriber mode they are refused. */
static int shared(struct client **out)
{
	int err = sim_cupti_start();

	for (int i = 1; i < CLIENTS && !err; i++)
		if (GET(sim_clients[i].used) && GET(sim_clients[i].multi))
			err = E_NOT_SUPPORTED;
	*out = &sim_clients[0];
	return err;
}

static int own(struct client *c)
{
	int err = sim_cupti_start();

	return err ? err : sim_client_is(c) ? OK : E_PARAMETER;
}

/* SIM_ENABLE_ERROR=[kind:]error */
static int refused(uint32_t kind)
{
	const char *s = sim_fault("SIM_ENABLE_ERROR"), *colon = s ? strchr(s, ':') : NULL;

	if (!s || (colon && (uint32_t)strtoul(s, NULL, 0) != kind))
		return OK;
	return (int)strtol(colon ? colon + 1 : s, NULL, 0);
}

/* All records of calls of the driver (0) or the runtime (1), or none. */
void sim_api_records(struct client *c, int domain, bool on)
{
	for (int k = 0; k < SIM_CBIDS; k++)
		SET(c->api[domain][k], on);
	SET(c->api_any[domain], false);
}

static int enable(struct client *c, uint32_t kind)
{
	int err = refused(kind);

	if (!err && !sim_stride(kind, sim_level))
		err = E_KIND;
	if (!err && kind == SIM_KERNEL && GET(c->kinds) >> SIM_KERNEL_SERIAL & 1)
		err = E_NOT_COMPATIBLE;
	if (err)
		return err;
	sim_fault_call("cuptiActivityEnable");
	sim_strict_lock();
	sim_strict_cost(ENABLE_NS);
	sim_pause_ms(sim_fault_int("SIM_ENABLE_MS", 0));
	if (kind == SIM_DRIVER || kind == SIM_RUNTIME)
		sim_api_records(c, kind == SIM_RUNTIME, true);
	__atomic_fetch_or(&c->kinds, 1ull << kind, __ATOMIC_RELAXED);
	sim_cupti_wishes();
	sim_strict_unlock();
	return OK;
}

static int disable(struct client *c, uint32_t kind)
{
	if (!sim_stride(kind, sim_level))
		return E_KIND;
	sim_strict_lock();
	sim_strict_cost(ENABLE_NS);
	if (kind == SIM_DRIVER || kind == SIM_RUNTIME)
		sim_api_records(c, kind == SIM_RUNTIME, false);
	__atomic_fetch_and(&c->kinds, ~(1ull << kind), __ATOMIC_RELAXED);
	sim_cupti_wishes();
	sim_strict_unlock();
	return OK;
}

static __thread struct client *dump_to;

static void dump_one(const struct sim_op *op)
{
	sim_emit(dump_to, op);
}

static int enable_and_dump(struct client *c, uint32_t kind)
{
	int err = enable(c, kind);

	if (err)
		return err;
	dump_to = c;
	if (kind == SIM_CONTEXT)
		sim_drv->contexts(dump_one);
	else if (kind == SIM_STREAM)
		sim_drv->streams(dump_one);
	for (uint32_t i = 0; kind == SIM_DEVICE && i < sim_drv->devices(); i++)
		sim_emit(c, &(struct sim_op){ .kind = SIM_DEVICE, .device = i });
	return OK;
}

int cuptiActivityEnable(uint32_t kind)
{
	struct client *c;
	int err = shared(&c);

	return err ? err : enable(c, kind);
}

int cuptiActivityEnable_v2(struct client *c, uint32_t kind, void *config)
{
	int err = own(c);

	(void)config;
	return err ? err : enable(c, kind);
}

int cuptiActivityEnableAndDump(uint32_t kind)
{
	struct client *c;
	int err = shared(&c);

	return err ? err : enable_and_dump(c, kind);
}

int cuptiActivityEnableAndDump_v2(struct client *c, uint32_t kind, void *config)
{
	int err = own(c);

	(void)config;
	return err ? err : enable_and_dump(c, kind);
}

int cuptiActivityDisable(uint32_t kind)
{
	struct client *c;
	int err = shared(&c);

	return err ? err : disable(c, kind);
}

int cuptiActivityDisable_v2(struct client *c, uint32_t kind, void *config)
{
	int err = own(c);

	(void)config;
	return err ? err : disable(c, kind);
}

int cuptiActivityGetEnabledKinds(struct client *c, uint32_t *buf, uint32_t *size, uint32_t *count)
{
	uint64_t kinds = 0;
	uint32_t n = 0;

	if (!count || (c && own(c)) || (buf && !size))
		return E_PARAMETER;
	for (int i = 0; i < CLIENTS; i++)
		if (!c || c == &sim_clients[i])
			kinds |= GET(sim_clients[i].kinds);
	for (uint32_t k = 0; k < SIM_KINDS; k++)
		if (kinds >> k & 1) {
			if (buf && n < *size)
				buf[n] = k;
			n++;
		}
	*count = n;
	return OK;
}

static int api_filter(struct client *c, int domain, uint32_t cbid, uint8_t on)
{
	if (cbid >= SIM_CBIDS)
		return E_PARAMETER;
	SET(c->api[domain][cbid], on);
	if (on)
		SET(c->api_any[domain], true);
	sim_cupti_wishes();
	return OK;
}

int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t on)
{
	struct client *c;
	int err = shared(&c);

	return err ? err : api_filter(c, 0, cbid, on);
}

int cuptiActivityEnableDriverApi_v2(struct client *c, uint32_t cbid, uint8_t on)
{
	int err = own(c);

	return err ? err : api_filter(c, 0, cbid, on);
}

int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t on)
{
	struct client *c;
	int err = shared(&c);

	return err ? err : api_filter(c, 1, cbid, on);
}

int cuptiActivityEnableRuntimeApi_v2(struct client *c, uint32_t cbid, uint8_t on)
{
	int err = own(c);

	return err ? err : api_filter(c, 1, cbid, on);
}

int cuptiActivityRegisterCallbacks(request_fn request, complete_fn complete)
{
	struct client *c;
	int err = shared(&c);

	if (err || !request || !complete)
		return err ? err : E_PARAMETER;
	err = (int)sim_fault_int("SIM_REGISTER_ERROR", 0);
	if (err)
		return err;
	c->request = request;
	c->complete = complete;
	return OK;
}

int cuptiActivityRegisterCallbacks_v2(struct client *c, request2_fn request, complete2_fn complete)
{
	int err = own(c);

	if (err || !request || !complete)
		return err ? err : E_PARAMETER;
	c->request2 = request;
	c->complete2 = complete;
	return OK;
}

/* Needs no driver, as in 11.8 to 13.1. Old ones answer UNKNOWN to a kind they do not know. */
int cuptiActivityGetNextRecord(uint8_t *buf, size_t valid, uint8_t **record)
{
	uint8_t *at = buf;
	uint32_t kind, stride;

	sim_cupti_start();
	if (!buf || !record)
		return E_PARAMETER;
	if (*record) {
		memcpy(&kind, *record, sizeof(kind));
		stride = sim_stride(kind, sim_level);
		if (!stride)
			return sim_level < 122 ? E_UNKNOWN : E_KIND;
		at = *record + stride;
	}
	if (at + sizeof(kind) > buf + valid)
		return E_MAX_LIMIT;
	memcpy(&kind, at, sizeof(kind));
	stride = sim_stride(kind, sim_level);
	if (!stride)
		return sim_level < 122 ? E_UNKNOWN : E_KIND;
	if (at + stride > buf + valid)
		return E_MAX_LIMIT;
	*record = at;
	return OK;
}

int cuptiActivityGetNextRecord_v2(struct client *c, uint8_t *buf, size_t valid, uint8_t **record)
{
	int err = own(c);

	return err ? err : cuptiActivityGetNextRecord(buf, valid, record);
}

int cuptiActivityGetNumDroppedRecords(CUcontext ctx, uint32_t stream, size_t *dropped)
{
	struct client *c;
	int err = shared(&c);

	(void)ctx, (void)stream;
	if (err || !dropped)
		return err ? err : E_PARAMETER;
	*dropped = atomic_exchange(&c->dropped, 0);
	return OK;
}

int cuptiActivityGetNumDroppedRecords_v2(struct client *c, CUcontext ctx, uint32_t stream,
					 size_t *dropped)
{
	int err = own(c);

	(void)ctx, (void)stream;
	if (err || !dropped)
		return err ? err : E_PARAMETER;
	*dropped = atomic_exchange(&c->dropped, 0);
	return OK;
}

int cuptiActivityFlushAll(uint32_t flag)
{
	int err = sim_cupti_start();
	bool any = false;

	for (int i = 0; i < CLIENTS; i++)
		any |= sim_clients[i].request || sim_clients[i].request2;
	if (!err && !any)
		err = E_OPERATION;
	return err ? err : sim_flush(flag);
}

int cuptiActivityFlush(CUcontext ctx, uint32_t stream, uint32_t flag)
{
	(void)ctx, (void)stream;
	return cuptiActivityFlushAll(flag);
}

int cuptiActivityFlushPeriod(uint32_t ms)
{
	int err = sim_cupti_start();

	if (!err)
		sim_period(ms);
	return err;
}

/* Attributes: the version that brought each, and its size. */
static const struct {
	int first;
	uint8_t bytes;
} attrs[ATTRS] = {
	/* clang-format off */
	[0] = { 118, 8 },  [1] = { 118, 8 },  [2] = { 118, 8 },  [3] = { 118, 8 },  [4] = { 118, 8 },
	[5] = { 118, 1 },  [6] = { 118, 8 },  [7] = { 118, 8 },  [8] = { 118, 8 },  [9] = { 123, 1 },
	[10] = { 128, 8 }, [11] = { 132, 1 }, [12] = { 132, 1 }, [13] = { 132, 1 }, [14] = { 132, 1 },
	[15] = { 132, 1 }, [16] = { 132, 1 }, [17] = { 132, 1 }, [18] = { 132, 1 }, [19] = { 132, 1 },
	[20] = { 132, 1 }, [21] = { 133, 4 }, [22] = { 134, 8 }, [23] = { 132, 1 },
	/* clang-format on */
};

static int attr_check(uint32_t attr, const size_t *size, const void *value)
{
	if (!size || !value || attr >= ATTRS || !attrs[attr].first || attrs[attr].first > sim_level)
		return E_PARAMETER;
	return *size < attrs[attr].bytes ? E_SIZE : OK;
}

static int attr_get(struct client *c, uint32_t attr, size_t *size, void *value)
{
	uint64_t v;
	int err = attr_check(attr, size, value);

	if (err)
		return err;
	v = GET(c->attr[attr]);
	if (attr == A_MULTI) {
		v = 2;
		for (int i = 1; i < CLIENTS; i++)
			if (GET(sim_clients[i].used))
				v = GET(sim_clients[i].multi);
	}
	memcpy(value, &v, attrs[attr].bytes);
	*size = attrs[attr].bytes;
	return OK;
}

static int attr_set(struct client *c, uint32_t attr, size_t *size, const void *value)
{
	uint64_t v = 0;
	int err = attr_check(attr, size, value);

	if (err || attr == A_MULTI)
		return err ? err : E_NOT_SUPPORTED;
	memcpy(&v, value, attrs[attr].bytes);
	if (attr == A_UDR && v)
		return E_NOT_SUPPORTED; /* the stand-in has no user-defined records */
	if (attr == A_HES && v)
		return cuptiActivityEnableHWTrace(1);
	if (attr == A_PER_THREAD && sim_slots_used(c))
		return E_NOT_COMPATIBLE; /* too late: buffers are in use */
	if (attr == A_TIMESTAMP)
		sim_ts_set((timestamp_fn)(uintptr_t)v);
	SET(c->attr[attr], v);
	sim_cupti_wishes();
	return OK;
}

int cuptiActivityGetAttribute(uint32_t attr, size_t *size, void *value)
{
	struct client *c;
	int err = shared(&c);

	return err ? err : attr_get(c, attr, size, value);
}

int cuptiActivityGetAttribute_v2(struct client *c, uint32_t attr, size_t *size, void *value)
{
	int err = own(c);

	return err ? err : attr_get(c, attr, size, value);
}

int cuptiActivitySetAttribute(uint32_t attr, size_t *size, void *value)
{
	struct client *c;
	int err = shared(&c);

	return err ? err : attr_set(c, attr, size, value);
}

int cuptiActivitySetAttribute_v2(struct client *c, uint32_t attr, size_t *size, void *value)
{
	int err = own(c);

	return err ? err : attr_set(c, attr, size, value);
}

int cuptiActivityGetStructSize(uint32_t kind, uint32_t version, size_t *size)
{
	uint32_t bytes;

	sim_cupti_start();
	if (!size || (version && version < 130000))
		return E_PARAMETER;
	bytes = sim_stride(kind, version ? (int)(version / 1000) : sim_level);
	if (!bytes)
		return E_KIND;
	*size = bytes;
	return OK;
}

static __thread struct {
	uint64_t id[STACK];
	uint32_t n;
} external[CLIENTS][EXTERNALS];

static int push(struct client *c, uint32_t kind, uint64_t id)
{
	uint32_t i = (uint32_t)(c - sim_clients);

	if (!kind || kind >= EXTERNALS || external[i][kind].n == STACK)
		return E_PARAMETER;
	external[i][kind].id[external[i][kind].n++] = id;
	return OK;
}

static int pop(struct client *c, uint32_t kind, uint64_t *last)
{
	uint32_t i = (uint32_t)(c - sim_clients);

	if (!kind || kind >= EXTERNALS)
		return E_PARAMETER;
	if (!external[i][kind].n)
		return E_QUEUE_EMPTY;
	external[i][kind].n--;
	if (last)
		*last = external[i][kind].id[external[i][kind].n];
	return OK;
}

void sim_externals(struct client *c, uint32_t corr)
{
	uint32_t i = (uint32_t)(c - sim_clients);

	if (!(GET(c->kinds) >> SIM_EXTERNAL & 1))
		return;
	for (uint32_t k = 1; k < EXTERNALS; k++)
		if (external[i][k].n) {
			struct sim_op o = { .kind = SIM_EXTERNAL, .corr = corr };

			o.external.kind = k;
			o.external.id = external[i][k].id[external[i][k].n - 1];
			sim_emit(c, &o);
		}
}

int cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id)
{
	struct client *c;
	int err = shared(&c);

	return err ? err : push(c, kind, id);
}

int cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last)
{
	struct client *c;
	int err = shared(&c);

	return err ? err : pop(c, kind, last);
}

int cuptiActivityPushExternalCorrelationId_v2(struct client *c, uint32_t kind, uint64_t id)
{
	int err = own(c);

	return err ? err : push(c, kind, id);
}

int cuptiActivityPopExternalCorrelationId_v2(struct client *c, uint32_t kind, uint64_t *last)
{
	int err = own(c);

	return err ? err : pop(c, kind, last);
}
