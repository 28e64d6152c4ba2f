/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - what host threads did that GPUs depend on: waits for them, input, allocation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "insight/state.h"

#define SPANS_KEPT 4096u /* of a thread, from one stretch to the next */

static bool waits(struct insight *in, const struct event *e)
{
	return idle_is_sync(e->kind,
			    e->kind == EVENT_API ? names_call(in->names, e->name) : CALL_OTHER);
}

/* How long it took if it is the first of its name that took long, else 0. */
static uint64_t first_ns(struct insight *in, const struct event *e)
{
	struct map *m = &in->x->set_up;
	uint64_t key = (uint64_t)e->track << 32 | e->name;
	size_t used = m->used;

	if (e->dur_ns < IDLE_SET_UP_NS || !map_number(m, key))
		return 0;
	return m->used > used ? e->dur_ns : 0;
}

/* The cause that it names, or IDLE_CAUSES. */
static enum idle_cause mark_of(struct insight *in, const struct event *e, enum call *call,
			       uint64_t first)
{
	*call = e->kind == EVENT_API ? names_call(in->names, e->name) : CALL_OTHER;
	if (e->kind == EVENT_RANGE && e->a == TRACE_GPU_USER)
		return IDLE_CAUSES;
	return idle_mark(e->kind, *call,
			 e->kind == EVENT_RANGE ? names_range(in->names, e->name) : RANGE_OTHER,
			 first);
}

/* The outermost ones: a loader's parts are one wait. */
static size_t collect_syncs(struct insight *in, uint32_t track, struct insight_span *span)
{
	const struct trace *t = in->t;
	uint64_t *end = &in->x->track[track].span_end[SPAN_SYNC];
	size_t n = 0;

	for (size_t i = t->track_first[track]; i < t->track_first[track + 1]; i++) {
		const struct event *e = &t->event[i];

		if (!e->dur_ns || e->start_ns < *end || !event_counts(e) || !waits(in, e))
			continue;
		*end = event_end(e);
		span[n++] = (struct insight_span){ e->start_ns, *end, (uint32_t)i, IDLE_SYNC };
	}
	return n;
}

static size_t collect_marks(struct insight *in, uint32_t track, struct insight_span *span, size_t n)
{
	const struct trace *t = in->t;
	struct state_track *x = &in->x->track[track];

	for (size_t i = t->track_first[track]; i < t->track_first[track + 1]; i++) {
		const struct event *e = &t->event[i];
		enum idle_cause c;
		enum call call;

		if (!e->dur_ns || !event_counts(e))
			continue;
		c = mark_of(in, e, &call, first_ns(in, e));
		if (c != IDLE_CAUSES)
			n = idle_mark_add(span, n,
					  (struct insight_span){ e->start_ns, event_end(e),
								 (uint32_t)i, (uint8_t)c },
					  call, &x->capture);
	}
	return n;
}

/* No more than this. */
static size_t count_track(struct insight *in, uint32_t track, enum span_kind kind)
{
	const struct trace *t = in->t;
	enum call call;
	size_t n = 0;

	for (size_t i = t->track_first[track]; i < t->track_first[track + 1]; i++) {
		const struct event *e = &t->event[i];

		n += e->dur_ns && event_counts(e) &&
		     (kind == SPAN_SYNC ? waits(in, e)
					: mark_of(in, e, &call, e->dur_ns) != IDLE_CAUSES);
	}
	return n;
}

/* Of earlier stretches, those that the GPUs' next gaps may reach back to. */
static size_t keep_track(struct insight *in, uint32_t track, enum span_kind kind,
			 struct insight_span *span)
{
	const struct insight_spans *was = &in->spans[kind];
	uint64_t since = in->x->process[in->t->track[track].process].idle_ns;
	size_t first, end, n = 0;

