/* SPDX-License-Identifier: Apache-2.0 */
/* whatif.c - translates a change into lags. */
#include "sim/whatif.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/vec.h"

static int64_t scaled(int64_t ns, double by)
{
	return (int64_t)((double)ns * by + 0.5);
}

/* What was scaled by its name: its own time, and that of the transfer behind a meeting. */
static int64_t scale_task(const struct sim_graph *g, const struct sim_change *c,
			  const struct sim_edge *e)
{
	const struct sim_task *t = &g->task[e->to / 2];
	bool own = e->to & 1 && (e->from == e->to - 1 || e->kind == SIM_COMM);
	const float *scale = t->kind == SIM_CALL ? c->host_scale : c->work_scale;

	if (!own || !scale || t->event == SIM_NO_EVENT)
		return e->lag;
	return scaled(e->lag, scale[g->trace->event[t->event].name]);
}

static int64_t lag_under(const struct sim_graph *g, const struct sim_change *c, size_t edge)
{
	const struct sim_edge *e = &g->edge[edge];
	const struct sim_task *from = &g->task[e->from / 2], *to = &g->task[e->to / 2];
	int64_t lag = scale_task(g, c, e);

	if (c->no_sync && e->kind == SIM_SYNC)
		return SIM_CUT;
	if (c->free_host && (e->kind == SIM_HOST || e->kind == SIM_RELEASE))
		lag = 0;
	if (c->free_launch && (e->kind == SIM_CALL || e->kind == SIM_LAUNCH))
		lag = 0;
	/* Who waited for communication waits for its begin only; communication stays in order. */
	if (c->overlap_comm && from->kind == SIM_COMM && (e->from & 1) && to->kind != SIM_COMM)
		lag -= g->time[e->from] - g->time[e->from - 1];
	return lag;
}

/* A range of a thread that takes another time; none inside another. */
struct span {
	int64_t start, end;
	double less; /* of its time, this share goes */
};

struct spans {
	struct span *span;
	size_t *first; /* tracks + 1 */
	size_t n;
};

static int add_span(struct spans *s, int64_t start, int64_t end, double less)
{
	if (vec_more(&s->span, s->n, sizeof(*s->span)) < 0)
		return -ENOMEM;
	s->span[s->n++] = (struct span){ .start = start, .end = end, .less = less };
	return 0;
}

static int gone_of_track(struct spans *s, const struct sim_graph *g, const struct sim_change *c,
			 size_t track)
{
	const struct trace *t = g->trace;
	int64_t offset = g->offset[t->process[t->track[track].process].file];
	int err = 0;

	for (size_t i = first_where(k, 0, c->gones, c->gone[k].track >= track);
	     i < c->gones && c->gone[i].track == track && !err; i++)
		err = add_span(s, (int64_t)c->gone[i].start_ns + offset,
			       (int64_t)c->gone[i].end_ns + offset, 1.0);
	return err;
}

static int spans_of_track(struct spans *s, const struct sim_graph *g, const struct sim_change *c,
			  size_t track)
{
	const struct trace *t = g->trace;
	int64_t offset = g->offset[t->process[t->track[track].process].file], covered = INT64_MIN;
	int err = 0;

	if (c->gone)
		return gone_of_track(s, g, c, track);
	for (size_t i = t->track_first[track]; i < t->track_first[track + 1] && !err; i++) {
		const struct event *r = &t->event[i];
		int64_t start = (int64_t)r->start_ns + offset;

		if (r->kind != EVENT_RANGE || c->host_scale[r->name] == 1.0f || start < covered)
			continue;
		covered = start + (int64_t)r->dur_ns;
		err = add_span(s, start, covered, 1.0 - (double)c->host_scale[r->name]);
	}
	return err;
}

/* How much of [from, to) on this track goes. */
static int64_t less_between(const struct spans *s, size_t track, int64_t from, int64_t to)
{
	size_t end = s->first[track + 1],
	       at = first_where(i, s->first[track], end, s->span[i].end > from);
	int64_t less = 0;

	for (; at < end && s->span[at].start < to; at++) {
		int64_t a = s->span[at].start > from ? s->span[at].start : from;
		int64_t b = s->span[at].end < to ? s->span[at].end : to;

		less += scaled(b - a, s->span[at].less);
	}
	return less;
}

/* A range of a thread that is scaled shortens the work inside it in proportion. What is gone takes calls
 * inside it along, and what they launch need not wait for them. */
static int scale_ranges(const struct sim_graph *g, const struct sim_change *c, int64_t *lag)
{
	const struct trace *t = g->trace;
	struct spans s = { .first = calloc(t->tracks + 1, sizeof(*s.first)) };
	int err = s.first ? 0 : -ENOMEM;

	for (size_t l = 0; l < t->tracks && !err; l++) {
		if (t->track[l].device == TRACK_HOST)
			err = spans_of_track(&s, g, c, l);
		s.first[l + 1] = s.n;
	}
	for (size_t i = 0; i < g->edges && !err; i++) {
		const struct sim_edge *e = &g->edge[i];
		int64_t less;

		if (e->kind != SIM_HOST && e->kind != SIM_RELEASE &&
		    !(c->gone && (e->kind == SIM_CALL || e->kind == SIM_LAUNCH)))
			continue;
		less = less_between(&s,
				    g->task[(e->kind == SIM_LAUNCH ? e->from : e->to) / 2].track,
				    g->time[e->from], g->time[e->to]);
		lag[i] = lag[i] > less ? lag[i] - less : 0;
	}
	free(s.span);
	free(s.first);
	return err;
}

int sim_change_lags(const struct sim_graph *g, const struct sim_change *c, int64_t *lag)
{
	for (size_t i = 0; i < g->edges; i++)
		lag[i] = lag_under(g, c, i);
	return c->host_scale || c->gone ? scale_ranges(g, c, lag) : 0;
}

int sim_whatif(const struct sim_graph *g, const struct sim_change *c, int64_t *span_ns)
{
	int64_t *lag = malloc((g->edges + 1) * sizeof(*lag));
	int64_t *time = malloc((2 * g->tasks + 1) * sizeof(*time));
	int err = -ENOMEM;

	if (!lag || !time)
		goto done;
	err = sim_change_lags(g, c, lag);
	if (err < 0)
		goto done;
	sim_run(g, lag, time);
	*span_ns = sim_span(g, time);
done:
	free(lag);
	free(time);
	return err;
}
