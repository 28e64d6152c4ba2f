/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harvest.c - reads the times of commands from their events once the device is done with them.
 *
 * The oldest commands are checked after every DUE commands or some milliseconds, and whenever the
 * app itself waited, by one thread at a time: a second thread moves on.
 */
#include <stdio.h>

#include "pool/emit.h"
#include "probe/opencl/layer.h"

#define FEW (2 * DUE) /* what an enqueue may be made to look at */

/* --- geometries --- */

/* The compiler calls memcmp() for as much. */
static bool same_dims(const uint32_t a[6], const uint32_t b[6])
{
	uint64_t x[3], y[3];

	memcpy(x, a, sizeof(x));
	memcpy(y, b, sizeof(y));
	return !((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]));
}

static uint32_t groups(uint32_t global, uint32_t local)
{
	return local ? global / local + (global % local != 0) : global;
}

/* The geometry of an NDRange: groups, and items in one; 0 of these: the driver's choice. */
static uint32_t geo_id(struct cl_queue *q, const uint32_t d[6])
{
	uint32_t h = d[0] * 31 ^ d[1] * 17 ^ d[2] * 13 ^ d[3] * 7 ^ d[4] * 5 ^ d[5];
	uint32_t i = (h ^ h >> 4 ^ h >> 12) & (GEOS - 1);

	if (!same_dims(q->geo[i].dims, d)) {
		uint32_t grid[3] = { groups(d[0], d[3]), groups(d[1], d[4]), groups(d[2], d[5]) };

		memcpy(q->geo[i].dims, d, sizeof(q->geo[i].dims));
		q->geo[i].id = aon_geo(grid, d + 3, 0, 0, 0);
	}
	return q->geo[i].id;
}

/* --- one command --- */

enum found { FOUND, NOT_YET, FAILED, UNREADABLE };

static cl_int ask(cl_event e, cl_profiling_info what, cl_ulong *out)
{
	return next()->clGetEventProfilingInfo(e, what, sizeof(*out), out, NULL);
}

/* Usually one call. Between two the command may end: then the answer is asked for again. */
static enum found ask_end(cl_event e, cl_ulong *end)
{
	cl_int status = CL_COMPLETE;

	if (!ask(e, CL_PROFILING_COMMAND_END, end))
		return FOUND;
	if (next()->clGetEventInfo(e, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
				   NULL))
		return UNREADABLE;
	if (status > CL_COMPLETE)
		return NOT_YET;
	if (status < CL_COMPLETE)
		return FAILED;
	return ask(e, CL_PROFILING_COMMAND_END, end) ? UNREADABLE : FOUND;
}

/* QUEUED was taken by the driver while it was being called: that ties its clock to ours. */
static void calibrate(struct device *d, const struct pending *p)
{
	cl_ulong queued;

	if (!atomic_load_explicit(&d->timer, memory_order_relaxed) &&
	    !ask(p->event, CL_PROFILING_COMMAND_QUEUED, &queued) && queued)
		device_sample(d, queued, p->call_ns, p->call_ns + p->call_took_ns);
}

/* In tier full: how long the command waited, for the driver and for the device. */
static void emit_waits(struct cl_queue *q, const struct pending *p, const struct dev_clock *c,
		       cl_ulong start)
{
	struct aon_act a = {
		.size = sizeof(a), .kind = AON_ACT_API, .track = q->wait_track, .corr = p->corr
	};
	cl_ulong queued, submit;

	if (ask(p->event, CL_PROFILING_COMMAND_QUEUED, &queued) ||
	    ask(p->event, CL_PROFILING_COMMAND_SUBMIT, &submit) || submit < queued ||
	    start < submit)
		return;
	a.name = layer->name_queued;
	a.start_ns = dev_clock_host(c, queued);
	a.end_ns = a.start_ns + (submit - queued);
	aon_act_emit(&a);
	a.name = layer->name_submitted;
	a.start_ns = a.end_ns;
	a.end_ns = a.start_ns + (start - submit);
	aon_act_emit(&a);
}

static void emit(struct cl_queue *q, const struct pending *p, const struct dev_clock *c,
		 cl_ulong start, cl_ulong end)
{
	bool kernel = p->kind == AON_ACT_KERNEL;
	struct aon_act a = { .size = sizeof(a),
			     .kind = p->kind,
			     .name = p->name,
			     .track = q->track,
			     .geo = kernel && p->dims[0] ? geo_id(q, p->dims) : 0,
			     .corr = p->corr,
			     .dir = p->dir,
			     .start_ns = dev_clock_host(c, start),
			     .bytes = kernel ? 0 : p->bytes };

	a.end_ns = a.start_ns + (end - start);
	aon_act_emit(&a);
	if (aon_wants(AON_WANT_API))
		emit_waits(q, p, c, start);
}

struct times {
	cl_ulong start, end;
	enum found found;
};

static void look(struct cl_queue *q, const struct pending *p, struct times *t)
{
	t->found = ask_end(p->event, &t->end);
	if (t->found == FOUND &&
	    (ask(p->event, CL_PROFILING_COMMAND_START, &t->start) || t->end < t->start))
		t->found = UNREADABLE;
	if (t->found == FOUND && p->call_ns)
		calibrate(q->device, p);
}

/* The event is released. */
static void settle(struct cl_queue *q, const struct pending *p, const struct times *t,
		   const struct dev_clock *c)
{
	if (t->found == FOUND && c->known)
		emit(q, p, c, t->start, t->end);
	else
		count(t->found == FAILED ? &layer->failed : &layer->unread, 1);
	next()->clReleaseEvent(p->event);
}

/* --- a queue --- */