	if (!was->track_first)
		return 0;
	first = was->track_first[track];
	end = was->track_first[track + 1];
	first = end - first > SPANS_KEPT ? end - SPANS_KEPT : first;
	for (size_t i = first; i < end; i++) {
		if (kind == SPAN_MARK && was->span[i].end_ns <= since)
			continue; /* a lead lasts longer than a gap */
		if (span) {
			span[n] = was->span[i];
			span[n].event = NO_EVENT;
		}
		n++;
	}
	return n;
}

static int collect(struct insight *in, enum span_kind kind)
{
	struct insight_spans s = { NULL, calloc(in->t->tracks + 1, sizeof(*s.track_first)) };
	size_t n = 0;

	if (!s.track_first)
		return -ENOMEM;
	for (uint32_t l = 0; l < in->t->tracks; l++)
		if (in->t->track[l].device == TRACK_HOST)
			n += keep_track(in, l, kind, NULL) + count_track(in, l, kind);
	s.span = calloc(n + 1, sizeof(*s.span));
	if (!s.span) {
		free(s.track_first);
		return -ENOMEM;
	}
	n = 0;
	for (uint32_t l = 0; l < in->t->tracks; l++) {
		struct insight_span *to = s.span + n;
		size_t kept;

		s.track_first[l] = n;
		if (in->t->track[l].device != TRACK_HOST)
			continue;
		kept = keep_track(in, l, kind, to);
		n += kind == SPAN_SYNC ? kept + collect_syncs(in, l, to + kept)
				       : collect_marks(in, l, to, kept);
	}
	s.track_first[in->t->tracks] = n;
	free(in->spans[kind].span);
	free(in->spans[kind].track_first);
	in->spans[kind] = s;
	return 0;
}

/* Of two that are equally long, the first. */
static bool is_longer(const struct event *e, const struct event *than)
{
	if (than->kind == EVENT_NONE || e->dur_ns != than->dur_ns)
		return than->kind == EVENT_NONE || e->dur_ns > than->dur_ns;
	return e->start_ns != than->start_ns ? e->start_ns < than->start_ns
					     : e->track < than->track;
}

static void see_sync(struct insight *in, struct insight_host *h, uint32_t event)
{
	uint32_t up = in->link[event];

	if (!is_longer(&in->t->event[event], &h->sync_longest))
		return;
	while (up && in->t->event[up - 1].kind != EVENT_RANGE)
		up = in->link[up - 1];
	h->sync_longest = in->t->event[event];
	h->sync_in = in->t->event[up ? up - 1 : event].name;
}

/* PyTorch's loader in this process, or with workers: other frames may be around it and between. */
static int loaded_by(const char *name)
{
	if (strstr(name, "SingleProcess") || strstr(name, "data/_utils/fetch.py"))
		return LOADED_HERE;
	return strstr(name, "MultiProcessing") || strstr(name, "_try_get_data") ? LOADED_ELSEWHERE
										: LOADED_SOMEHOW;
}

#define LOADER_EVENTS 4096u /* of a fetch are looked at */

static void see_input(struct insight *in, struct insight_host *h, uint32_t event)
{
	const struct trace *t = in->t;
	const struct event *e = &t->event[event];
	size_t end = t->track_first[e->track + 1];
	int by = LOADED_SOMEHOW;

	if (!is_longer(e, &h->input_longest))
		return;
	end = end - event > LOADER_EVENTS ? event + LOADER_EVENTS : end;
	for (size_t i = event; i < end && t->event[i].start_ns < event_end(e) && !by; i++)
		if (t->event[i].kind == EVENT_RANGE)
			by = loaded_by(trace_text(t, t->event[i].name));
	h->input_longest = *e;
	h->loaded = by;
}

