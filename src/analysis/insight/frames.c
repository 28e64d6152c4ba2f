/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames.c - the frames that hosts were in while a device waited for them. The time of each gap is
 * spread over the ranges that cover it: each moment counts for the innermost one, and for all
 * around it. So no frame is charged more than its own time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/vec.h"
#include "insight/state.h"
#include "names/code.h"

/* from..to is of this event alone. */
static void hold(struct insight *in, uint32_t event, uint64_t from, uint64_t to, bool sync)
{
	if (event == NO_EVENT || to <= from)
		return;
	(sync ? in->x->hold.sync : in->x->hold.host)[event] += to - from;
	in->x->hold.track[in->t->event[event].track] = true;
}

/* Up from `at`, each until it ends. Returns the one that is open at `until`. */
static uint32_t climb(struct insight *in, uint32_t at, uint64_t *from, uint64_t until, bool sync)
{
	while (at != NO_EVENT && event_end(&in->t->event[at]) <= until) {
		uint64_t end = event_end(&in->t->event[at]);

		hold(in, at, *from, end, sync);
		*from = end > *from ? end : *from;
		at = in->link[at] - 1;
	}
	return at;
}

/* The first event of the track that starts after ns. Gaps come in order, so it is near the last one. */
static size_t next_after(struct insight *in, uint32_t track, uint64_t ns)
{
	const struct event *e = in->t->event;
	size_t lo = in->t->track_first[track], hi = in->t->track_first[track + 1];
	size_t at = in->x->hold.next[track] > lo ? in->x->hold.next[track] : lo;

	if (at > lo && e[at - 1].start_ns > ns) {
		hi = at;
		at = lo;
	}
	for (size_t step = 1; at + step < hi; step *= 2) {
		if (e[at + step].start_ns > ns) {
			hi = at + step;
			break;
		}
		at += step;
	}
	at = first_where(i, at, hi, e[i].start_ns > ns);
	in->x->hold.next[track] = at;
	return at;
}

void frames_hold(struct insight *in, uint32_t track, uint64_t from, uint64_t to, bool sync)
{
	const struct trace *t = in->t;
	size_t end = t->track_first[track + 1], next;
	uint32_t at;

	if (!in->x->hold.host)
		return;
	next = next_after(in, track, from);
	at = next > t->track_first[track] ? (uint32_t)next - 1 : NO_EVENT;
	while (at != NO_EVENT &&
	       (event_end(&t->event[at]) <= from || t->event[at].kind == EVENT_SAMPLE))
		at = in->link[at] - 1;
	for (; next < end && t->event[next].start_ns < to; next++) {
		const struct event *e = &t->event[next];

		if (!e->dur_ns || (e->kind != EVENT_RANGE && e->kind != EVENT_API))
			continue;
		at = climb(in, at, &from, e->start_ns, sync);
		hold(in, at, from, e->start_ns, sync);
		from = e->start_ns > from ? e->start_ns : from;
		at = (uint32_t)next;
	}
	at = climb(in, at, &from, to, sync);
	hold(in, at, from, to, sync);
}

int frames_begin(struct insight *in)
{
	struct state_hold *h = &in->x->hold;

	frames_free(h);
	if (!in->kinds[EVENT_RANGE])
		return 0;
	h->host = calloc(in->t->events + 1, sizeof(*h->host));
	h->sync = calloc(in->t->events + 1, sizeof(*h->sync));
	h->track = calloc(in->t->tracks + 1, 1);
	h->next = calloc(in->t->tracks + 1, sizeof(*h->next));
	return h->host && h->sync && h->track && h->next ? 0 : -ENOMEM;
}

void frames_free(struct state_hold *h)
{
	free(h->host);
	free(h->sync);
	free(h->track);
	free(h->next);
	*h = (struct state_hold){ 0 };
}

