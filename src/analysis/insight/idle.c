/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle.c - why a GPU was idle, gap by gap, from the call that launched what ended the gap:
 *
 *	   gap begins     the call        the call ends    gap ends: the work starts
 *	   |--- host -----|---- launch ---+-- LAG -|------ dependency ------|
 *	   |--- launch, or dependency if longer than LAG: called before the gap began ---|
 *
 * Of the host's part, what the launching thread spent on input is input. If the GPU ran dry
 * while that thread waited for it, the thread could have used the wait to launch: so much of
 * the rest, and no more than it waited, is due to the wait.
 */
#include "insight/state.h"

#include <errno.h>
#include <stdlib.h>

#define LAG_NS  20000u /* from a call to the start of work that waits for nothing */
#define NAME_NS 20000u /* shorter gaps say nothing of what the host did */

const char *const idle_word[IDLE_CAUSES] = {
	[IDLE_INPUT] = "input",
	[IDLE_SYNC] = "sync",
	[IDLE_HOST] = "host",
	[IDLE_LAUNCH] = "launch",
	[IDLE_DEPENDENCY] = "dependency",
	[IDLE_OTHER] = "other",
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The first span of a track that ends after ns; the track's end if none does. */
static size_t span_after(const struct insight_spans *s, uint32_t track, uint64_t ns)
{
	size_t lo = s->track_first[track], hi = s->track_first[track + 1];

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->span[mid].end_ns > ns)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static uint64_t spent_in(const struct insight_spans *s, uint32_t track, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;

	for (size_t i = span_after(s, track, from);
	     i < s->track_first[track + 1] && s->span[i].start_ns < to; i++)
		sum += least(s->span[i].end_ns, to) - most(s->span[i].start_ns, from);
	return sum;
}

/* How long the thread had waited for the GPU when it ran dry at ns. The wait's end may be seen a
 * little before the GPU's: clocks and rounding. */
static uint64_t waited(const struct insight_spans *s, uint32_t track, uint64_t ns)
{
	uint64_t early = ns > LAG_NS ? ns - LAG_NS : 0;
	size_t i = span_after(s, track, early);

	if (i == s->track_first[track + 1] || s->span[i].start_ns >= ns)
		return 0;
	return ns - s->span[i].start_ns;
}

/* The parts of a gap; they sum to its length. */
static void take_apart(const struct insight *in, const struct gap *g, uint64_t part[IDLE_CAUSES])
{
	uint32_t launch = insight_launch(in, g->after);
	const struct event *call;
	uint64_t from, host, ready;

	for (size_t i = 0; i < IDLE_CAUSES; i++)
		part[i] = 0;
	if (launch == NO_EVENT) {
		part[IDLE_OTHER] = g->end_ns - g->start_ns;
		return;
	}
	call = &in->t->event[launch];
	from = least(most(call->start_ns, g->start_ns), g->end_ns);
	host = from - g->start_ns;
	part[IDLE_INPUT] = spent_in(&in->spans[SPAN_INPUT], call->track, g->start_ns, from);
	host -= part[IDLE_INPUT];
	part[IDLE_SYNC] = least(host, waited(&in->spans[SPAN_SYNC], call->track, g->start_ns));
	part[IDLE_HOST] = host - part[IDLE_SYNC];
	ready = most(event_end(call), g->start_ns);
	ready = least(ready > UINT64_MAX - LAG_NS ? ready : ready + LAG_NS, g->end_ns);
	part[IDLE_LAUNCH] = most(ready, from) - from;
	part[IDLE_DEPENDENCY] = g->end_ns - most(ready, from);
}

static void keep_longest(struct insight_device *d, const struct insight_gap *g)
{
	uint64_t len = g->end_ns - g->start_ns;
	size_t i = INSIGHT_GAPS;

	while (i > 0 && d->longest[i - 1].end_ns - d->longest[i - 1].start_ns < len)
		i--;
	if (i == INSIGHT_GAPS)
		return;
	for (size_t k = INSIGHT_GAPS - 1; k > i; k--)
		d->longest[k] = d->longest[k - 1];
	d->longest[i] = *g;
}

/* Calls say little: the op or function around them does. */
static uint32_t what_host_ran(const struct insight *in, const struct event *call, uint64_t ns)
{
	uint32_t at = insight_host_at(in, call->track, ns);

	while (at != NO_EVENT && in->t->event[at].kind != EVENT_RANGE)
		at = in->link[at] - 1;
	return at;
}

static int add_name(struct state_device *d, uint32_t name, uint64_t ns)
{
	uint32_t at = map_number(&d->host_name, name);

	if (!at)
		return -ENOMEM;
	if (at > d->host_names) {
		uint64_t *more = realloc(d->host_ns, 2 * (size_t)at * sizeof(*more));

		if (!more)
			return -ENOMEM;
		for (size_t i = d->host_names; i < 2 * (size_t)at; i++)
			more[i] = 0;
		d->host_ns = more;
		d->host_names = 2 * (size_t)at;
	}
	d->host_ns[at - 1] += ns;
	return 0;
}

/* Where the last step that was left out and touches the gap ends: what is before it was not seen. */
static uint64_t seen_from(const struct insight *in, uint32_t process, const struct gap *g)
{
	const struct state_process *p = &in->x->process[process];
	const struct state_left *left = in->x->left ? &in->x->left[p->left_first] : NULL;
	size_t lo = 0, hi = left ? p->lefts : 0;

	while (lo < hi) { /* the first that begins at the gap's end or later */
		size_t mid = lo + (hi - lo) / 2;

		if (left[mid].start_ns < g->end_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? least(most(left[lo - 1].end_ns, g->start_ns), g->end_ns) : g->start_ns;
}

void idle_gap(void *idle, const struct gap *whole)
{
	struct idle *x = idle;
	const struct trace *t = x->in->t;
	uint32_t process = t->track[t->event[whole->after].track].process;
	struct gap cut = *whole, *g = &cut;
	struct insight_device *d = &x->d->d;
	struct insight_gap kept;
	uint32_t launch = insight_launch(x->in, g->after), ran = NO_EVENT;
	uint64_t part[IDLE_CAUSES], host, len;

	g->start_ns = seen_from(x->in, process, whole);
	x->d->sum.b.unseen_ns += g->start_ns - whole->start_ns;
	len = g->end_ns - g->start_ns;
	if (!len)
		return;
	kept = (struct insight_gap){ g->start_ns, g->end_ns, IDLE_OTHER, t->event[g->after] };
	take_apart(x->in, g, part);
	for (enum idle_cause c = 0; c < IDLE_CAUSES; c++) {
		d->idle_ns[c] += part[c];
		if (part[c] > part[kept.cause] || !part[kept.cause])
			kept.cause = c;
	}
	host = part[IDLE_HOST] + part[IDLE_LAUNCH];
	if (launch != NO_EVENT && event_end(&t->event[launch]) <= g->start_ns) {
		d->queued_gap_ns += host; /* launched in time: the host is not to blame */
	} else if (host && len < GAP_SHORT_NS) {
		d->short_gap_ns += host;
		d->short_gaps++;
	}
	if (launch != NO_EVENT && len >= NAME_NS)
		ran = what_host_ran(x->in, &t->event[launch], g->start_ns + len / 2);
	if (ran != NO_EVENT && !x->err)
		x->err = add_name(x->d, t->event[ran].name, part[IDLE_HOST]);
	keep_longest(d, &kept);
}

void idle_names(struct state_device *x)
{
	for (size_t i = 0; i < x->host_name.cap; i++) {
		uint32_t at = (uint32_t)x->host_name.slot[i].value;
		uint32_t name = (uint32_t)x->host_name.slot[i].key;
		uint64_t ns = at ? x->host_ns[at - 1] : 0;

		if (ns < x->d.host_name_ns || !ns ||
		    (ns == x->d.host_name_ns && name > x->d.host_name))
			continue;
		x->d.host_name = name;
		x->d.host_name_ns = ns;
	}
}
