/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.c - joins events: which range encloses a host event, and which call launched a GPU event.
 *
 * Calls are found by (process, correlation id); the kernels of a graph share one. An operator that
 * does not enclose the launch on its own thread is found by External id. So is the operator of GPU
 * work whose call was not recorded; that work stays without a launch.
 */
#include "insight/state.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"

#define DEPTH 512u /* deeper ranges are linked to the 512th */

static uint32_t process_of(const struct trace *t, uint32_t event)
{
	return t->track[t->event[event].track].process;
}

/* An id of a process: the event that has it, + 1. */
static uint64_t id_of(const struct trace *t, uint32_t event, uint32_t id)
{
	return (uint64_t)process_of(t, event) << 32 | id;
}

static bool is_call(const struct event *e)
{
	return e->kind == EVENT_API || e->kind == EVENT_SYNC;
}

static bool is_host(const struct trace *t, const struct event *e)
{
	return t->track[e->track].device == TRACK_HOST;
}

static bool launches(struct names *n, const struct event *e)
{
	enum call c = names_call(n, e->name);

	return c == CALL_LAUNCH || c == CALL_COPY || c == CALL_COPY_WAITS || c == CALL_MEMSET;
}

/* Runtime and driver may share an id, and so may calls that launch nothing. */
static int put_call(struct map *calls, const struct trace *t, struct names *n, uint32_t event)
{
	const struct event *e = &t->event[event];
	uint64_t *at = map_at(calls, id_of(t, event, e->corr));

	if (!at)
		return -ENOMEM;
	if (!*at || (!launches(n, &t->event[*at - 1]) && launches(n, e)))
		*at = (uint64_t)event + 1;
	return 0;
}

/* + 1. A step that a probe found begins just before the end of the range that reports it, and is not inside. */
static uint32_t around(const struct trace *t, const uint32_t *stack, size_t depth,
		       const struct event *e)
{
	while (e->kind == EVENT_STEP && depth &&
	       event_end(&t->event[stack[depth - 1]]) < event_end(e))
		depth--;
	return depth ? stack[depth - 1] + 1 : 0;
}

/* Ranges, steps and calls nest on their thread. */
static void enclose_track(struct insight *in, uint32_t track)
{
	const struct trace *t = in->t;
	uint32_t stack[DEPTH];
	size_t depth = 0;

	for (size_t i = t->track_first[track]; i < t->track_first[track + 1]; i++) {
		const struct event *e = &t->event[i];

		while (depth && event_end(&t->event[stack[depth - 1]]) <= e->start_ns)
			depth--;
		in->link[i] = around(t, stack, depth, e);
		if (e->dur_ns && depth < DEPTH &&
		    (e->kind == EVENT_RANGE || e->kind == EVENT_STEP || is_call(e)))
			stack[depth++] = (uint32_t)i;
	}
}

static int link_launches(struct insight *in)
{
	const struct trace *t = in->t;
	struct map calls = { 0 };
	int err = map_room(&calls, in->kinds[EVENT_API] + in->kinds[EVENT_SYNC]);

	for (size_t i = 0; i < t->events && !err; i++)
		if (is_call(&t->event[i]) && t->event[i].corr && is_host(t, &t->event[i]))
			err = put_call(&calls, t, in->names, (uint32_t)i);
	for (size_t i = 0; i < t->events && calls.used && !err; i++) {
		const struct event *e = &t->event[i];

		if (is_host(t, e) || !event_is_gpu(e) || !e->corr)
			continue;
		in->link[i] = (uint32_t)map_get(&calls, id_of(t, (uint32_t)i, e->corr));
		in->torn += !in->link[i] && in->x->process[process_of(t, (uint32_t)i)].gave_up;
	}
	map_fini(&calls);
	return err;
}

static bool is_op(const struct event *e)
{
	return e->kind == EVENT_RANGE &&
	       (e->a == TRACE_OP || e->a == TRACE_USER || e->a == TRACE_DEVICE_OP || e->a == 0);
}

static bool has_op(const struct insight *in, uint32_t call)
{
	for (uint32_t up = in->link[call]; up; up = in->link[up - 1])
		if (is_op(&in->t->event[up - 1]))
			return true;
	return false;
}

/* Calls that no op encloses, and GPU work whose call was not seen, or is of no op: XLA's kernels
 * name theirs, and those of one graph have one call. */