/* Asks first and settles then: a clock is known best from all of them. Returns those done. */
static uint64_t settle_batch(struct cl_queue *q, const struct pending *some, uint32_t n)
{
	struct times t[BATCH];
	struct dev_clock c;
	uint64_t done = 0;

	for (uint32_t i = 0; i < n; i++) {
		look(q, &some[i], &t[i]);
		if (t[i].found != NOT_YET)
			done |= 1ull << i;
		else if (!q->disordered)
			break; /* those behind it wait, too, or nearly all */
	}
	c = device_clock(q->device);
	for (uint32_t i = 0; i < n; i++)
		if (done >> i & 1)
			settle(q, &some[i], &t[i], &c);
	return done;
}

/*
 * Reports the number of commands without a time, at most once a second. The time of the last report
 * is read before the counts, so that a thread that is delayed in between does not report older
 * counts. At the end the report is made again, whichever thread is at it.
 */
static void tell(bool end)
{
	uint64_t then = atomic_load_explicit(&layer->told_tsc, memory_order_acquire);
	uint64_t failed = atomic_load_explicit(&layer->failed, memory_order_relaxed);
	uint64_t unread = atomic_load_explicit(&layer->unread, memory_order_relaxed);
	uint64_t full = atomic_load_explicit(&layer->full, memory_order_relaxed);
	uint64_t bare = atomic_load_explicit(&layer->unprofiled, memory_order_relaxed);
	uint64_t running = atomic_load_explicit(&layer->running, memory_order_relaxed);
	uint64_t sum = failed + unread + full + bare + running, tsc = aon_tsc();
	char text[128];

	if (end ? !sum
		: sum == atomic_load_explicit(&layer->told, memory_order_relaxed) ||
			    tsc - then < SAMPLE_TICKS * 200 ||
			    !atomic_compare_exchange_strong_explicit(&layer->told_tsc, &then, tsc,
								     memory_order_release,
								     memory_order_relaxed))
		return;
	atomic_store_explicit(&layer->told, sum, memory_order_relaxed);
	snprintf(
		text, sizeof(text),
		"not timed: %llu failed, %llu unreadable, %llu over, %llu unprofiled, %llu at exit",
		(unsigned long long)failed, (unsigned long long)unread, (unsigned long long)full,
		(unsigned long long)bare, (unsigned long long)running);
	aon_note("opencl", "on", text);
	aon_counter_id(layer->name_lost, (int64_t)sum);
}

void harvest(struct cl_queue *q, bool all)
{
	uint32_t skip = 0, seen = 0, n, kept;

	if (!turn_take(&q->harvesting))
		return;
	device_look(q->device);
	pending_collect(q);
	do {
		uint64_t done;

		n = q->tail - q->head - skip;
		n = n < BATCH ? n : BATCH;
		done = n ? settle_batch(q, q->list + q->head + skip, n) : 0;
		kept = n - (uint32_t)__builtin_popcountll(done);
		if (done)
			pending_drop(q, skip, n, done);
		skip += kept;
		seen += BATCH;
	} while (n == BATCH && (q->disordered || !kept) && (all || seen < FEW));
	turn_give(&q->harvesting);
	tell(false);
}

/* A queue that another thread harvests is skipped: the answer may then be one too many. */
uint32_t harvest_holds(cl_event event)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < QUEUES; i++) {
		struct cl_queue *q = &layer->queue[i];

		if (atomic_load_explicit(&q->state, memory_order_acquire) < SLOT_LIVE ||
		    !turn_take(&q->harvesting))
			continue;
		n += pending_holds(q, event);
		turn_give(&q->harvesting);
	}
	return n;
}

/* Queues that the app let go while they were at work. */
void harvest_orphans(void)
{
	for (uint32_t i = 0; i < QUEUES; i++) {
		struct cl_queue *q = &layer->queue[i];

		if (atomic_load_explicit(&q->state, memory_order_acquire) != SLOT_ORPHAN)
			continue;
		harvest(q, true);
		queue_give(q);
	}
}

/* Registered when the driver was there already, so it runs before the driver's own end. */
void harvest_at_exit(void)
{
	if (!layer->on)
		return;
	for (uint32_t i = 0; i < QUEUES; i++) {
		struct cl_queue *q = &layer->queue[i];

		if (atomic_load_explicit(&q->state, memory_order_acquire) < SLOT_LIVE)
			continue;
		harvest(q, true);
		if (!turn_take(&q->harvesting))
			continue;
		count(&layer->running, pending_left(q));
		turn_give(&q->harvesting);
	}
	tell(true);
}

/* --- when the app waits, so do we have time --- */

static cl_int CL_API_CALL on_clFinish(cl_command_queue queue)
{
	cl_int r = next()->clFinish(queue);
	struct cl_queue *q = layer->on ? queue_find(queue) : NULL;

	if (q)
		harvest(q, true);
	return r;
}

static cl_int CL_API_CALL on_clFlush(cl_command_queue queue)
{
	cl_int r = next()->clFlush(queue);
	struct cl_queue *q = layer->on ? queue_find(queue) : NULL;

	if (q && pending_plenty(q))
		harvest(q, false);
	return r;
}

static cl_int CL_API_CALL on_clWaitForEvents(cl_uint n, const cl_event *events)
{
	cl_int r = next()->clWaitForEvents(n, events);
	struct cl_queue *q = layer->on && !r && n ? queue_of_event(events[n - 1]) : NULL;

	if (q)
		harvest(q, true);
	return r;
}

void harvest_install(cl_icd_dispatch *ours)
{
	INSTALL(ours, clFinish);
	INSTALL(ours, clFlush);
	INSTALL(ours, clWaitForEvents);
}
