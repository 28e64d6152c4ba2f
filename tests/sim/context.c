/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - contexts, their streams and events, and waiting for them. */
#include <stdlib.h>

#include "driver.h"

#define LEGACY_ID     7 /* as CUPTI numbers a context's default stream */
#define FIRST_STREAM  13
#define PER_THREAD_ID 2

static pthread_mutex_t list_lock =
	PTHREAD_MUTEX_INITIALIZER; /* guards the list of contexts; before a device's */
static pthread_mutex_t primary_lock =
	PTHREAD_MUTEX_INITIALIZER; /* guards devices' primary, primary_refs */
static struct sim_ctx *contexts;
static uint32_t contexts_made;

static void op_of_context(const struct sim_ctx *c, struct sim_op *op)
{
	*op = (struct sim_op){
		.kind = SIM_CONTEXT, .device = c->dev->id, .context = c->id, .stream = LEGACY_ID
	};
}

static void op_of_stream(const struct sim_stream *s, struct sim_op *op)
{
	*op = (struct sim_op){
		.kind = SIM_STREAM, .corr = sim_me.corr, .context = s->ctx->id, .stream = s->id
	};
	op->stream_made.flag = s == &s->ctx->legacy ? 3 : s->flags & 1 ? 2 : 1;
	op->stream_made.priority = s->priority;
}

static void tell(uint32_t kind, const struct sim_op *op)
{
	struct sim_tool *tool = sim_tool_get();

	if (sim_wants(tool, kind))
		tool->op(op);
}

void sim_each_context(void (*fn)(const struct sim_op *op))
{
	struct sim_op op;

	pthread_mutex_lock(&list_lock);
	for (struct sim_ctx *c = contexts; c; c = c->next) {
		op_of_context(c, &op);
		fn(&op);
	}
	pthread_mutex_unlock(&list_lock);
}

void sim_each_stream(void (*fn)(const struct sim_op *op))
{
	struct sim_op op;

	pthread_mutex_lock(&list_lock);
	for (struct sim_ctx *c = contexts; c; c = c->next) {
		pthread_mutex_lock(&c->dev->lock);
		for (struct sim_stream *s = c->streams; s; s = s->next) {
			op_of_stream(s, &op);
			fn(&op);
		}
		pthread_mutex_unlock(&c->dev->lock);
	}
	pthread_mutex_unlock(&list_lock);
}

uint32_t sim_context_id(CUcontext ctx, uint32_t *device)
{
	if (ctx && device)
		*device = ctx->dev->id;
	return ctx ? ctx->id : 0;
}

uint32_t sim_event_id(CUevent e)
{
	return e->id;
}

static CUresult ctx_new(struct sim_device *dev, bool primary, struct sim_ctx **out)
{
	struct sim_ctx *c = calloc(1, sizeof(*c));
	struct sim_op op;

	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->dev = dev;
	c->primary = primary;
	c->legacy.ctx = c;
	c->legacy.id = LEGACY_ID;
	c->streams_made = FIRST_STREAM;
	pthread_mutex_lock(&list_lock);
	c->id = ++contexts_made;
	c->next = contexts;
	contexts = c;
	pthread_mutex_unlock(&list_lock);
	op_of_context(c, &op);
	tell(SIM_CONTEXT, &op);
	sim_resource(1, c, NULL, NULL);
	*out = c;
	return CUDA_SUCCESS;
}

static void ctx_free(struct sim_ctx *c)
{
	struct sim_stream *s;

	sim_resource(2, c, NULL, NULL);
	pthread_mutex_lock(&list_lock);
	for (struct sim_ctx **p = &contexts; *p; p = &(*p)->next)
		if (*p == c) {
			*p = c->next;
			break;
		}
	pthread_mutex_unlock(&list_lock);
	while ((s = c->streams)) {
		c->streams = s->next;
		free(s);
	}
	free(c);
}

static void push(struct sim_ctx *c)
{
	if (sim_me.depth < (int)ARRAY_LEN(sim_me.stack))
		sim_me.stack[sim_me.depth++] = c;
}