static bool wants_op(const struct insight *in, uint32_t event)
{
	const struct event *e = &in->t->event[event];

	if ((e->kind != EVENT_API && !event_is_gpu(e)) || !trace_external(e))
		return false;
	if (e->kind == EVENT_API)
		return !has_op(in, event);
	return !in->link[event] || !has_op(in, in->link[event] - 1);
}

static int join(struct insight *in, uint32_t event, uint32_t op)
{
	if (in->t->event[event].kind == EVENT_API || !in->link[event]) {
		in->link[event] = op;
		return 0;
	}
	if (!in->own_op)
		in->own_op = calloc(in->t->events + 1, sizeof(*in->own_op));
	if (!in->own_op)
		return -ENOMEM;
	in->own_op[event] = op;
	return 0;
}

/* By External id. */
static int link_external(struct insight *in)
{
	const struct trace *t = in->t;
	size_t orphans = 0, ops = 0;
	struct map by_id = { 0 };
	int err = 0;

	if (!in->kinds[EVENT_RANGE])
		return 0;
	for (size_t i = 0; i < t->events; i++) {
		orphans += wants_op(in, (uint32_t)i);
		ops += is_op(&t->event[i]) && t->event[i].corr;
	}
	if (!orphans || !ops)
		return 0;
	err = map_room(&by_id, ops);
	for (size_t i = 0; i < t->events && !err; i++)
		if (is_op(&t->event[i]) && t->event[i].corr && is_host(t, &t->event[i]))
			err = map_put(&by_id, id_of(t, (uint32_t)i, t->event[i].corr), i + 1);
	for (size_t i = 0; i < t->events && !err; i++) {
		uint32_t op;

		if (!wants_op(in, (uint32_t)i))
			continue;
		op = (uint32_t)map_get(&by_id, id_of(t, (uint32_t)i, trace_external(&t->event[i])));
		/* What encloses begins earlier, so the way up has an end, whatever the ids are. */
		if (op && t->event[op - 1].start_ns < t->event[i].start_ns)
			err = join(in, (uint32_t)i, op);
	}
	map_fini(&by_id);
	return err;
}

int insight_link(struct insight *in)
{
	const struct trace *t = in->t;
	int err;

	free(in->link);
	free(in->own_op);
	in->own_op = NULL;
	in->link = calloc(t->events + 1, sizeof(*in->link));
	if (!in->link)
		return -ENOMEM;
	for (uint32_t l = 0; l < t->tracks; l++)
		if (t->track[l].device == TRACK_HOST)
			enclose_track(in, l);
	err = link_launches(in);
	return err < 0 ? err : link_external(in);
}

uint32_t insight_op(const struct insight *in, uint32_t gpu_event)
{
	uint32_t any = NO_EVENT;

	for (uint32_t up = in->link[gpu_event]; up; up = in->link[up - 1]) {
		const struct event *e = &in->t->event[up - 1];

		if (!is_op(e))
			continue;
		if (e->a == TRACE_OP)
			return up - 1;
		if (any == NO_EVENT)
			any = up - 1;
	}
	if (any == NO_EVENT && in->own_op && in->own_op[gpu_event])
		return in->own_op[gpu_event] - 1;
	return any;
}

bool insight_is_module(const struct insight *in, uint32_t event)
{
	const struct event *e = &in->t->event[event];

	return e->kind == EVENT_RANGE &&
	       (e->a == TRACE_MODULE ||
		(e->a == TRACE_PYTHON && names_range(in->names, e->name) == RANGE_MODULE));
}

uint32_t insight_module(const struct insight *in, uint32_t event)
{
	uint32_t up = in->link[event];

	if (in->through && in->through[event])
		return in->through[event] - 1;
	for (; up; up = in->link[up - 1]) {
		if (insight_is_module(in, up - 1))
			return up - 1;
		if (in->through && in->through[up - 1])
			return in->through[up - 1] - 1;
	}
	return NO_EVENT;
}

uint32_t insight_host_at(const struct insight *in, uint32_t track, uint64_t ns)
{
	const struct trace *t = in->t;
	size_t first = t->track_first[track],
	       next = first_where(i, first, t->track_first[track + 1], t->event[i].start_ns > ns);

	if (next == first)
		return NO_EVENT;
	for (uint32_t at = (uint32_t)next; at; at = in->link[at - 1])
		if (event_end(&t->event[at - 1]) > ns && t->event[at - 1].kind != EVENT_SAMPLE)
			return at - 1;
	return NO_EVENT;
}
