/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.c - queues as the app makes and leaves them; each has a slot while we follow it.
 *
 * A queue is made with profiling on, which the app does not get to see (info.c). Slots, and with
 * them the numbers of lanes, are used again. A queue that is left while it works keeps its slot
 * until its last command is done.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "probe/opencl/layer.h"

#define HANDLES (QUEUES * 4)
#define WAS     1u

/* --- handles --- */

static uint32_t hash(cl_command_queue handle)
{
	return (uint32_t)(((uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15ull >> 40);
}

/* Where the handle is, or (add) could be; NULL: nowhere. */
static _Atomic uint64_t *place(cl_command_queue handle, bool add)
{
	uint32_t h = hash(handle);
	_Atomic uint64_t *at;

	for (uint32_t i = 0; i < HANDLES; i++) {
		uint64_t v;

		at = &layer->by_handle[(h + i) % HANDLES];
		/* Pairs with the release in enter(). */
		v = atomic_load_explicit(at, memory_order_acquire);
		if (add ? v <= WAS : v >> 16 == (uintptr_t)handle && v > WAS)
			return at;
		if (!add && !v)
			return NULL;
	}
	return NULL;
}

struct queue *queue_find(cl_command_queue handle)
{
	_Atomic uint64_t *at = place(handle, false);

	return at ? &layer->queue[atomic_load_explicit(at, memory_order_relaxed) & 0xffff] : NULL;
}

struct queue *queue_of_event(cl_event event)
{
	cl_command_queue handle = NULL;

	if (next()->clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(handle), &handle, NULL) ||
	    !handle)
		return NULL;
	return queue_find(handle);
}

/* The lock of the layer is held. */
static void enter(struct queue *q, cl_command_queue handle)
{
	_Atomic uint64_t *at = place(handle, true);

	if (at && (uintptr_t)handle >> 48 == 0)
		atomic_store_explicit(at, (uint64_t)(uintptr_t)handle << 16 | (q - layer->queue),
				      memory_order_release);
}

static void leave(cl_command_queue handle)
{
	_Atomic uint64_t *at;

	pthread_mutex_lock(&layer->lock);
	at = place(handle, false);
	if (at)
		atomic_store_explicit(at, WAS, memory_order_relaxed);
	pthread_mutex_unlock(&layer->lock);
}

/* --- devices and contexts: numbers for lanes --- */

static struct device *device_add(cl_device_id id)
{
	struct device *d = &layer->device[layer->device_count];

	if (layer->device_count == DEVICES)
		return NULL;
	d->id = id;
	layer->device_count++;
	return d;
}

/* As every process counts them: platform by platform. Parts of a device come after. */
static void device_list(void)
{
	cl_platform_id platform[16];
	cl_device_id id[DEVICES];
	cl_uint platforms = 0, n;

	if (next()->clGetPlatformIDs(16, platform, &platforms))
		return;
	for (cl_uint p = 0; p < platforms && p < 16; p++) {
		n = 0;
		if (next()->clGetDeviceIDs(platform[p], CL_DEVICE_TYPE_ALL, DEVICES, id, &n))
			continue;
		for (cl_uint i = 0; i < n && i < DEVICES; i++)
			device_add(id[i]);
	}
}

void queue_sampled(struct device *d, uint64_t dev_ns, uint64_t before_ns, uint64_t after_ns,
		   struct dev_clock *out)
{
	pthread_mutex_lock(&d->lock);
	dev_clock_sample(&d->clock, dev_ns, before_ns, after_ns);
	*out = d->clock;
	pthread_mutex_unlock(&d->lock);
	atomic_store_explicit(&d->known, out->known, memory_order_relaxed);
}

void queue_sample(struct device *d)
{
	struct dev_clock now;
	cl_ulong dev, host;
	uint64_t before, after;

	if (!d->timer)
		return;
	before = host_ns();
	pthread_mutex_lock(&d->lock);
	now = d->clock;
	pthread_mutex_unlock(&d->lock);
	if (now.known && before - now.at_ns < SAMPLE_NS)
		return; /* it may be a system call */
	if (next()->clGetDeviceAndHostTimer(d->id, &dev, &host))
		return;
	after = host_ns();
	queue_sampled(d, dev, before, after, &now);
}

/* The lock of the layer is held. */
static struct device *device_of(cl_device_id id)
{
	struct device *d = NULL;
	cl_ulong dev, host;

	if (!layer->device_count)
		device_list();
	for (uint32_t i = 0; i < layer->device_count && !d; i++)
		d = layer->device[i].id == id ? &layer->device[i] : NULL;
	d = d ? d : device_add(id);
	if (d && !atomic_load_explicit(&d->known, memory_order_relaxed)) {
		d->timer = next()->clGetDeviceAndHostTimer &&
			   !next()->clGetDeviceAndHostTimer(id, &dev, &host);
		queue_sample(d);
	}
	return d;
}

/* The lock of the layer is held. */
static uint32_t context_of(cl_context context)
{
	uint32_t i = 0;

	while (i < layer->context_count && layer->context[i] != context)
		i++;
	if (i == layer->context_count && i < CONTEXTS)
		layer->context[layer->context_count++] = context;
	return i;
}

/* --- slots --- */

static struct queue *slot_take(void)
{
	struct queue *q = NULL;

	harvest_orphans();
	pthread_mutex_lock(&layer->lock);
	for (uint32_t i = 0; i < QUEUES && !q; i++)
		if (atomic_load_explicit(&layer->queue[i].state, memory_order_relaxed) == SLOT_FREE)
			q = &layer->queue[i];
	if (q)
		atomic_store_explicit(&q->state, SLOT_TAKEN, memory_order_relaxed);
	pthread_mutex_unlock(&layer->lock);
	return q;
}

static void slot_free(struct queue *q)
{
	atomic_store_explicit(&q->state, SLOT_FREE, memory_order_relaxed);
}

/* A left queue whose commands are all known. */
void queue_give(struct queue *q)
{
	pthread_mutex_lock(&layer->lock);
	brief_take(&q->lock);
	if (q->head == q->tail &&
	    atomic_load_explicit(&q->state, memory_order_relaxed) == SLOT_ORPHAN) {
		int saved = errno;

		if (q->list)
			munmap(q->list, q->room * sizeof(*q->list));
		errno = saved;
		q->list = NULL;
		q->head = q->tail = q->room = q->pushed = 0;
		slot_free(q);
	}
	brief_give(&q->lock);
	pthread_mutex_unlock(&layer->lock);
}

static void slot_use(struct queue *q, cl_command_queue handle, cl_context context,
		     cl_device_id device, cl_command_queue_properties asked)
{
	uint32_t number = (uint32_t)(q - layer->queue), of, ctx;

	pthread_mutex_lock(&layer->lock);
	q->device = device_of(device);
	if (!q->device) {
		slot_free(q);
		goto unlock;
	}
	of = (uint32_t)(q->device - layer->device);
	ctx = context_of(context);
	q->lane = aon_lane(of, ctx, number, NULL);
	q->wait_lane = aon_lane(of, ctx, number, "waiting");
	q->forced = !(asked & CL_QUEUE_PROFILING_ENABLE);
	q->disordered = asked & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
	atomic_store_explicit(&q->sampled_tsc, 0, memory_order_relaxed);
	atomic_store_explicit(&q->refs, 1, memory_order_relaxed);
	if (q->forced)
		atomic_fetch_add_explicit(&layer->forced_live, 1, memory_order_relaxed);
	atomic_store_explicit(&q->state, SLOT_LIVE, memory_order_release);
	enter(q, handle);
	if (!layer->exit_hooked)
		layer->exit_hooked = !atexit(harvest_at_exit);
unlock:
	pthread_mutex_unlock(&layer->lock);
}

/* --- calls --- */

static struct queue *wanted_slot(void)
{
	if (!layer_wanted())
		return NULL;
	aon_join(0); /* hears the daemon's answer, if it came */
	return layer_wanted() ? slot_take() : NULL;
}

static cl_command_queue CL_API_CALL on_clCreateCommandQueue(cl_context context, cl_device_id device,
							    cl_command_queue_properties asked,
							    cl_int *err)
{
	struct queue *q = wanted_slot();
	cl_command_queue handle = NULL;

	if (q)
		handle = next()->clCreateCommandQueue(context, device,
						      asked | CL_QUEUE_PROFILING_ENABLE, err);
	if (handle) {
		q->props_used = 0;
		slot_use(q, handle, context, device, asked);
		return handle;
	}
	if (q)
		slot_free(q);
	return next()->clCreateCommandQueue(context, device, asked, err);
}

/* The app's properties with profiling on; false: leave them as they are. */
static bool with_profiling(const cl_queue_properties *from, cl_queue_properties to[PROPS + 2],
			   cl_command_queue_properties *asked, uint32_t *used)
{
	uint32_t n = 0;
	bool there = false;

	*asked = 0;
	for (; from && from[n]; n += 2) {
		if (n + 2 >= PROPS)
			return false;
		to[n] = from[n];
		to[n + 1] = from[n + 1];
		if (from[n] == CL_QUEUE_PROPERTIES) {
			*asked = from[n + 1];
			to[n + 1] |= CL_QUEUE_PROFILING_ENABLE;
			there = true;
		}
	}
	*used = from ? n + 1 : 0;
	if (!there) {
		to[n++] = CL_QUEUE_PROPERTIES;
		to[n++] = CL_QUEUE_PROFILING_ENABLE;
	}
	to[n] = 0;
	return !(*asked & CL_QUEUE_ON_DEVICE);
}

static cl_command_queue CL_API_CALL on_clCreateCommandQueueWithProperties(
	cl_context context, cl_device_id device, const cl_queue_properties *props, cl_int *err)
{
	cl_queue_properties ours[PROPS + 2];
	cl_command_queue_properties asked;
	cl_command_queue handle = NULL;
	struct queue *q = NULL;
	uint32_t used;

	if (with_profiling(props, ours, &asked, &used))
		q = wanted_slot();
	if (q)
		handle = next()->clCreateCommandQueueWithProperties(context, device, ours, err);
	if (handle) {
		q->props_used = used;
		if (used)
			memcpy(q->props, props, used * sizeof(*props));
		slot_use(q, handle, context, device, asked);
		return handle;
	}
	if (q)
		slot_free(q);
	return next()->clCreateCommandQueueWithProperties(context, device, props, err);
}

static cl_int CL_API_CALL on_clRetainCommandQueue(cl_command_queue handle)
{
	cl_int r = next()->clRetainCommandQueue(handle);
	struct queue *q = layer->on && !r ? queue_find(handle) : NULL;

	if (q)
		atomic_fetch_add_explicit(&q->refs, 1, memory_order_relaxed);
	return r;
}

static cl_int CL_API_CALL on_clReleaseCommandQueue(cl_command_queue handle)
{
	struct queue *q = layer->on ? queue_find(handle) : NULL;
	cl_int r;

	if (!q || atomic_fetch_sub_explicit(&q->refs, 1, memory_order_acq_rel) != 1)
		return next()->clReleaseCommandQueue(handle);
	/* Before the driver may give the handle to another queue. */
	leave(handle);
	harvest(q, true);
	r = next()->clReleaseCommandQueue(handle);
	if (q->forced)
		atomic_fetch_sub_explicit(&layer->forced_live, 1, memory_order_relaxed);
	atomic_store_explicit(&q->state, SLOT_ORPHAN, memory_order_release);
	harvest(q, true);
	queue_give(q);
	return r;
}

void queue_install(cl_icd_dispatch *ours)
{
	INSTALL(ours, clCreateCommandQueue);
	INSTALL(ours, clCreateCommandQueueWithProperties);
	INSTALL(ours, clRetainCommandQueue);
	INSTALL(ours, clReleaseCommandQueue);
}
