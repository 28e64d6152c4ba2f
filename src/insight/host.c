/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - what host threads did about their GPUs: waiting for them, fetching input, allocating. */
#include <errno.h>
#include <stdlib.h>

#include "insight/insight.h"

static bool waits(struct insight *in, const struct event *e)
{
	enum call c;

	if (e->kind == EVENT_SYNC)
		return true;
	if (e->kind != EVENT_API)
		return false;
	c = names_call(in->names, e->name);
	return c == CALL_SYNC || c == CALL_COPY_WAITS;
}

static bool is_span(struct insight *in, const struct event *e, enum span_kind kind)
{
	if (!e->dur_ns)
		return false;
	if (kind == SPAN_SYNC)
		return waits(in, e);
	return e->kind == EVENT_RANGE && e->a != TRACE_GPU_USER &&
	       names_range(in->names, e->name) == RANGE_INPUT;
}

/* The outermost ones: a loader's parts are one wait. With `span` NULL it only counts. */
static size_t collect_lane(struct insight *in, uint32_t lane, enum span_kind kind,
			   struct insight_span *span)
{
	const struct trace *t = in->t;
	uint64_t end = 0;
	size_t n = 0;

	if (t->lane[lane].device != LANE_HOST)
		return 0;
	for (size_t i = t->lane_first[lane]; i < t->lane_first[lane + 1]; i++) {
		const struct event *e = &t->event[i];

		if (e->start_ns < end || !is_span(in, e, kind))
			continue;
		end = event_end(e);
		if (span)
			span[n] = (struct insight_span){ e->start_ns, end, (uint32_t)i };
		n++;
	}
	return n;
}

static int collect(struct insight *in, enum span_kind kind)
{
	struct insight_spans *s = &in->spans[kind];
	size_t n = 0;

	s->lane_first = calloc(in->t->lanes + 1, sizeof(*s->lane_first));
	if (!s->lane_first)
		return -ENOMEM;
	for (uint32_t l = 0; l < in->t->lanes; l++) {
		s->lane_first[l] = n;
		n += collect_lane(in, l, kind, NULL);
	}
	s->lane_first[in->t->lanes] = n;
	s->span = calloc(n + 1, sizeof(*s->span));
	if (!s->span)
		return -ENOMEM;
	for (uint32_t l = 0; l < in->t->lanes; l++)
		collect_lane(in, l, kind, s->span + s->lane_first[l]);
	return 0;
}

static void longest(const struct trace *t, uint32_t *best, uint32_t event)
{
	if (*best == NO_EVENT || t->event[event].dur_ns > t->event[*best].dur_ns)
		*best = event;
}

static void add_spans(struct insight *in)
{
	const struct trace *t = in->t;

	for (enum span_kind k = 0; k < SPAN_KINDS; k++) {
		for (size_t i = 0; i < in->spans[k].lane_first[t->lanes]; i++) {
			const struct insight_span *s = &in->spans[k].span[i];
			struct insight_host *h =
				&in->host[t->lane[t->event[s->event].lane].process];

			*(k == SPAN_SYNC ? &h->syncs : &h->inputs) += 1;
			*(k == SPAN_SYNC ? &h->sync_ns : &h->input_ns) += s->end_ns - s->start_ns;
			longest(t, k == SPAN_SYNC ? &h->sync_longest : &h->input_longest, s->event);
		}
	}
}

int insight_hosts(struct insight *in)
{
	const struct trace *t = in->t;
	int err = 0;

	in->host = calloc(t->processes + 1, sizeof(*in->host));
	if (!in->host)
		return -ENOMEM;
	for (size_t i = 0; i < t->processes; i++)
		in->host[i].sync_longest = in->host[i].input_longest = NO_EVENT;
	for (enum span_kind k = 0; k < SPAN_KINDS && !err; k++)
		err = collect(in, k);
	if (err < 0)
		return err;
	add_spans(in);
	for (size_t i = 0; in->kinds[EVENT_API] && i < t->events; i++) {
		const struct event *e = &t->event[i];
		struct insight_host *h = &in->host[t->lane[e->lane].process];

		if (e->kind != EVENT_API || names_call(in->names, e->name) != CALL_ALLOC)
			continue;
		h->allocs++;
		h->alloc_ns += e->dur_ns;
	}
	return 0;
}
