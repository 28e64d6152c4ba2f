/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why.c - why a GPU was idle, gap by gap, as the events come; insight/idle.h has the rule.
 *
 * A gap is known when the work that ends it comes. The call that launched that work is known by
 * then, because threads are delivered before devices. It keeps the newest calls, by correlation id,
 * and of each thread the waits and fetches of input that a gap may still reach back to. Gaps are
 * kept, because no source has them; when there are too many, the shortest are dropped, and then
 * appear in the cells only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "insight/breakdown.h"
#include "insight/insight.h"
#include "tile/view.h"

#define CALLS (1u << 18) /* slots for calls, a power of two */
/* slots for one id, a power of two: ids of different processes may collide */
#define CALL_WAYS 4u
#define GAPS_MAX  524288u /* limit for all tracks together */
#define SPANS_OLD 64u     /* spans of a thread that are kept from one turn to the next */

struct launch {
	uint64_t start_ns, end_ns;
	uint32_t process, corr, track;
	bool launches;
};

struct spans {
	struct insight_span *span; /* owned, by start */
	size_t n, cap;
	uint64_t capture; /* for marks: state of idle_mark_add() */
};

/* Also the unsampled steps of the thread whose steps count. */
enum { SPAN_UNSAMPLED = SPAN_KINDS, WHY_SPANS };

struct why {
	/* thread and name of calls that took longer than IDLE_SET_UP_NS */
	struct map set_up;
	struct launch *call;              /* owned, by corr */
	struct spans (*spans)[WHY_SPANS]; /* owned, by track */
	size_t tracks;
	size_t gaps;
	uint64_t least_ns; /* shorter gaps are dropped */
	bool unsampled;    /* unsampled steps were seen */
};