/* How deep it is; UINT32_MAX: inside itself. A function that calls itself counts once. */
static uint32_t depth_of(const struct insight *in, uint32_t event)
{
	uint32_t name = in->t->event[event].name, n = 0;

	for (uint32_t up = in->link[event]; up; up = in->link[up - 1], n++)
		if (in->t->event[up - 1].name == name)
			return UINT32_MAX;
	return n;
}

static int add(struct insight *in, struct state_device *d, uint32_t event)
{
	const struct event *e = &in->t->event[event];
	struct state_frame *f;
	uint32_t at, depth;

	depth = e->kind == EVENT_RANGE ? depth_of(in, event) : UINT32_MAX;
	if (depth == UINT32_MAX)
		return 0;
	at = map_number(&d->frame_of, e->name);
	if (!at || vec_room0(&d->frame, &d->frames, at, sizeof(*d->frame)) < 0)
		return -ENOMEM;
	f = &d->frame[at - 1];
	f->name = e->name;
	f->ns += in->x->hold.host[event];
	f->sync_ns += in->x->hold.sync[event];
	f->span_ns += event_counts(e) ? e->dur_ns : 0;
	f->count += event_counts(e);
	f->depth = depth > f->depth ? depth : f->depth;
	return 0;
}

/* What encloses comes before what is inside. A range that outlasts the one around it is not inside. */
static int sum_track(struct insight *in, struct state_device *d, uint32_t track)
{
	struct state_hold *h = &in->x->hold;
	size_t first = in->t->track_first[track];
	int err = 0;

	for (size_t i = in->t->track_first[track + 1]; i-- > first && !err;) {
		uint32_t up = in->link[i];

		if (!h->host[i] && !h->sync[i])
			continue;
		if (up && up - 1 < i && in->t->event[up - 1].track == track &&
		    event_end(&in->t->event[i]) <= event_end(&in->t->event[up - 1])) {
			h->host[up - 1] += h->host[i];
			h->sync[up - 1] += h->sync[i];
		}
		err = add(in, d, (uint32_t)i);
		h->host[i] = h->sync[i] = 0;
	}
	return err;
}

int frames_sum(struct insight *in, struct state_device *d)
{
	int err = 0;

	for (uint32_t l = 0; in->x->hold.host && l < in->t->tracks && !err; l++) {
		if (in->x->hold.track[l])
			err = sum_track(in, d, l);
		in->x->hold.track[l] = false;
	}
	return err;
}

/* The deepest one that holds half of the time: the one with the least, and if several are equal the
 * innermost. */
static struct insight_frame deepest(const struct trace *t, const struct state_device *d, bool sync,
				    bool own, uint64_t all)
{
	const struct state_frame *best = NULL;

	for (size_t i = 0; i < d->frame_of.used; i++) {
		const struct state_frame *f = &d->frame[i];
		uint64_t ns = sync ? f->sync_ns : f->ns, than;

		if (!ns || ns < all - all / 2 || (own && !code_is_own(trace_text(t, f->name))))
			continue;
		than = !best ? UINT64_MAX : sync ? best->sync_ns : best->ns;
		if (ns < than ||
		    (ns == than &&
		     (f->depth > best->depth || (f->depth == best->depth && f->name < best->name))))
			best = f;
	}
	return best ? (struct insight_frame){ best->name, sync ? best->sync_ns : best->ns,
					      best->span_ns, best->count }
		    : (struct insight_frame){ 0 };
}

void frames_end(const struct trace *t, const struct state_device *d, struct insight_device *to)
{
	uint64_t host = to->account.ns[ACCOUNT_HOST] + to->account.ns[ACCOUNT_LAUNCH];
	uint64_t sync = to->account.ns[ACCOUNT_SYNC];

	to->host_in = deepest(t, d, false, false, host);
	to->host_own = deepest(t, d, false, true, host);
	to->sync_in = deepest(t, d, true, false, sync);
	to->sync_own = deepest(t, d, true, true, sync);
}
