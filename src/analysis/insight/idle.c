/* SPDX-License-Identifier: Apache-2.0 */
/* idle.c - see idle.h: the rule. */
#include "insight/idle.h"

#include "base/order.h"
#include "model/event.h"

const char *const idle_word[IDLE_CAUSES] = {
	[IDLE_INPUT] = "input",
	[IDLE_SYNC] = "sync",
	[IDLE_HOST] = "host",
	[IDLE_LAUNCH] = "launch",
	[IDLE_DEPENDENCY] = "dependency",
	[IDLE_OTHER] = "other",
	[IDLE_COMPILE] = "compile",
	[IDLE_CHECKPOINT] = "checkpoint",
	[IDLE_GC] = "gc",
	[IDLE_ALLOC] = "alloc",
	[IDLE_CAPTURE] = "graph_capture",
	[IDLE_WARM_UP] = "warm_up",
	[IDLE_PROFILER] = "profiler",
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

void idle_lead_add(struct idle_lead *x, uint32_t track, struct idle_spans sync, uint64_t from_ns,
		   uint64_t to_ns)
{
	uint64_t since;
	size_t k = 0;

	while (k < IDLE_THREADS - 1 && x->seen[k].track && x->seen[k].track != track + 1)
		k++;
	if (x->works - x->earned > IDLE_QUEUE)
		x->ns = 0;
	since = x->seen[k].track == track + 1 ? x->seen[k].until_ns : x->begin_ns;
	for (size_t i = span_after(sync, since); i < sync.n && sync.span[i].start_ns < from_ns;
	     i++) {
		x->ns += least(sync.span[i].end_ns, from_ns) - most(sync.span[i].start_ns, since);
		x->earned = x->works;
	}
	x->seen[k].track = track + 1;
	x->seen[k].until_ns = most(since, to_ns);
}

enum idle_cause idle_mark(uint32_t kind, enum call call, enum range_kind range, uint64_t first_ns)
{
	static const uint8_t of_range[] = {
		[RANGE_OTHER] = IDLE_CAUSES,    [RANGE_INPUT] = IDLE_INPUT,
		[RANGE_MEMORY] = IDLE_CAUSES,   [RANGE_MODULE] = IDLE_CAUSES,
		[RANGE_COMPILE] = IDLE_COMPILE, [RANGE_CHECKPOINT] = IDLE_CHECKPOINT,
		[RANGE_GC] = IDLE_GC,           [RANGE_PROFILER] = IDLE_PROFILER,
		[RANGE_ALLOC] = IDLE_CAUSES,
	};

	if (kind == EVENT_RANGE && range == RANGE_ALLOC && first_ns >= IDLE_SET_UP_NS)
		return IDLE_WARM_UP;
	if (kind == EVENT_RANGE)
		return of_range[range];
	if (kind != EVENT_API)
		return IDLE_CAUSES;
	if (call == CALL_LOAD ||
	    ((call == CALL_ALLOC || call == CALL_OTHER) && first_ns >= IDLE_SET_UP_NS))
		return IDLE_WARM_UP;
	if (call == CALL_ALLOC)
		return IDLE_ALLOC;
	return call == CALL_CAPTURE || call == CALL_CAPTURE_BEGIN || call == CALL_CAPTURE_END
		       ? IDLE_CAPTURE
		       : IDLE_CAUSES;
}

size_t idle_mark_add(struct insight_span *mark, size_t n, struct insight_span s, enum call call,
		     uint64_t *capture)
{
	if (s.cause == IDLE_CAPTURE && call == CALL_CAPTURE_BEGIN && !*capture)
		*capture = s.start_ns + 1;
	if (s.cause == IDLE_CAPTURE && call == CALL_CAPTURE_END && *capture) {
		s.start_ns = *capture - 1;
		*capture = 0;
		while (n && mark[n - 1].start_ns >= s.start_ns)
			n--;
	}
	if (s.end_ns <= s.start_ns || (n && mark[n - 1].end_ns > s.start_ns))
		return n;
	mark[n] = s;
	return n + 1;
}

struct walk {
	idle_piece_fn *fn;
	void *arg;
	uint64_t lead, used;
};

/* The first part of what no mark explains is due to waits. */
static void walk_host(struct walk *w, enum idle_cause c, uint64_t from, uint64_t to)
{
	uint64_t mid = from + least(w->lead, to - from);

	if (mid > from)
		w->fn(w->arg, IDLE_SYNC, from, mid);
	if (to > mid)
		w->fn(w->arg, c, mid, to);
	w->lead -= mid - from;
	w->used += mid - from;
}

/* The call itself, and what it takes to start. */
static void walk_launch(struct walk *w, const struct idle_launch *l, uint64_t from, uint64_t to,
			bool late)
{
	uint64_t end = least(most(l->end_ns, from), to);

	if (end > from && l->end_ns - l->start_ns >= IDLE_FIRST_USE_NS) {
		w->fn(w->arg, IDLE_WARM_UP, from, end);
		from = end;
	}
	if (to > from && late)
		walk_host(w, IDLE_LAUNCH, from, to);
	else if (to > from)
		w->fn(w->arg, IDLE_LAUNCH, from, to);
}

uint64_t idle_walk(uint64_t from, uint64_t to, const struct idle_launch *l, idle_piece_fn *fn,
		   void *arg)
{
	struct walk w = { fn, arg, l ? l->lead_ns : 0, 0 };
	uint64_t called, ready, at = from;

	if (!l) {
		fn(arg, IDLE_OTHER, from, to);
		return 0;
	}
	called = least(most(l->start_ns, from), to);
	for (size_t i = span_after(l->mark, from);
	     i < l->mark.n && l->mark.span[i].start_ns < called; i++) {
		uint64_t a = most(l->mark.span[i].start_ns, from);
		uint64_t b = least(l->mark.span[i].end_ns, called);

		if (a > at)
			walk_host(&w, IDLE_HOST, at, a);
		if (b > a)
			fn(arg, l->mark.span[i].cause, a, b);
		at = most(at, b);
	}
	if (called > at)
		walk_host(&w, IDLE_HOST, at, called);
	ready = most(l->end_ns, from);
	ready = least(ready > UINT64_MAX - IDLE_LAG_NS ? ready : ready + IDLE_LAG_NS, to);
	ready = most(ready, called);
	walk_launch(&w, l, called, ready, l->start_ns > from);
	if (to > ready)
		fn(arg, IDLE_DEPENDENCY, ready, to);
	return w.used;
}

static void add_piece(void *part, enum idle_cause c, uint64_t from, uint64_t to)
{
	((uint64_t *)part)[c] += to - from;
}

uint64_t idle_parts(uint64_t part[IDLE_CAUSES], uint64_t from, uint64_t to,
		    const struct idle_launch *l)
{
	for (size_t i = 0; i < IDLE_CAUSES; i++)
		part[i] = 0;
	return idle_walk(from, to, l, add_piece, part);
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
