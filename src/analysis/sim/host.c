/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.c - threads: their calls of the runtime, the time between calls, and which thread wakes
 * which.
 *
 * A thread is a sequence of calls. Between two calls it works, and that work takes as long as
 * recorded, unless the thread was quiet because another thread of the process had its turn
 * (backward() runs on a thread of its own while the first one waits): then each side is released by
 * the other.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/vec.h"
#include "sim/build.h"

#define GAP_MIN_NS 20000 /* a thread without op or call for longer is silent */

/* One silence of a thread; before its first and after its last activity it is silent, too. */
struct gap {
	int64_t from, to;
	uint32_t before, after; /* tasks, or SIM_NONE */
	uint32_t edge;          /* HOST, across it, or SIM_NONE */
	uint32_t track;
};

struct host {
	struct sim_build *b;
	struct gap *gap; /* by track and time */
	size_t gaps;
	size_t *gap_first; /* tracks + 1 */
	/* of the track that is being read */
	uint32_t last;                 /* its last task, or SIM_NONE */
	int64_t call_end;              /* of its last call */
	int64_t active_end;            /* of its last op or call */
	uint32_t call;                 /* task of its last call */
	int64_t first_step, last_step; /* INT64_MAX, INT64_MIN: none */
};

/* --- (process, corr) -> call --- */

static uint64_t launch_key(uint32_t process, uint32_t corr)
{
	return (uint64_t)process << 32 | corr;
}

int sim_launch_put(struct map *m, uint32_t process, uint32_t corr, uint32_t task)
{
	return map_put(m, launch_key(process, corr), (uint64_t)task + 1);
}

uint32_t sim_launch_get(const struct map *m, uint32_t process, uint32_t corr)
{
	uint64_t task = corr ? map_get(m, launch_key(process, corr)) : 0;

	return task ? (uint32_t)(task - 1) : SIM_NONE;
}

/* --- one thread --- */

/* The next task of the thread, and the work before it. */
static int put_task(struct host *h, uint32_t track, size_t event, int64_t start, int64_t end)
{
	struct sim_graph *g = h->b->g;
	const struct trace *t = g->trace;
	struct sim_task task = { .event = event,
				 .track = track,
				 .file = t->process[t->track[track].process].file,
				 .kind = event == SIM_NO_EVENT ? SIM_HOST : SIM_CALL };
	uint32_t before = h->last;
	int err;

	err = sim_task_add(g, &task, start, end, &h->last);
	if (err < 0 || before == SIM_NONE)
		return err;
	return sim_edge_add(g, sim_end(before), sim_start(h->last), INT64_MAX, SIM_HOST);
}

static int put_gap(struct host *h, const struct gap *gap)
{
	if (vec_more(&h->gap, h->gaps, sizeof(*h->gap)) < 0)
		return -ENOMEM;
	h->gap[h->gaps++] = *gap;
	return 0;
}

/* Something begins after a silence: marks where the thread stopped and where it goes on. */
static int mark_silence(struct host *h, uint32_t track, int64_t start)
{
	struct sim_graph *g = h->b->g;
	uint32_t before;
	int err = 0;

	if (h->last != SIM_NONE && h->active_end != INT64_MIN &&
	    start - h->active_end <= GAP_MIN_NS)
		return 0;
	if (h->last != SIM_NONE && g->time[sim_end(h->last)] < h->active_end)
		err = put_task(h, track, SIM_NO_EVENT, h->active_end, h->active_end);
	if (err < 0)
		return err;
	before = h->last;
	err = put_task(h, track, SIM_NO_EVENT, start, start);
	if (err < 0)
		return err;
	return put_gap(
		h, &(struct gap){ .track = track,
				  .from = before == SIM_NONE ? INT64_MIN : g->time[sim_end(before)],
				  .to = start,
				  .before = before,
				  .after = h->last,
				  .edge = before == SIM_NONE ? SIM_NONE : (uint32_t)g->edges - 1 });
}

static int put_call(struct host *h, uint32_t track, size_t event, int64_t start, int64_t end)
{
	const struct trace *t = h->b->g->trace;
	int err = 0;

	/* A call inside a call (the driver's inside the runtime's) belongs to the outer one. */
	if (h->last == SIM_NONE || start >= h->call_end) {
		err = put_task(h, track, event, start, end);
		h->call = h->last;
		h->call_end = end;
	}
	if (err < 0 || !t->event[event].corr)
		return err;
	return sim_launch_put(&h->b->launch, t->track[track].process, t->event[event].corr,
			      h->call);
}

static int put_event(struct host *h, uint32_t track, size_t event)
{
	struct sim_graph *g = h->b->g;
	const struct event *e = &g->trace->event[event];
	int64_t start = (int64_t)e->start_ns, end;
	bool call = e->kind == EVENT_API || e->kind == EVENT_SYNC;
	int err;

	start += h->b->g->offset[g->trace->process[g->trace->track[track].process].file];
	end = start + (int64_t)e->dur_ns;
	if (e->kind == EVENT_STEP) {
		h->first_step = start < h->first_step ? start : h->first_step;
		h->last_step = end > h->last_step ? end : h->last_step;
		/* The first step's begin stands on the path, so that work before the first call can go. */
		return h->last == SIM_NONE && sim_in_window(g, start)
			       ? put_task(h, track, SIM_NO_EVENT, start, start)
			       : 0;
	}
	if (!call && !(e->kind == EVENT_RANGE && e->a == TRACE_OP))
		return 0;
	if (!sim_in_window(g, start))
		return 0;
	err = start > h->active_end || h->last == SIM_NONE ? mark_silence(h, track, start) : 0;
	if (!err && call)
		err = put_call(h, track, event, start, end);
	if (end > h->active_end)
		h->active_end = end;
	return err;
}