static void add_spans(struct insight *in)
{
	const struct trace *t = in->t;

	for (enum span_kind k = 0; k < SPAN_KINDS; k++) {
		for (size_t i = 0; i < in->spans[k].track_first[t->tracks]; i++) {
			const struct insight_span *s = &in->spans[k].span[i];
			struct insight_host *h;

			if (s->event == NO_EVENT)
				continue;
			h = &in->host[t->track[t->event[s->event].track].process];
			if (k == SPAN_MARK && s->cause != IDLE_INPUT)
				continue;
			*(k == SPAN_SYNC ? &h->syncs : &h->inputs) += 1;
			*(k == SPAN_SYNC ? &h->sync_ns : &h->input_ns) += s->end_ns - s->start_ns;
			if (k == SPAN_SYNC)
				see_sync(in, h, s->event);
			else
				see_input(in, h, s->event);
		}
	}
}

/* What is a thread's own: not what others measured beside it. */
static bool is_observed(const struct event *e)
{
	return e->dur_ns && (e->kind == EVENT_RANGE || e->kind == EVENT_API ||
			     e->kind == EVENT_SYNC || e->kind == EVENT_STEP);
}

/* From when to when a process was observed; of one with steps these count instead. */
static void observe(struct insight *in)
{
	const struct trace *t = in->t;

	for (uint32_t l = 0; l < t->tracks; l++) {
		struct state_process *p = &in->x->process[t->track[l].process];

		if (t->track[l].device != TRACK_HOST || p->steps)
			continue;
		for (size_t i = t->track_first[l]; i < t->track_first[l + 1]; i++) {
			const struct event *e = &t->event[i];
			uint64_t end = event_end(e);

			if (!is_observed(e))
				continue;
			p->first_ns = !p->last_ns || e->start_ns < p->first_ns ? e->start_ns
									       : p->first_ns;
			p->last_ns = end > p->last_ns ? end : p->last_ns;
		}
	}
}

int insight_hosts_begin(struct insight *in)
{
	in->host = calloc(in->t->processes + 1, sizeof(*in->host));
	return in->host ? 0 : -ENOMEM;
}

/* Memory that was freed for an allocation that had failed: allocate, free, allocate, and no launch
 * between. So PyTorch's allocator does when its cached blocks fit nothing. */
static void count_retries(struct insight *in, uint32_t track)
{
	const struct trace *t = in->t;
	bool tried = false, freed = false;

	for (size_t i = t->track_first[track]; i < t->track_first[track + 1]; i++) {
		const struct event *e = &t->event[i];
		enum call call;
		bool frees;

		if (e->kind != EVENT_API || !event_counts(e))
			continue;
		call = names_call(in->names, e->name);
		frees = call == CALL_ALLOC && strcasestr(trace_text(t, e->name), "free");
		if (call == CALL_ALLOC && !frees) {
			in->host[t->track[track].process].retries += freed;
			tried = true;
			freed = false;
		} else if (frees) {
			freed = tried;
		} else if (call == CALL_LAUNCH) {
			tried = freed = false;
		}
	}
}

int insight_hosts(struct insight *in)
{
	const struct trace *t = in->t;
	int err = 0;

	for (enum span_kind k = 0; k < SPAN_KINDS && !err; k++)
		err = collect(in, k);
	if (err < 0)
		return err;
	add_spans(in);
	observe(in);
	for (uint32_t l = 0; in->kinds[EVENT_API] && l < t->tracks; l++)
		if (t->track[l].device == TRACK_HOST)
			count_retries(in, l);
	for (size_t i = 0; in->kinds[EVENT_API] && i < t->events; i++) {
		const struct event *e = &t->event[i];
		struct insight_host *h = &in->host[t->track[e->track].process];
		enum call call;

		if (e->kind != EVENT_API || !event_counts(e))
			continue;
		call = names_call(in->names, e->name);
		h->allocs += call == CALL_ALLOC;
		h->alloc_ns += call == CALL_ALLOC ? e->dur_ns : 0;
		h->launches += call == CALL_LAUNCH;
		h->launch_ns += call == CALL_LAUNCH ? e->dur_ns : 0;
	}
	return 0;
}
