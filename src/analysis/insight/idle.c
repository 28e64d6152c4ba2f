/* SPDX-License-Identifier: Apache-2.0 */
/* idle.c - see idle.h: the rule, and the gaps of a trace that it judges. */
#include "insight/idle.h"

#include <errno.h>

#include "base/order.h"
#include "base/vec.h"
#include "insight/state.h"

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

bool idle_is_sync(uint32_t kind, enum call call)
{
	return kind == EVENT_SYNC ||
	       (kind == EVENT_API && (call == CALL_SYNC || call == CALL_COPY_WAITS));
}

/* The first span that ends after ns; n if none does. */
static size_t span_after(struct idle_spans s, uint64_t ns)
{
	return first_where(i, 0, s.n, s.span[i].end_ns > ns);
}

/* How long the thread had waited for the GPU when it ran dry at ns. The wait's end may be seen a
 * little before the GPU's: clocks and rounding. */
static uint64_t waited(struct idle_spans s, uint64_t ns)
{
	size_t i = span_after(s, ns > IDLE_LAG_NS ? ns - IDLE_LAG_NS : 0);

	return i == s.n || s.span[i].start_ns >= ns ? 0 : ns - s.span[i].start_ns;
}

/* Of the time that was spent on no input the first `sync` is due to the wait. */
static void walk_host(uint64_t from, uint64_t to, uint64_t sync, idle_piece_fn *fn, void *arg)
{
	uint64_t mid = from + least(sync, to - from);

	if (mid > from)
		fn(arg, IDLE_SYNC, from, mid);
	if (to > mid)
		fn(arg, IDLE_HOST, mid, to);
}

void idle_walk(uint64_t from, uint64_t to, const struct idle_launch *l, idle_piece_fn *fn,
	       void *arg)
{
	uint64_t called, ready, sync, at = from;

	if (!l) {
		fn(arg, IDLE_OTHER, from, to);
		return;
	}
	called = least(most(l->start_ns, from), to);
	sync = waited(l->sync, from);
	for (size_t i = span_after(l->input, from);
	     i < l->input.n && l->input.span[i].start_ns < called; i++) {
		uint64_t a = most(l->input.span[i].start_ns, from);
		uint64_t b = least(l->input.span[i].end_ns, called);

		walk_host(at, a, sync, fn, arg);
		sync -= least(sync, a - at);
		fn(arg, IDLE_INPUT, a, b);
		at = b;
	}
	walk_host(at, called, sync, fn, arg);
	ready = most(l->end_ns, from);
	ready = least(ready > UINT64_MAX - IDLE_LAG_NS ? ready : ready + IDLE_LAG_NS, to);
	ready = most(ready, called);
	if (ready > called)
		fn(arg, IDLE_LAUNCH, called, ready);
	if (to > ready)
		fn(arg, IDLE_DEPENDENCY, ready, to);
}

static void add_piece(void *part, enum idle_cause c, uint64_t from, uint64_t to)
{
	((uint64_t *)part)[c] += to - from;
}

void idle_parts(uint64_t part[IDLE_CAUSES], uint64_t from, uint64_t to, const struct idle_launch *l)
{
	for (size_t i = 0; i < IDLE_CAUSES; i++)
		part[i] = 0;
	idle_walk(from, to, l, add_piece, part);
}

enum idle_cause idle_most(const uint64_t part[IDLE_CAUSES])
{
	enum idle_cause best = IDLE_OTHER;

	for (enum idle_cause c = 0; c < IDLE_CAUSES; c++)
		if (part[c] > part[best] || !part[best])
			best = c;
	return best;
}

uint64_t idle_seen_from(struct idle_spans unsampled, uint64_t from, uint64_t to)
{
	size_t next = first_where(i, 0, unsampled.n, unsampled.span[i].start_ns >= to);

	return next ? least(most(unsampled.span[next - 1].end_ns, from), to) : from;
}

/* --- the gaps of a trace --- */

static struct idle_spans spans_of(const struct insight *in, enum span_kind kind, uint32_t track)
{
	const struct insight_spans *s = &in->spans[kind];
	size_t first = s->track_first[track];

	return (struct idle_spans){ s->span + first, s->track_first[track + 1] - first };
}

static struct idle_launch launch_of(const struct insight *in, const struct event *call)
{
	return (struct idle_launch){ call->start_ns, event_end(call),
				     spans_of(in, SPAN_SYNC, call->track),
				     spans_of(in, SPAN_INPUT, call->track) };
}

