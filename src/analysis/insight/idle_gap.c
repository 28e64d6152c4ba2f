/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle_gap.c - the gaps of a trace: each is taken apart once, for the span of the device's work, its
 * account, the samples in it, and the frames that the host was in.
 */
#include "base/order.h"
#include "insight/state.h"

static const enum account_cause idle_account[IDLE_CAUSES] = {
	[IDLE_INPUT] = ACCOUNT_INPUT,
	[IDLE_SYNC] = ACCOUNT_SYNC,
	[IDLE_HOST] = ACCOUNT_HOST,
	[IDLE_LAUNCH] = ACCOUNT_LAUNCH,
	[IDLE_DEPENDENCY] = ACCOUNT_DEPENDENCY,
	[IDLE_COMPILE] = ACCOUNT_COMPILE,
	[IDLE_CHECKPOINT] = ACCOUNT_CHECKPOINT,
	[IDLE_GC] = ACCOUNT_GC,
	[IDLE_ALLOC] = ACCOUNT_ALLOC,
	[IDLE_CAPTURE] = ACCOUNT_CAPTURE,
	[IDLE_WARM_UP] = ACCOUNT_WARM_UP,
	[IDLE_PROFILER] = ACCOUNT_PROFILER,
	[IDLE_OTHER] = ACCOUNT_UNKNOWN,
};

struct taken {
	struct idle *x;
	struct account_gap gap;   /* of the account */
	uint64_t from_ns, to_ns;  /* of the span */
	const struct event *call; /* NULL: not seen */
	uint32_t process;
	uint64_t part[IDLE_CAUSES]; /* of the span */
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static struct idle_spans spans_of(const struct insight *in, enum span_kind kind, uint32_t track)
{
	const struct insight_spans *s = &in->spans[kind];
	size_t first = s->track_first[track];

	return (struct idle_spans){ s->span + first, s->track_first[track + 1] - first };
}

static struct idle_spans unsampled_of(const struct insight *in, uint32_t process)
{
	const struct state_process *p = &in->x->process[process];

	return in->x->left ? (struct idle_spans){ &in->x->left[p->left_first], p->lefts }
			   : (struct idle_spans){ NULL, 0 };
}

/* If the first work of all had been launched in time, the device was busy with what is not in the
 * trace; so it was if the launch is not. */
static void put_account(const struct taken *k, enum idle_cause c, uint64_t from, uint64_t to)
{
	struct account_sum *a = &k->x->d->account;

	from = most(from, k->gap.from_ns);
	to = least(to, k->gap.to_ns);
	if (to <= from)
		return;
	if (k->gap.head && (c == IDLE_DEPENDENCY || c == IDLE_OTHER))
		account_cut(a, from, to);
	else
		account_put(a, idle_account[c], from, to);
	if (k->call && (c == IDLE_HOST || c == IDLE_LAUNCH || c == IDLE_SYNC) &&
	    account_within(a, from))
		frames_hold(k->x->in, k->call->track, from, to, c == IDLE_SYNC);
}

static void put_piece(void *arg, enum idle_cause c, uint64_t from, uint64_t to)
{
	struct taken *k = arg;
	uint64_t a = most(from, k->from_ns), b = least(to, k->to_ns);

	k->part[c] += b > a ? b - a : 0;
	put_account(k, c, from, to);
	samples_gap(k->x->in, k->process, k->call ? k->call->track : UINT32_MAX, from, to, c);
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

/* What its thread did, and how far ahead it would be without its waits. */
static struct idle_launch launch_of(struct idle *x, const struct event *call, uint64_t from,
				    uint64_t to)
{
	struct idle_lead *lead = &x->d->lead;

	if (lead->works > 1) /* before the first work no wait was for this device */
		idle_lead_add(lead, call->track, spans_of(x->in, SPAN_SYNC, call->track), from, to);
	return (struct idle_launch){ call->start_ns, event_end(call),
				     spans_of(x->in, SPAN_MARK, call->track), lead->ns };
}

static void take_apart(struct taken *k, uint64_t from, uint64_t to)
{
	struct idle *x = k->x;
	struct idle_launch l;
	uint64_t seen = idle_seen_from(unsampled_of(x->in, k->process), from, to), used;

	if (k->gap.from_ns < seen)
		account_put(&x->d->account, ACCOUNT_UNKNOWN, k->gap.from_ns,
			    least(seen, k->gap.to_ns));
	if (k->from_ns < seen) {
		x->d->sum.b.unseen_ns += least(seen, k->to_ns) - k->from_ns;
		k->from_ns = least(seen, k->to_ns);
	}
	if (seen >= to)
		return;
	if (k->call)
		l = launch_of(x, k->call, seen, to);
	used = idle_walk(seen, to, k->call ? &l : NULL, put_piece, k);
	x->d->lead.ns -= least(x->d->lead.ns, used);
}

/* Of the span between the first and the last work. */
static void add_gap(const struct taken *k, const struct event *after)
{
	struct insight_device *d = &k->x->d->d;
	struct insight_gap kept = { k->from_ns, k->to_ns, idle_most(k->part), *after };
	uint64_t host = k->part[IDLE_HOST] + k->part[IDLE_LAUNCH];

	for (enum idle_cause c = 0; c < IDLE_CAUSES; c++)
		d->idle_ns[c] += k->part[c];
	if (k->call && event_end(k->call) <= k->from_ns) {
		d->queued_gap_ns += host; /* launched in time: the host is not to blame */
	} else if (host && k->to_ns - k->from_ns < GAP_SHORT_NS) {
		d->short_gap_ns += host;
		d->short_gaps++;
	}
	keep_longest(d, &kept);
}

void idle_gap(void *idle, const struct gap *g)
{
	struct idle *x = idle;
	const struct trace *t = x->in->t;
	const struct event *e = &t->event[g->after];
	uint32_t launch = insight_launch(x->in, g->after);
	struct taken k = { .x = x,
			   .from_ns = g->start_ns,
			   .to_ns = g->end_ns,
			   .call = launch == NO_EVENT ? NULL : &t->event[launch],
			   .process = t->track[e->track].process };
	enum account_cause kind = g->class == CLASS_COMM               ? ACCOUNT_COMM
				  : class_parts(g->class) == OF_MEMORY ? ACCOUNT_COPY
								       : ACCOUNT_COMPUTE;

	k.gap = account_work(&x->d->account, kind, e->start_ns, event_end(e),
			     k.call ? k.call->start_ns : UINT64_MAX);
	idle_lead_work(&x->d->lead, e->start_ns);
	if (k.gap.from_ns == k.gap.to_ns && k.from_ns == k.to_ns)
		return;
	take_apart(&k, k.gap.from_ns < k.gap.to_ns ? least(k.gap.from_ns, k.from_ns) : k.from_ns,
		   e->start_ns);
	if (k.to_ns > k.from_ns)
		add_gap(&k, e);
}

void idle_tail(struct account_sum *x)
{
	struct account_gap g = account_tail(x);

	account_put(x, ACCOUNT_HOST, g.from_ns, g.to_ns);
}
