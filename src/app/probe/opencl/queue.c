/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.c - queues, from their creation to their release; each has a slot while the layer follows
 * it.
 *
 * A queue is created with profiling on, which is hidden from the app (info.c). Slots, and with them
 * the numbers of tracks, are reused. A queue that is released while it works keeps its slot until
 * its last command is done.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "probe/opencl/layer.h"

#define HANDLES (QUEUES * 4)
#define WAS     1u
#define WAITING 10000u /* plus a queue's number: what its commands wait for */

/* --- handles --- */

static uint32_t hash(cl_command_queue handle)
{
	return (uint32_t)(((uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15ull >> 40);
}

/* Where the handle is, and in *v what is there; NULL: nowhere. */
static _Atomic uint64_t *place(cl_command_queue handle, uint64_t *v)
{
	uint32_t h = hash(handle);

	for (uint32_t i = 0; i < HANDLES; i++) {
		_Atomic uint64_t *at = &layer->by_handle[(h + i) % HANDLES];

		/* Pairs with the release in enter(). */
		*v = atomic_load_explicit(at, memory_order_acquire);
		if (*v >> 16 == (uintptr_t)handle && *v > WAS)
			return at;
		if (!*v)
			return NULL;
	}
	return NULL;
}

struct cl_queue *queue_find(cl_command_queue handle)
{
	uint64_t v;

	return place(handle, &v) ? &layer->queue[v & 0xffff] : NULL;
}

struct cl_queue *queue_of_event(cl_event event)
{
	cl_command_queue handle = NULL;

	if (next()->clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(handle), &handle, NULL) ||
	    !handle)
		return NULL;
	return queue_find(handle);
}

/* Nobody else enters or leaves this handle: it is new, or about to go. */
static void enter(struct cl_queue *q, cl_command_queue handle)
{
	uint64_t v = (uint64_t)(uintptr_t)handle << 16 | (uint64_t)(q - layer->queue);
	uint32_t h = hash(handle);

	if ((uintptr_t)handle >> 48)
		return;
	for (uint32_t i = 0; i < HANDLES; i++) {
		_Atomic uint64_t *at = &layer->by_handle[(h + i) % HANDLES];
		uint64_t there = atomic_load_explicit(at, memory_order_relaxed);

		if (there <= WAS &&
		    atomic_compare_exchange_strong_explicit(at, &there, v, memory_order_release,
							    memory_order_relaxed))
			return;
	}
}

static void leave(cl_command_queue handle)
{
	uint64_t v;
	_Atomic uint64_t *at = place(handle, &v);

	if (at)
		atomic_store_explicit(at, WAS, memory_order_relaxed);
}

/* The context's number; contexts are only ever added, later ones share one. */
static uint32_t context_of(cl_context context)
{
	uint32_t i;

	for (i = 0; i < CONTEXTS; i++) {
		cl_context there = NULL;

		if (atomic_compare_exchange_strong_explicit(&layer->context[i], &there, context,
							    memory_order_relaxed,
							    memory_order_relaxed) ||
		    there == context)
			break;
	}
	return i;
}

/* --- slots --- */

static void slot_free(struct cl_queue *q)
{
	/* Pairs with the acquire in slot_take(). */
	atomic_store_explicit(&q->state, SLOT_FREE, memory_order_release);
}

static struct cl_queue *slot_take(void)
{
	harvest_orphans();
	for (uint32_t i = 0; i < QUEUES; i++) {
		struct cl_queue *q = &layer->queue[i];
		uint32_t want = SLOT_FREE;

		if (!atomic_compare_exchange_strong_explicit(&q->state, &want, SLOT_TAKEN,
							     memory_order_acquire,
							     memory_order_relaxed))
			continue;
		if (pending_make(q))
			return q;
		slot_free(q);
		return NULL;
	}
	return NULL;
}

/* A left queue whose commands are all known. */
void queue_give(struct cl_queue *q)
{
	if (!turn_take(&q->harvesting))
		return;
	if (atomic_load_explicit(&q->state, memory_order_relaxed) == SLOT_ORPHAN &&
	    !pending_left(q)) {
		pending_clear(q);
		slot_free(q);
	}
	turn_give(&q->harvesting);
}

void queue_unhide(struct cl_queue *q)
{
	if (atomic_exchange_explicit(&q->forced, 0, memory_order_relaxed))
		atomic_fetch_sub_explicit(&layer->forced_live, 1, memory_order_relaxed);
}

/* The residual overhead of a command that is not timed: to find its queue, and to count it. The
 * driver's cost of profiling that the app did not request is unknown. */
static void calibrate(cl_command_queue handle)
{
	enum { CALLS = 256, TURNS = 8 };
	uint64_t best = UINT64_MAX;

	for (int turn = 0; turn < TURNS; turn++) {
		uint64_t from = clock_mono_ns(), took;

		for (int i = 0; i < CALLS; i++)
			aon_heartbeat_launch((uint32_t)(queue_find(handle) != NULL), 0);
		took = clock_mono_ns() - from;
		best = took < best ? took : best;
	}
	aon_stays_launch((uint32_t)(best * 16 / CALLS));
}

static void slot_use(struct cl_queue *q, cl_command_queue handle, cl_context context,
		     cl_device_id device, cl_command_queue_properties asked)
{
	uint32_t number = (uint32_t)(q - layer->queue), of, ctx;

	q->device = device_of(device);
	if (!q->device) {
		slot_free(q);
		return;
	}
	of = (uint32_t)(q->device - layer->device);
	ctx = context_of(context);
	q->track = aon_track(of, ctx, number, NULL);
	q->wait_track = aon_track(of, ctx, WAITING + number, "waiting");
	q->disordered = asked & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
	atomic_store_explicit(&q->sampled_tsc, 0, memory_order_relaxed);
	atomic_store_explicit(&q->refs, 1, memory_order_relaxed);
	if (!(asked & CL_QUEUE_PROFILING_ENABLE)) {
		atomic_store_explicit(&q->forced, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&layer->forced_live, 1, memory_order_relaxed);
	}
	/* Pairs with the acquires of threads that walk through all slots. */
	atomic_store_explicit(&q->state, SLOT_LIVE, memory_order_release);
	enter(q, handle);
	if (!atomic_exchange_explicit(&layer->calibrated, 1, memory_order_relaxed))
		calibrate(handle);
}

/* --- calls --- */

/* When there is a queue, the driver is there: its own end comes after ours. */
static cl_command_queue made(cl_command_queue handle)
{
	if (handle && layer->on &&
	    !atomic_exchange_explicit(&layer->exit_hooked, 1, memory_order_relaxed))
		atexit(harvest_at_exit);
	return handle;
}

static struct cl_queue *wanted_slot(void)
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
	struct cl_queue *q = wanted_slot();
	cl_command_queue handle = NULL;

	if (q)
		handle = next()->clCreateCommandQueue(context, device,
						      asked | CL_QUEUE_PROFILING_ENABLE, err);
	if (handle) {
		q->props_used = 0;
		slot_use(q, handle, context, device, asked);
		return made(handle);
	}
	if (q)
		slot_free(q);
	return made(next()->clCreateCommandQueue(context, device, asked, err));
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
	struct cl_queue *q = NULL;
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
		return made(handle);
	}
	if (q)
		slot_free(q);
	return made(next()->clCreateCommandQueueWithProperties(context, device, props, err));
}

static cl_int CL_API_CALL on_clRetainCommandQueue(cl_command_queue handle)
{
	cl_int r = next()->clRetainCommandQueue(handle);
	struct cl_queue *q = layer->on && !r ? queue_find(handle) : NULL;

	if (q)
		atomic_fetch_add_explicit(&q->refs, 1, memory_order_relaxed);
	return r;
}

static cl_int CL_API_CALL on_clReleaseCommandQueue(cl_command_queue handle)
{
	struct cl_queue *q = layer->on ? queue_find(handle) : NULL;
	cl_int r;

	if (!q || atomic_fetch_sub_explicit(&q->refs, 1, memory_order_acq_rel) != 1)
		return next()->clReleaseCommandQueue(handle);
	/* Before the driver may give the handle to another queue. */
	leave(handle);
	harvest(q, true);
	r = next()->clReleaseCommandQueue(handle);
	queue_unhide(q);
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