/* Marks where the thread fell silent for good, and the end of its last step. */
static int end_track(struct host *h, uint32_t track)
{
	struct sim_graph *g = h->b->g;
	int err = 0;

	if (g->time[sim_end(h->last)] < h->active_end)
		err = put_task(h, track, SIM_NO_EVENT, h->active_end, h->active_end);
	if (!err)
		err = put_gap(h, &(struct gap){ .track = track,
						.from = g->time[sim_end(h->last)],
						.to = INT64_MAX,
						.before = h->last,
						.after = SIM_NONE,
						.edge = SIM_NONE });
	if (!err && g->time[sim_end(h->last)] < h->last_step)
		err = put_task(h, track, SIM_NO_EVENT, h->last_step, h->last_step);
	return err;
}

static int read_track(struct host *h, uint32_t track)
{
	const struct trace *t = h->b->g->trace;
	int err = 0;

	h->last = SIM_NONE;
	h->call_end = h->active_end = INT64_MIN;
	h->first_step = INT64_MAX;
	h->last_step = INT64_MIN;
	if (t->track[track].device != TRACK_HOST)
		return 0;
	for (size_t i = t->track_first[track]; i < t->track_first[track + 1] && !err; i++)
		err = put_event(h, track, i);
	return err || h->last == SIM_NONE ? err : end_track(h, track);
}

/* --- between threads --- */

/* The silence of this track that holds `at`; NULL: it did something. */
static struct gap *gap_at(struct host *h, uint32_t track, int64_t at)
{
	size_t first = h->gap_first[track],
	       next = first_where(i, first, h->gap_first[track + 1], h->gap[i].from > at);

	return next > first && h->gap[next - 1].to >= at ? &h->gap[next - 1] : NULL;
}

/*
 * Who had the turn while `gap` was silent: a thread that was silent when it began, woke up, and
 * was silent again when it ended. *idle gets the time in which neither did anything.
 */
static bool had_turn(struct host *h, const struct gap *gap, uint32_t track, struct gap **woke,
		     struct gap **slept, int64_t *idle)
{
	*woke = gap_at(h, track, gap->from);
	*slept = gap_at(h, track, gap->to);
	if (!*woke || !*slept || *woke == *slept || (*woke)->after == SIM_NONE ||
	    (*slept)->before == SIM_NONE)
		return false;
	*idle = ((*woke)->to - gap->from) + (gap->to - (*slept)->from);
	return *idle <= (gap->to - gap->from) / 2;
}

static int release(struct host *h, struct gap *gap)
{
	struct sim_graph *g = h->b->g;
	const struct trace *t = g->trace;
	struct gap *woke = NULL, *slept = NULL, *w, *s;
	int64_t best = INT64_MAX, idle;
	int err;

	for (uint32_t l = 0; l < t->tracks; l++)
		if (l != gap->track && h->gap_first[l] < h->gap_first[l + 1] &&
		    t->track[l].process == t->track[gap->track].process &&
		    had_turn(h, gap, l, &w, &s, &idle) && idle < best) {
			best = idle;
			woke = w;
			slept = s;
		}
	if (!woke)
		return 0;
	err = sim_edge_add(g, sim_end(gap->before), sim_start(woke->after), INT64_MAX, SIM_RELEASE);
	if (!err)
		err = sim_edge_add(g, sim_end(slept->before), sim_start(gap->after), INT64_MAX,
				   SIM_RELEASE);
	g->edge[gap->edge].lag = 0;
	if (woke->edge != SIM_NONE)
		g->edge[woke->edge].lag = 0;
	return err;
}

/* A thread's first task follows what its process did last before it. */
static int root_track(struct host *h, uint32_t track)
{
	struct sim_graph *g = h->b->g;
	const struct trace *t = g->trace;
	uint32_t first = h->b->track_task[track], from = SIM_NONE;
	int64_t at;

	if (first == h->b->track_task[track + 1])
		return 0;
	at = g->time[sim_start(first)];
	for (uint32_t l = 0; l < t->tracks; l++) {
		if (l == track || t->track[l].process != t->track[track].process)
			continue;
		for (uint32_t lo = h->b->track_task[l], hi = h->b->track_task[l + 1]; lo < hi;) {
			uint32_t mid = lo + (hi - lo) / 2;

			if (g->time[sim_end(mid)] >= at) {
				hi = mid;
				continue;
			}
			if (from == SIM_NONE || g->time[sim_end(mid)] > g->time[sim_end(from)])
				from = mid;
			lo = mid + 1;
		}
	}
	return from == SIM_NONE
		       ? 0
		       : sim_edge_add(g, sim_end(from), sim_start(first), INT64_MAX, SIM_HOST);
}

int sim_build_host(struct sim_build *b)
{
	const struct trace *t = b->g->trace;
	struct host h = { .b = b };
	int err = 0;

	h.gap_first = calloc(t->tracks + 1, sizeof(*h.gap_first));
	if (!h.gap_first)
		return -ENOMEM;
	for (uint32_t l = 0; l < t->tracks && !err; l++) {
		b->track_task[l] = (uint32_t)b->g->tasks;
		h.gap_first[l] = h.gaps;
		err = read_track(&h, l);
	}
	b->track_task[t->tracks] = (uint32_t)b->g->tasks;
	h.gap_first[t->tracks] = h.gaps;
	for (size_t i = 0; i < h.gaps && !err; i++)
		err = h.gap[i].edge == SIM_NONE ? 0 : release(&h, &h.gap[i]);
	for (uint32_t l = 0; l < t->tracks && !err; l++)
		err = root_track(&h, l);
	free(h.gap);
	free(h.gap_first);
	return err;
}
