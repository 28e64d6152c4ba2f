/* SPDX-License-Identifier: Apache-2.0 */
/*
 * submit.c - hands work to a stream: into the graph that captures it, or into the model and to
 * the tool. Host functions run on one thread of the driver, when their turn has come.
 */
#include <stdlib.h>
#include <unistd.h>

#include "driver.h"

static void tell(struct sim_tool *tool, const struct sim_op *op)
{
	if (sim_wants(tool, op->kind) ||
	    (op->kind == SIM_KERNEL && sim_wants(tool, SIM_KERNEL_SERIAL)))
		tool->op(op);
}

CUresult sim_submit(struct sim_stream *s, struct work *w)
{
	struct sim_device *dev = s->ctx->dev;
	struct sim_tool *tool = sim_tool_get();
	uint64_t *slot, now, full;

	if (s->capture)
		return sim_capture(s, w);
	w->op.device = dev->id;
	w->op.context = s->ctx->id;
	w->op.stream = s->id;
	w->op.corr = sim_me.corr;
	pthread_mutex_lock(&dev->lock);
	now = sim_now();
	for (;;) {
		slot = &s->ends[s->launches % QUEUE_MAX];
		full = *slot;
		if (full <= now || full >= SIM_NEVER)
			break;
		pthread_mutex_unlock(&dev->lock);
		sim_wait(full); /* the queue is full: a launch waits, as with the real one */
		pthread_mutex_lock(&dev->lock);
		now = sim_now();
	}
	sim_place(s, w, sim_stream_after(s), now);
	sim_stream_done(s, w->op.end);
	*slot = w->op.end;
	s->launches++;
	pthread_mutex_unlock(&dev->lock);
	if (w->type == CU_GRAPH_NODE_TYPE_HOST)
		sim_host_call(w->op.start, w->fn, w->arg);
	else if (tool)
		tell(tool, &w->op);
	return CUDA_SUCCESS;
}

/* Host functions, by the time at which they are due. */
struct due {
	struct due *next;
	uint64_t at;
	CUhostFn fn;
	void *arg;
};

static pthread_mutex_t due_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the two below */
static pthread_cond_t due_more = PTHREAD_COND_INITIALIZER;
static struct due *due_first;
static pid_t due_thread_of; /* the process whose thread serves them */

static void *host_main(void *arg)
{
	struct due *d;

	for (;;) {
		pthread_mutex_lock(&due_lock);
		while (!due_first)
			pthread_cond_wait(&due_more, &due_lock);
		d = due_first;
		if (d->at > sim_now()) {
			pthread_mutex_unlock(&due_lock);
			sim_wait(sim_now() + 20000);
			continue;
		}
		due_first = d->next;
		pthread_mutex_unlock(&due_lock);
		d->fn(d->arg);
		free(d);
	}
	return arg;
}

void sim_host_call(uint64_t at, CUhostFn fn, void *arg)
{
	struct due *d = malloc(sizeof(*d)), **p;
	pthread_t t;

	if (!d)
		return;
	*d = (struct due){ .at = at, .fn = fn, .arg = arg };
	pthread_mutex_lock(&due_lock);
	if (due_thread_of != getpid() && !pthread_create(&t, NULL, host_main, NULL)) {
		pthread_detach(t);
		due_thread_of = getpid();
	}
	for (p = &due_first; *p && (*p)->at <= at; p = &(*p)->next)
		;
	d->next = *p;
	*p = d;
	pthread_cond_signal(&due_more);
	pthread_mutex_unlock(&due_lock);
}
