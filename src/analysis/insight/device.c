/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - sums up each GPU of each rank: breakdown, streams, classes, copies, launches, idle. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "insight/state.h"

static void add_work(struct insight *in, struct insight_device *d, size_t event)
{
	const struct event *e = &in->t->event[event];
	enum kclass c = insight_class(in, event);
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

/* --- from calls to starts --- */

static int queue_put(struct queue_starts *q, uint64_t v)
{
	if (q->n == q->cap) {
		size_t cap = q->cap ? 2 * q->cap : 64;
		uint64_t *more = malloc(cap * sizeof(*more));

		if (!more)
			return -ENOMEM;
		for (size_t i = 0; i < q->n; i++)
			more[i] = q->v[(q->head + i) % q->cap];
		free(q->v);
		*q = (struct queue_starts){ more, 0, q->n, cap };
	}
	q->v[(q->head + q->n++) % q->cap] = v;
	return 0;
}

/* Calls are in order on a stream, as its work is: those called and not begun are its queue. */
static int add_launch(struct insight *in, struct state_track *x, size_t event)
{
	const struct event *e = &in->t->event[event], *call;
	uint32_t launch = insight_launch(in, event);
	struct insight_launch *l = &x->launch;
	uint64_t end;
	int err;

	if (launch == NO_EVENT)
		return 0;
	call = &in->t->event[launch];
	end = event_end(call);
	if (x->last_corr != e->corr) {
		l->calls++;
		l->call_ns += call->dur_ns;
	}
	l->launched++;
	l->queued_ns += e->start_ns > call->start_ns ? e->start_ns - call->start_ns : 0;
	for (; x->queue.n && x->queue.v[x->queue.head] <= call->start_ns; x->queue.n--)
		x->queue.head = (x->queue.head + 1) % x->queue.cap;
	err = queue_put(&x->queue, e->start_ns);
	if (x->queue.n > l->depth_max)
		l->depth_max = x->queue.n;
	return err ? err : sketch_add(&l->delay, e->start_ns > end ? e->start_ns - end : 0, 1);
}

/* --- streams and devices --- */

static int add_stream(struct insight *in, struct insight_device *d, uint32_t track)
{
	struct state_track *x = &in->x->track[track];
	int err;

	err = breakdown_tracks(&x->sum, in->t, in->names, in->link, &track, 1, NULL, NULL);
	for (size_t i = in->t->track_first[track]; i < in->t->track_first[track + 1] && !err; i++) {
		bool gpu = event_is_gpu(&in->t->event[i]);

		if (gpu)
			add_work(in, d, i);
		if (gpu && event_counts(&in->t->event[i]))
			scores_add(in, d, &x->scores, (uint32_t)i);
		if (gpu && in->link[i])
			err = add_launch(in, x, i);
		x->last_corr = gpu && insight_launch(in, i) != NO_EVENT ? in->t->event[i].corr : 0;
	}
	return err;
}

static void see_gap(void *idle, const struct gap *g)
{
	((struct idle *)idle)->d->d.gap_roots += sqrt((double)(g->end_ns - g->start_ns));
	idle_gap(idle, g);
}

static int add_device(struct insight *in, uint32_t device, uint32_t *track)
{
	struct state_device *x = &in->x->device[device];
	const struct state_process *p = &in->x->process[in->t->device[device].process];
	struct idle idle = { in, x };
	size_t tracks = 0;
	int err = 0;

	if (p->last_ns)
		account_observed(&x->account, p->first_ns, p->last_ns);

	for (uint32_t l = 0; l < in->t->tracks && !err; l++) {
		if (in->t->track[l].device != device)
			continue;
		track[tracks++] = l;
		err = add_stream(in, &x->d, l);
	}
	err = err ? err
		  : breakdown_tracks(&x->sum, in->t, in->names, in->link, track, tracks, see_gap,
				     &idle);
	return err ? err : frames_sum(in, x);
}

int insight_devices_begin(struct insight *in)
{
	in->x->track = calloc(in->t->tracks + 1, sizeof(*in->x->track));
	in->x->device = calloc(in->t->devices + 1, sizeof(*in->x->device));
	in->device = calloc(in->t->devices + 1, sizeof(*in->device));
	in->stream = calloc(in->t->tracks + 1, sizeof(*in->stream));
	if (!in->x->track || !in->x->device || !in->device || !in->stream)
		return -ENOMEM;
	in->x->tracks = in->t->tracks;
	in->x->devices = in->t->devices;
	return 0;
}

/* From when on what threads do matters to gaps that are not over, or have not begun. */
static void find_idle(struct insight *in)
{
	for (size_t i = 0; i < in->t->processes; i++)
		in->x->process[i].idle_ns = trace_lag(trace_lag(in->hi_ns));
	for (size_t i = 0; i < in->x->devices; i++) {
		const struct sum *s = &in->x->device[i].sum;
		uint64_t *since = &in->x->process[in->t->device[i].process].idle_ns;
		uint64_t last = s->begun ? trace_lag(s->b.last_ns) : UINT64_MAX;

		*since = last < *since ? last : *since;
	}
}

int insight_devices(struct insight *in)
{
	uint32_t *track = calloc(in->t->tracks + 1, sizeof(*track));
	int err = track ? frames_begin(in) : -ENOMEM;

	for (uint32_t i = 0; i < in->x->devices && !err; i++)
		err = add_device(in, i, track);
	find_idle(in);
	free(track);
	return err;
}

/* --- what came out --- */

static int tell_stream(struct insight *in, struct insight_device *d, uint32_t track)
{
	struct insight_stream *s = &in->stream[in->streams];
	struct state_track *x = &in->x->track[track];

	s->b = x->sum.b;
	breakdown_end(&s->b, &x->sum.u);
	if (!(s->b.kernels + s->b.copies + s->b.memsets) && !s->b.span_ns)
		return 0;
	in->streams++;
	s->track = track;
	s->launch = x->launch; /* with its sketch */
	x->launch.delay = (struct sketch){ 0 };
	d->launch.launched += s->launch.launched;
	d->launch.calls += s->launch.calls;
	d->launch.call_ns += s->launch.call_ns;
	d->launch.queued_ns += s->launch.queued_ns;
	if (s->launch.depth_max > d->launch.depth_max)
		d->launch.depth_max = s->launch.depth_max;
	return sketch_merge(&d->launch.delay, &s->launch.delay);
}

int insight_devices_end(struct insight *in)
{
	int err = 0;

	for (uint32_t i = 0; i < in->x->devices && !err; i++) {
		struct insight_device *d = &in->device[in->devices];
		struct state_device *x = &in->x->device[i];

		*d = x->d;
		d->device = i;
		d->rank = in->t->file[in->t->device[i].file].rank;
		d->stream_first = in->streams;
		for (uint32_t l = 0; l < in->x->tracks && !err; l++)
			if (in->t->track[l].device == i)
				err = tell_stream(in, d, l);
		d->streams = in->streams - d->stream_first;
		if (err < 0 || !d->streams) {
			sketch_fini(&d->launch.delay);
			memset(d, 0, sizeof(*d));
			continue;
		}
		d->b = x->sum.b;
		breakdown_end(&d->b, &x->sum.u);
		idle_tail(&x->account);
		account_close(&x->account, &d->account);
		frames_end(in->t, x, d);
		in->devices++;
	}
	return err;
}