static void take_apart(struct insight *in, const struct gap *g, uint64_t part[IDLE_CAUSES])
{
	uint32_t process = in->t->track[in->t->event[g->after].track].process;
	uint32_t launch = insight_launch(in, g->after);
	const struct event *call = launch == NO_EVENT ? NULL : &in->t->event[launch];
	struct idle_launch l;

	if (call)
		l = launch_of(in, call);
	idle_parts(part, g->start_ns, g->end_ns, call ? &l : NULL);
	samples_gap(in, process, call ? call->track : 0, g->start_ns, g->end_ns, call ? &l : NULL,
		    part[IDLE_SYNC]);
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

	if (!at || vec_room0(&d->host_ns, &d->host_names, at, sizeof(*d->host_ns)) < 0)
		return -ENOMEM;
	d->host_ns[at - 1] += ns;
	return 0;
}

static struct idle_spans unsampled_of(const struct insight *in, uint32_t process)
{
	const struct state_process *p = &in->x->process[process];

	return in->x->left ? (struct idle_spans){ &in->x->left[p->left_first], p->lefts }
			   : (struct idle_spans){ NULL, 0 };
}

static const enum account_cause idle_account[IDLE_CAUSES] = {
	[IDLE_INPUT] = ACCOUNT_INPUT,
	[IDLE_SYNC] = ACCOUNT_SYNC,
	[IDLE_HOST] = ACCOUNT_HOST,
	[IDLE_LAUNCH] = ACCOUNT_LAUNCH,
	[IDLE_DEPENDENCY] = ACCOUNT_DEPENDENCY,
	[IDLE_OTHER] = ACCOUNT_UNKNOWN,
};

struct put {
	struct account_sum *to;
	bool head;
};

/* If the first work of all had been launched in time, the device was busy with what is not in the
 * trace; so it was if the launch is not. */
static void put_piece(void *arg, enum idle_cause c, uint64_t from, uint64_t to)
{
	const struct put *p = arg;

	if (p->head && (c == IDLE_DEPENDENCY || c == IDLE_OTHER))
		account_cut(p->to, from, to);
	else
		account_put(p->to, idle_account[c], from, to);
}

/* The account has gaps of its own: before the first work, and not before the first step. */
static void account_one(struct idle *x, const struct gap *g)
{
	const struct trace *t = x->in->t;
	const struct event *e = &t->event[g->after];
	uint32_t launch = insight_launch(x->in, g->after);
	const struct event *call = launch == NO_EVENT ? NULL : &t->event[launch];
	enum account_cause kind = g->class == CLASS_COMM               ? ACCOUNT_COMM
				  : class_parts(g->class) == OF_MEMORY ? ACCOUNT_COPY
								       : ACCOUNT_COMPUTE;
	struct account_gap gap = account_work(&x->d->account, kind, e->start_ns, event_end(e),
					      call ? call->start_ns : UINT64_MAX);
	struct put put = { &x->d->account, gap.head };
	struct idle_launch l;
	uint64_t from;

	if (gap.to_ns <= gap.from_ns)
		return;
	from = idle_seen_from(unsampled_of(x->in, t->track[e->track].process), gap.from_ns,
			      gap.to_ns);
	account_put(&x->d->account, ACCOUNT_UNKNOWN, gap.from_ns, from);
	if (call)
		l = launch_of(x->in, call);
	idle_walk(from, gap.to_ns, call ? &l : NULL, put_piece, &put);
}

void idle_tail(struct account_sum *x)
{
	struct account_gap g = account_tail(x);

	account_put(x, ACCOUNT_HOST, g.from_ns, g.to_ns);
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

	account_one(x, whole);
	if (whole->start_ns == whole->end_ns)
		return;
	g->start_ns = idle_seen_from(unsampled_of(x->in, process), whole->start_ns, whole->end_ns);
	x->d->sum.b.unseen_ns += g->start_ns - whole->start_ns;
	len = g->end_ns - g->start_ns;
	if (!len)
		return;
	kept = (struct insight_gap){ g->start_ns, g->end_ns, IDLE_OTHER, t->event[g->after] };
	take_apart(x->in, g, part);
	for (enum idle_cause c = 0; c < IDLE_CAUSES; c++)
		d->idle_ns[c] += part[c];
	kept.cause = idle_most(part);
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