int why_new(struct why **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void why_free(struct why *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->tracks; i++)
		for (int k = 0; k < WHY_SPANS; k++)
			free(w->spans[i][k].span);
	free(w->spans);
	free(w->call);
	map_fini(&w->set_up);
	free(w);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* --- threads --- */

/* The slot of the call with that id, otherwise the oldest slot that it may reuse. */
static struct launch *call_slot(const struct why *w, uint32_t process, uint32_t corr)
{
	struct launch *c = &w->call[(corr + process * 0x9e3779b1u) & (CALLS - CALL_WAYS)];
	struct launch *oldest = c;

	for (size_t i = 0; i < CALL_WAYS; i++) {
		if (c[i].corr == corr && c[i].process == process)
			return &c[i];
		if (c[i].start_ns < oldest->start_ns)
			oldest = &c[i];
	}
	return oldest;
}

static int add_call(struct tile_view *v, const struct piece *p)
{
	struct why *w = v->why;
	uint32_t process = v->feed->track[p->track].process;
	bool launches = v->name[p->name].launches;
	struct launch *c;

	v->calls |= launches;
	if (!w->call) {
		w->call = calloc(CALLS, sizeof(*w->call));
		if (!w->call)
			return -ENOMEM;
	}
	c = call_slot(w, process, p->corr);
	/* Runtime and driver calls may share an id: keeps the one that launches. */
	if (c->corr == p->corr && c->process == process && c->launches && !launches)
		return 0;
	*c = (struct launch){ p->start_ns, p->end_ns, process, p->corr, p->track, launches };
	return 0;
}

/* Room for one more span of a thread. */
static struct spans *room_of(struct why *w, uint32_t track, int kind)
{
	struct spans *s;

	if (vec_room0(&w->spans, &w->tracks, (size_t)track + 1, sizeof(*w->spans)) < 0)
		return NULL;
	s = &w->spans[track][kind];
	return vec_room(&s->span, &s->cap, s->n + 1, sizeof(*s->span)) < 0 ? NULL : s;
}

static int add_mark(struct tile_view *v, const struct piece *p, enum idle_cause c)
{
	struct spans *s = room_of(v->why, p->track, SPAN_MARK);

	if (!s)
		return -ENOMEM;
	if (s->n && s->span[s->n - 1].start_ns == p->start_ns &&
	    s->span[s->n - 1].end_ns < p->end_ns) /* only the outer one counts */
		s->n--;
	s->n = idle_mark_add(s->span, s->n,
			     (struct insight_span){ p->start_ns, p->end_ns, 0, (uint8_t)c },
			     v->name[p->name].call, &s->capture);
	return 0;
}

static int add_span(struct tile_view *v, const struct piece *p, int kind)
{
	struct why *w = v->why;
	struct spans *s = room_of(w, p->track, kind);

	if (!s)
		return -ENOMEM;
	if (s->n && s->span[s->n - 1].start_ns == p->start_ns) /* only the outer one counts */
		s->span[s->n - 1].end_ns = most(s->span[s->n - 1].end_ns, p->end_ns);
	if (p->end_ns == p->start_ns || (s->n && s->span[s->n - 1].end_ns > p->start_ns))
		return 0; /* empty, inside the last one, or read again */
	s->span[s->n++] = (struct insight_span){ p->start_ns, p->end_ns, 0, IDLE_SYNC };
	w->unsampled |= kind == SPAN_UNSAMPLED;
	return 0;
}

/* Its duration if it is the first call of its name that took long, otherwise 0. */
static uint64_t first_ns(struct why *w, const struct piece *p)
{
	uint64_t ns = p->end_ns - p->start_ns;
	size_t used = w->set_up.used;

	if (ns < IDLE_SET_UP_NS || !map_number(&w->set_up, (uint64_t)p->track << 32 | p->name))
		return 0;
	return w->set_up.used > used ? ns : 0;
}

int why_host(struct tile_view *v, const struct piece *p)
{
	const struct name *n = &v->name[p->name];
	enum idle_cause mark = idle_mark(p->kind, n->call, n->range, first_ns(v->why, p));
	int err = 0;

	if ((p->kind == EVENT_API || p->kind == EVENT_SYNC) && p->corr)
		err = add_call(v, p);
	if (!err && (p->kind == EVENT_SYNC || (p->kind == EVENT_API && n->waits)))
		err = add_span(v, p, SPAN_SYNC);
	if (!err && p->kind == EVENT_STEP && p->flags & EVENT_UNSAMPLED)
		err = add_span(v, p, SPAN_UNSAMPLED);
	if (!err && mark != IDLE_CAUSES)
		err = add_mark(v, p, mark);
	return err;
}

/* The turn is over: drops spans that no gap can reach back to. */
void why_turn(struct tile_view *v)
{
	for (size_t i = 0; i < v->why->tracks; i++)
		for (int k = 0; k < WHY_SPANS; k++) {
			struct spans *s = &v->why->spans[i][k];

			if (s->n <= SPANS_OLD)
				continue;
			memmove(s->span, s->span + s->n - SPANS_OLD, SPANS_OLD * sizeof(*s->span));
			s->n = SPANS_OLD;
		}
}

/* --- gaps --- */

static struct idle_spans spans_of(const struct why *w, uint32_t track, int kind)
{
	const struct spans *s = track < w->tracks ? &w->spans[track][kind] : NULL;

	return s ? (struct idle_spans){ s->span, s->n } : (struct idle_spans){ NULL, 0 };
}

/* The cause of the longest part of the gap that ends with `after`. */
static enum idle_cause cause_of(const struct tile_view *v, struct idle_lead *lead, uint64_t from,
				uint64_t to, const struct piece *after)
{
	const struct why *w = v->why;
	uint32_t process = v->feed->track[after->track].process;
	const struct launch *c = w->call ? call_slot(w, process, after->corr) : NULL;
	uint64_t part[IDLE_CAUSES];
	struct idle_launch l;

	if (!after->corr || (c && (c->corr != after->corr || c->process != process)))
		c = NULL;
	if (c) {
		idle_lead_add(lead, c->track, spans_of(w, c->track, SPAN_SYNC), from, to);
		l = (struct idle_launch){ c->start_ns, c->end_ns, spans_of(w, c->track, SPAN_MARK),
					  lead->ns };
	}
	lead->ns -= least(lead->ns, idle_parts(part, from, to, c ? &l : NULL));
	return idle_most(part);
}

/* Where the gap begins: after the unsampled steps of the process, in which nothing was recorded. */
static uint64_t seen_from(const struct tile_view *v, uint32_t process, uint64_t from, uint64_t to)
{
	uint64_t seen = from;

	for (uint32_t i = 0; v->why->unsampled && i < v->why->tracks; i++)
		if (v->why->spans[i][SPAN_UNSAMPLED].n && v->feed->track[i].process == process)
			seen = most(seen,
				    idle_seen_from(spans_of(v->why, i, SPAN_UNSAMPLED), from, to));
	return seen;
}

/* Drops gaps below twice the current minimum, which are at least half of all. */
static void let_go(struct tile_view *v)
{
	struct why *w = v->why;

	w->least_ns = w->least_ns ? 2 * w->least_ns : 1000;
	w->gaps = 0;
	for (size_t i = 0; i < v->tracks; i++) {
		struct view_track *t = v->track[i];
		size_t kept = 0;

		for (size_t k = 0; k < t->gaps; k++)
			if (t->gap[k].end_ns - t->gap[k].start_ns >= w->least_ns)
				t->gap[kept++] = t->gap[k];
		t->gaps = kept;
		w->gaps += kept;
	}
}

static int keep(struct tile_view *v, struct view_track *t, const struct gap_kept *g)
{
	if (g->end_ns - g->start_ns < v->why->least_ns)
		return 0;
	if (vec_room(&t->gap, &t->cap_gap, t->gaps + 1, sizeof(*t->gap)) < 0)
		return -ENOMEM;
	t->gap[t->gaps++] = *g;
	v->why->gaps++;
	while (v->why->gaps > GAPS_MAX)
		let_go(v);
	return 0;
}

int why_work(struct tile_view *v, struct view_track *t, const struct piece *p)
{
	struct gap_kept g = { t->busy_ns, p->start_ns, IDLE_OTHER };
	int err = 0;

	idle_lead_work(&t->lead, p->start_ns);
	if (t->busy_any && g.end_ns > g.start_ns)
		g.start_ns = seen_from(v, v->feed->track[p->track].process, g.start_ns, g.end_ns);
	if (t->busy_any && g.end_ns > g.start_ns) {
		g.cause = (uint8_t)cause_of(v, &t->lead, g.start_ns, g.end_ns, p);
		t->pub.n += g.start_ns >= t->levels.fill.at_ns;
		err = levels_add(&t->levels, g.start_ns, g.end_ns, g.cause + 1u, TILE_HOST);
		err = err ? err : keep(v, t, &g);
	}
	t->busy_any = true;
	t->busy_ns = most(t->busy_ns, p->end_ns);
	return err;
}

/*
 * Cuts the track so that gaps which end after `ns` can be filled in again. The one at its end may have
 * begun before: from there on the track is cut, and what is known is filled in again.
 */
int why_cut(struct tile_view *v, struct view_track *t, uint64_t ns)
{
	uint64_t from;
	size_t i;
	int err;

	t->busy_ns = least(t->busy_ns, ns);
	while (t->gaps && t->gap[t->gaps - 1].end_ns > ns) {
		t->busy_ns = least(t->busy_ns, t->gap[--t->gaps].start_ns);
		v->why->gaps--;
	}
	from = levels_cut_at(&t->levels, t->busy_ns);
	err = levels_cut(&t->levels, t->busy_ns);
	for (i = t->gaps; i > 0 && t->gap[i - 1].end_ns > from; i--)
		;
	for (; i < t->gaps && !err; i++)
		err = levels_add(&t->levels, t->gap[i].start_ns, t->gap[i].end_ns,
				 t->gap[i].cause + 1u, TILE_HOST);
	return err;
}
