/* SPDX-License-Identifier: Apache-2.0 */
/* sync.c - events, and waiting: for an event, a stream, a context; host functions. */
#include <stdlib.h>

#include "driver.h"

enum { SYNC_EVENT = 1, SYNC_STREAM_WAIT = 2, SYNC_STREAM = 3, SYNC_CONTEXT = 4 };

static atomic_uint events_made;

/* Tells of a wait that lasted from `start` until now. */
static void told(struct sim_ctx *ctx, uint32_t stream, uint32_t type, uint32_t event,
		 uint64_t start)
{
	struct sim_tool *tool = sim_tool_get();
	struct sim_op op = { .kind = SIM_SYNC,
			     .corr = sim_me.corr,
			     .context = ctx->id,
			     .device = ctx->dev->id,
			     .stream = stream,
			     .start = start };

	if (!sim_wants(tool, SIM_SYNC))
		return;
	op.end = sim_now();
	op.sync.type = type;
	op.sync.event = event;
	tool->op(&op);
}

static uint64_t ready_of(struct sim_stream *s)
{
	uint64_t at;

	pthread_mutex_lock(&s->ctx->dev->lock);
	at = s == &s->ctx->legacy ? sim_stream_after(s) : s->ready;
	pthread_mutex_unlock(&s->ctx->dev->lock);
	return at;
}

static void synced(uint32_t cbid, struct sim_ctx *ctx, struct sim_stream *s)
{
	struct sim_tool *tool = sim_tool_get();

	if (tool && GET(tool->sync[cbid]))
		tool->synced(cbid, ctx, s);
}

/* A wait on a device that is lost ends at once, with an error. */
static CUresult wait_on(struct sim_device *dev, uint64_t until)
{
	if (dev->lost)
		return CUDA_ERROR_LAUNCH_FAILED;
	sim_wait(until);
	return CUDA_SUCCESS;
}

CUresult do_cuStreamSynchronize(CUstream stream)
{
	struct sim_stream *s;
	uint64_t start = sim_now();
	CUresult r = sim_stream_now(stream, &s);

	if (!r)
		r = wait_on(s->ctx->dev, ready_of(s));
	if (!r) {
		told(s->ctx, s->id, SYNC_STREAM, 0, start);
		synced(1, s->ctx, stream);
	}
	return r;
}

CUresult do_cuCtxSynchronize(void)
{
	struct sim_ctx *c;
	uint64_t start = sim_now(), until;
	CUresult r = sim_ctx_now(&c);

	if (r)
		return r;
	pthread_mutex_lock(&c->dev->lock);
	until = sim_stream_after(&c->legacy);
	for (struct sim_stream *s = c->streams; s; s = s->next)
		if (s->ready > until)
			until = s->ready;
	pthread_mutex_unlock(&c->dev->lock);
	r = wait_on(c->dev, until);
	if (!r) {
		told(c, UINT32_MAX, SYNC_CONTEXT, 0, start);
		synced(2, c, NULL);
	}
	return r;
}

CUresult do_cuStreamQuery(CUstream stream)
{
	struct sim_stream *s;
	CUresult r = sim_stream_now(stream, &s);

	return r ? r : ready_of(s) > sim_now() ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult do_cuEventCreate(CUevent *out, unsigned flags)
{
	struct sim_event *e = calloc(1, sizeof(*e));

	(void)flags;
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e->id = atomic_fetch_add(&events_made, 1) + 1;
	*out = e;
	return CUDA_SUCCESS;
}

CUresult do_cuEventDestroy_v2(CUevent event)
{
	free(event);
	return CUDA_SUCCESS;
}

CUresult do_cuEventRecord(CUevent event, CUstream stream)
{
	struct sim_stream *s;
	CUresult r = sim_stream_now(stream, &s);

	if (r || !event)
		return r ? r : CUDA_ERROR_INVALID_HANDLE;
	event->captured = s->capture ? s->captured : NULL;
	event->stream = s;
	pthread_mutex_lock(&s->ctx->dev->lock);
	event->at = sim_stream_after(s);
	if (event->at < sim_now())
		event->at = sim_now();
	event->recorded = true;
	pthread_mutex_unlock(&s->ctx->dev->lock);
	return CUDA_SUCCESS;
}

CUresult do_cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags)
{
	(void)flags;
	return do_cuEventRecord(event, stream);
}

CUresult do_cuEventQuery(CUevent event)
{
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	return event->recorded && event->at > sim_now() ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult do_cuEventSynchronize(CUevent event)
{
	uint64_t start = sim_now();
	CUresult r;

	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!event->recorded)
		return CUDA_SUCCESS;
	r = wait_on(event->stream->ctx->dev, event->at);
	if (!r)
		told(event->stream->ctx, UINT32_MAX, SYNC_EVENT, event->id, start);
	return r;
}

CUresult do_cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	if (!start || !end || !start->recorded || !end->recorded)
		return CUDA_ERROR_INVALID_HANDLE;
	if (do_cuEventQuery(start) || do_cuEventQuery(end))
		return CUDA_ERROR_NOT_READY;
	*ms = (float)((double)(int64_t)(end->at - start->at) / 1e6);
	return CUDA_SUCCESS;
}

CUresult do_cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
	return do_cuEventElapsedTime(ms, start, end);
}

CUresult do_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	struct sim_stream *s;
	uint64_t start = sim_now();
	CUresult r = sim_stream_now(stream, &s);

	(void)flags;
	if (r || !event)
		return r ? r : CUDA_ERROR_INVALID_HANDLE;
	if (event->captured && event->stream->capture) { /* joins the capture */
		s->capture = event->stream->capture;
		s->captured = event->captured;
		return CUDA_SUCCESS;
	}
	if (event->recorded) {
		pthread_mutex_lock(&s->ctx->dev->lock);
		sim_stream_done(s, event->at);
		pthread_mutex_unlock(&s->ctx->dev->lock);
	}
	told(s->ctx, s->id, SYNC_STREAM_WAIT, event->id, start);
	return CUDA_SUCCESS;
}

CUresult do_cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *arg)
{
	struct sim_stream *s;
	CUresult r = sim_stream_now(stream, &s);
	struct work w = { .type = CU_GRAPH_NODE_TYPE_HOST, .fn = fn, .arg = arg };

	if (r || !fn)
		return r ? r : CUDA_ERROR_INVALID_VALUE;
	return sim_submit(s, &w);
}

struct added {
	CUstreamCallback callback;
	CUstream stream;
	void *arg;
};

static void run_added(void *arg)
{
	struct added *a = arg;

	a->callback(a->stream, CUDA_SUCCESS, a->arg);
	free(a);
}

CUresult do_cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *arg,
				unsigned flags)
{
	struct added *a = malloc(sizeof(*a));

	if (!a || flags)
		return free(a), CUDA_ERROR_INVALID_VALUE;
	*a = (struct added){ callback, stream, arg };
	return do_cuLaunchHostFunc(stream, run_added, a);
}

/* What a program says to a tool of its own; the driver does nothing about it. */
CUresult do_cuProfilerStart(void)
{
	return CUDA_SUCCESS;
}

CUresult do_cuProfilerStop(void)
{
	return CUDA_SUCCESS;
}
