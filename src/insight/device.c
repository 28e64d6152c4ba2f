/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - each GPU of each rank: breakdown, streams, classes, copies, launches, idle causes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "insight/insight.h"

static void add_work(struct insight *in, struct insight_device *d, size_t event)
{
	const struct event *e = &in->t->event[event];
	enum kclass c = event_class(in->names, in->t, event);
	struct insight_copy *copy = &d->copy[e->flags >> EVENT_COPY_SHIFT];

	d->class[c].count++;
	d->class[c].ns += e->dur_ns;
	if (e->kind == EVENT_KERNEL && c != CLASS_COMM && e->dur_ns < SMALL_KERNEL_NS) {
		d->small_kernels++;
		d->small_ns += e->dur_ns;
	}
	if (e->kind != EVENT_COPY)
		return;
	copy->count++;
	copy->bytes += e->a;
	copy->ns += e->dur_ns;
	if (e->b & TRACE_PAGEABLE) {
		copy->pageable++;
		copy->pageable_ns += e->dur_ns;
	}
}

/* Calls are in order on a stream, as its work is: those called and not begun are its queue. */
static int add_launch(struct insight *in, struct insight_launch *l, size_t event, size_t *begun,
		      uint64_t *seen)
{
	const struct event *e = &in->t->event[event], *call;
	uint32_t launch = insight_launch(in, event);
	uint64_t end;

	if (launch == NO_EVENT)
		return 0;
	call = &in->t->event[launch];
	end = event_end(call);
	if (!l->launched || launch != insight_launch(in, event - 1)) {
		l->calls++;
		l->call_ns += call->dur_ns;
	}
	l->launched++;
	l->queued_ns += e->start_ns > call->start_ns ? e->start_ns - call->start_ns : 0;
	++*seen;
	while (*begun < event &&
	       (in->t->event[*begun].start_ns <= call->start_ns ||
		insight_launch(in, *begun) == NO_EVENT || !event_is_gpu(&in->t->event[*begun]))) {
		if (event_is_gpu(&in->t->event[*begun]) && insight_launch(in, *begun) != NO_EVENT)
			--*seen;
		++*begun;
	}
	if (*seen > l->depth_max)
		l->depth_max = *seen;
	return sketch_add(&l->delay, e->start_ns > end ? e->start_ns - end : 0, 1);
}

static int add_stream(struct insight *in, struct insight_device *d, uint32_t lane)
{
	struct insight_stream *s = &in->stream[in->streams];
	const size_t *first = &in->t->lane_first[lane];
	size_t begun = first[0];
	uint64_t seen = 0;
	int err;

	err = breakdown_lanes(&s->b, in->t, in->names, in->link, &lane, 1, NULL, NULL);
	if (err < 0)
		return err;
	if (!(s->b.kernels + s->b.copies + s->b.memsets) && !s->b.span_ns)
		return 0;
	in->streams++;
	s->lane = lane;
	for (size_t i = first[0]; i < first[1] && !err; i++) {
		if (!event_is_gpu(&in->t->event[i]))
			continue;
		add_work(in, d, i);
		if (in->link[i])
			err = add_launch(in, &s->launch, i, &begun, &seen);
	}
	d->launch.launched += s->launch.launched;
	d->launch.calls += s->launch.calls;
	d->launch.call_ns += s->launch.call_ns;
	d->launch.queued_ns += s->launch.queued_ns;
	if (s->launch.depth_max > d->launch.depth_max)
		d->launch.depth_max = s->launch.depth_max;
	return err < 0 ? err : sketch_merge(&d->launch.delay, &s->launch.delay);
}

static int add_idle(struct insight *in, struct insight_device *d, const uint32_t *lane,
		    size_t lanes)
{
	struct idle x = { in, d, calloc(in->t->names + 1, sizeof(uint64_t)) };
	int err;

	if (!x.by_name)
		return -ENOMEM;
	err = breakdown_lanes(&d->b, in->t, in->names, in->link, lane, lanes, idle_gap, &x);
	if (!err)
		idle_names(&x);
	free(x.by_name);
	return err;
}

static int add_device(struct insight *in, uint32_t device, uint32_t *lane)
{
	struct insight_device *d = &in->device[in->devices];
	size_t lanes = 0;
	int err = 0;

	memset(d, 0, sizeof(*d));
	d->device = device;
	d->rank = in->t->file[in->t->device[device].file].rank;
	d->stream_first = in->streams;
	for (uint32_t l = 0; l < in->t->lanes && !err; l++) {
		if (in->t->lane[l].device != device)
			continue;
		lane[lanes++] = l;
		err = add_stream(in, d, l);
	}
	d->streams = in->streams - d->stream_first;
	if (err < 0 || !d->streams) {
		sketch_fini(&d->launch.delay);
		return err;
	}
	in->devices++;
	return add_idle(in, d, lane, lanes);
}

int insight_devices(struct insight *in)
{
	uint32_t *lane = calloc(in->t->lanes + 1, sizeof(*lane));
	int err = 0;

	in->device = calloc(in->t->devices + 1, sizeof(*in->device));
	in->stream = calloc(in->t->lanes + 1, sizeof(*in->stream));
	if (!lane || !in->device || !in->stream)
		err = -ENOMEM;
	for (uint32_t i = 0; i < in->t->devices && !err; i++)
		err = add_device(in, i, lane);
	free(lane);
	return err;
}