CUresult sim_ctx_now(struct sim_ctx **out)
{
	struct sim_ctx *c = sim_me.depth ? sim_me.stack[sim_me.depth - 1] : NULL;

	if (!c)
		return sim_ndevices ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_NOT_INITIALIZED;
	*out = c;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxCreate_v2(CUcontext *ctx, unsigned flags, CUdevice dev)
{
	CUresult r;

	(void)flags;
	if (dev < 0 || (uint32_t)dev >= sim_ndevices)
		return CUDA_ERROR_INVALID_DEVICE;
	r = ctx_new(&sim_devices[dev], false, ctx);
	if (!r)
		push(*ctx);
	return r;
}

CUresult do_cuCtxDestroy_v2(CUcontext ctx)
{
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (sim_me.depth && sim_me.stack[sim_me.depth - 1] == ctx)
		sim_me.depth--;
	ctx_free(ctx);
	return CUDA_SUCCESS;
}

CUresult do_cuCtxPushCurrent_v2(CUcontext ctx)
{
	push(ctx);
	return CUDA_SUCCESS;
}

CUresult do_cuCtxPopCurrent_v2(CUcontext *ctx)
{
	if (!sim_me.depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	sim_me.depth--;
	if (ctx)
		*ctx = sim_me.stack[sim_me.depth];
	return CUDA_SUCCESS;
}

CUresult do_cuCtxSetCurrent(CUcontext ctx)
{
	if (sim_me.depth)
		sim_me.depth--;
	if (ctx)
		push(ctx);
	return CUDA_SUCCESS;
}

CUresult do_cuCtxGetCurrent(CUcontext *ctx)
{
	*ctx = sim_me.depth ? sim_me.stack[sim_me.depth - 1] : NULL;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxGetDevice(CUdevice *dev)
{
	struct sim_ctx *c;
	CUresult r = sim_ctx_now(&c);

	if (!r)
		*dev = (int)c->dev->id;
	return r;
}

CUresult do_cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
	return peer && !flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return CUDA_SUCCESS;
}

CUresult do_cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev)
{
	struct sim_device *d;
	CUresult r = CUDA_SUCCESS;

	if (dev < 0 || (uint32_t)dev >= sim_ndevices)
		return CUDA_ERROR_INVALID_DEVICE;
	d = &sim_devices[dev];
	pthread_mutex_lock(&primary_lock);
	if (!d->primary)
		r = ctx_new(d, true, &d->primary);
	if (!r) {
		d->primary_refs++;
		*ctx = d->primary;
	}
	pthread_mutex_unlock(&primary_lock);
	return r;
}

CUresult do_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	struct sim_ctx *gone = NULL;
	struct sim_device *d;
	CUresult r = CUDA_SUCCESS;

	if (dev < 0 || (uint32_t)dev >= sim_ndevices)
		return CUDA_ERROR_INVALID_DEVICE;
	d = &sim_devices[dev];
	pthread_mutex_lock(&primary_lock);
	if (d->primary && --d->primary_refs == 0) {
		gone = d->primary;
		d->primary = NULL;
	} else if (!d->primary) {
		r = CUDA_ERROR_INVALID_CONTEXT;
	}
	pthread_mutex_unlock(&primary_lock);
	if (gone)
		ctx_free(gone);
	return r;
}

CUresult do_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned *flags, int *active)
{
	if (dev < 0 || (uint32_t)dev >= sim_ndevices)
		return CUDA_ERROR_INVALID_DEVICE;
	*flags = 0;
	*active = sim_devices[dev].primary != NULL;
	return CUDA_SUCCESS;
}

static CUresult stream_new(struct sim_ctx *c, unsigned flags, int priority, struct sim_stream **out)
{
	struct sim_stream *s = calloc(1, sizeof(*s));
	struct sim_op op;

	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	s->ctx = c;
	s->flags = flags;
	s->priority = priority;
	pthread_mutex_lock(&c->dev->lock);
	s->id = c->streams_made++;
	s->next = c->streams;
	c->streams = s;
	pthread_mutex_unlock(&c->dev->lock);
	op_of_stream(s, &op);
	tell(SIM_STREAM, &op);
	sim_resource(3, c, s, NULL);
	*out = s;
	return CUDA_SUCCESS;
}

/* The stream that a handle means in the thread's context. */
CUresult sim_stream_now(CUstream given, struct sim_stream **out)
{
	struct sim_ctx *c;
	CUresult r;

	if ((uintptr_t)given > 2) {
		*out = given;
		return CUDA_SUCCESS;
	}
	r = sim_ctx_now(&c);
	if (r)
		return r;
	if (given != CU_STREAM_PER_THREAD) {
		*out = &c->legacy;
		return CUDA_SUCCESS;
	}
	if (sim_me.own_ctx != c) {
		r = stream_new(c, 0, 0, &sim_me.own);
		if (r)
			return r;
		sim_me.own_ctx = c;
	}
	*out = sim_me.own;
	return CUDA_SUCCESS;
}

uint32_t sim_stream_id(CUstream given)
{
	struct sim_stream *s;

	return sim_stream_now(given, &s) ? 0 : s->id;
}

CUresult do_cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
	struct sim_ctx *c;
	CUresult r = sim_ctx_now(&c);

	return r ? r : stream_new(c, flags, priority, out);
}

CUresult do_cuStreamCreate(CUstream *out, unsigned flags)
{
	return do_cuStreamCreateWithPriority(out, flags, 0);
}

CUresult do_cuStreamDestroy_v2(CUstream gone)
{
	if ((uintptr_t)gone <= 2)
		return CUDA_ERROR_INVALID_HANDLE;
	sim_resource(4, gone->ctx, gone, NULL);
	pthread_mutex_lock(&gone->ctx->dev->lock);
	for (struct sim_stream **p = &gone->ctx->streams; *p; p = &(*p)->next)
		if (*p == gone) {
			*p = gone->next;
			break;
		}
	pthread_mutex_unlock(&gone->ctx->dev->lock);
	free(gone);
	return CUDA_SUCCESS;
}

CUresult do_cuStreamGetPriority(CUstream stream, int *priority)
{
	struct sim_stream *s;
	CUresult r = sim_stream_now(stream, &s);

	if (!r)
		*priority = s->priority;
	return r;
}

CUresult do_cuStreamGetFlags(CUstream stream, unsigned *flags)
{
	struct sim_stream *s;
	CUresult r = sim_stream_now(stream, &s);

	if (!r)
		*flags = s->flags;
	return r;
}

CUresult do_cuStreamGetCtx(CUstream stream, CUcontext *ctx)
{
	struct sim_stream *s;
	CUresult r = sim_stream_now(stream, &s);

	if (!r)
		*ctx = s->ctx;
	return r;
}
