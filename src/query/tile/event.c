/* SPDX-License-Identifier: Apache-2.0 */
/* event.c - one event: all its data, its cause, and other events of the same name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/order.h"
#include "insight/breakdown.h"
#include "tile/view.h"

#define LOOK_NS 1000000u /* first search distance for a launch; then eight times as far */

/* --- one event --- */

static const struct feed_block *find_block(const struct tile_view *v, uint64_t id)
{
	for (size_t i = 0; i < v->blocks; i++)
		if (v->feed->block[i].id == id >> FEED_SHIFT)
			return &v->feed->block[i];
	return NULL;
}

static uint32_t own_track(struct tile_view *v, const struct piece *p)
{
	uint32_t to[ROUTES];

	return view_route(v, p, false, to) > 0 ? v->track[to[0]]->pub.id : 0;
}

static int one_event(struct tile_view *v, uint64_t id, struct event *e, struct piece *p)
{
	uint32_t place = (uint32_t)(id & ((1u << FEED_SHIFT) - 1));
	const struct feed_block *b = find_block(v, id);
	struct event_columns c;
	int err = b ? v->feed->event(v->feed, b, place, e) : -ENOENT;

	if (err)
		return err;
	c = (struct event_columns){ .n = 1,
				    .start_ns = &e->start_ns,
				    .dur_ns = &e->dur_ns,
				    .a = &e->a,
				    .b = &e->b,
				    .name = &e->name,
				    .corr = &e->corr,
				    .track = &e->track,
				    .kind = &e->kind,
				    .flags = &e->flags,
				    .depth = &e->depth };
	v->comm_mark = false;
	err = view_piece(v, &c, 0, p);
	return err > 0 ? 0 : err < 0 ? err : -ENOENT;
}

struct in_step {
	struct tile_event *out;
};

static int on_step(void *arg, const struct piece *p, uint64_t id)
{
	struct tile_event *e = ((struct in_step *)arg)->out;

	(void)id;
	if (p->kind == EVENT_STEP && p->start_ns <= e->start_ns && p->end_ns > e->start_ns) {
		e->has_step = true;
		e->step = p->value;
	}
	return 0;
}

static const char *shapes_of(struct tile_view *v, const struct event *e)
{
	/* Only for recorded ops: imports do not store shapes. */
	if (e->kind != EVENT_OP || v->feed->imported || !(e->a >> 1) || e->a >> 1 >= FEED_IDS)
		return NULL;
	return v->feed->text(v->feed, (uint32_t)(e->a >> 1));
}

/* A gap as an event of its GPU. */
static int gap_event(struct tile_view *v, uint64_t id, struct tile_event *out)
{
	uint32_t track = (uint32_t)((id & ~WHY_BIT) >> 32), at = (uint32_t)id;
	const struct view_track *t = track && track <= v->tracks ? v->track[track - 1] : NULL;
	const struct feed_track *l;

	if (!t || at >= t->gaps)
		return -ENOENT;
	l = &v->feed->track[t->track];
	*out = (struct tile_event){ .id = id,
				    .track = track,
				    .start_ns = t->gap[at].start_ns,
				    .dur_ns = t->gap[at].end_ns - t->gap[at].start_ns,
				    .name = { view_shown(v, t->gap[at].cause), TILE_HOST },
				    .mangled = view_shown(v, t->gap[at].cause),
				    .class = TILE_HOST,
				    .pid = v->feed->process[l->process].pid,
				    .rank = v->feed->process[l->process].rank,
				    .device = l->device,
				    .stream = l->stream,
				    .idle = true };
	return 0;
}

int tile_event(struct tile_view *v, uint64_t id, struct tile_event *out)
{
	const struct feed_track *l;
	struct piece p;
	int err;

	pthread_mutex_lock(&v->lock);
	*out = (struct tile_event){ .id = id };
	if (id & WHY_BIT) {
		err = gap_event(v, id, out);
		pthread_mutex_unlock(&v->lock);
		return err;
	}
	err = one_event(v, id, &out->event, &p);
	if (!err) {
		l = &v->feed->track[p.track];
		out->track = own_track(v, &p);
		out->start_ns = p.start_ns;
		out->dur_ns = p.end_ns - p.start_ns;
		out->name.text = view_shown(v, p.name);
		out->mangled = v->name[p.name].text;
		out->class = out->name.class = p.class;
		out->imported = v->feed->imported;
		out->pid = v->feed->process[l->process].pid;
		out->rank = v->feed->process[l->process].rank;
		out->device = l->device;
		out->stream = l->stream;
		out->shapes = shapes_of(v, &out->event);
		if (p.kind == EVENT_KERNEL && out->event.a &&
		    v->feed->geo(v->feed, (uint32_t)out->event.a, &out->geo) < 0)
			out->geo = (struct geo){ 0 };
		err = view_walk(v, l->process, p.start_ns, p.start_ns, clock_mono_ns() + 50000000,
				on_step, &(struct in_step){ out });
		err = err == -ETIMEDOUT ? 0 : err;
	}
	pthread_mutex_unlock(&v->lock);
	return err;
}

/* --- flows --- */

struct looking {
	struct tile_view *v;
	const struct piece *of;
	uint64_t of_id;
	struct tile_flow *out;
	size_t n, max;
	struct piece best; /* best launch or op so far */
	uint64_t best_id;
};

static struct tile_link link_of(struct tile_view *v, const struct piece *p, uint64_t id)
{
	return (struct tile_link){ .id = id,
				   .track = own_track(v, p),
				   .start_ns = p->start_ns,
				   .dur_ns = p->end_ns - p->start_ns,
				   .name = p->name };
}

static void add_flow(struct looking *x, const struct piece *from, uint64_t from_id,
		     const struct piece *to, uint64_t to_id)
{
	if (x->n == x->max)
		return;
	x->out[x->n++] =
		(struct tile_flow){ link_of(x->v, from, from_id), link_of(x->v, to, to_id) };
}

static bool on_host(const struct looking *x, const struct piece *p)
{
	return x->v->feed->track[p->track].device == TRACK_HOST;
}

/* Runtime and driver calls may share an id: prefers the one that launches, otherwise the first. */
static int on_launch(void *arg, const struct piece *p, uint64_t id)
{
	struct looking *x = arg;

	if ((p->kind != EVENT_API && p->kind != EVENT_SYNC) || p->corr != x->of->corr ||
	    !on_host(x, p))
		return 0;
	if (x->best_id == TILE_NO_EVENT || strcasestr(x->v->name[p->name].text, "launch")) {
		x->best = *p;
		x->best_id = id;
	}
	return 0;
}

/* The innermost range around the start of x->of, on its thread. */
static int on_op(void *arg, const struct piece *p, uint64_t id)
{
	struct looking *x = arg;

	if ((p->kind != EVENT_RANGE && p->kind != EVENT_OP) || p->track != x->of->track ||
	    id == x->of_id || p->start_ns > x->of->start_ns || p->end_ns < x->of->end_ns)
		return 0;
	if (x->best_id == TILE_NO_EVENT || p->start_ns > x->best.start_ns ||
	    (p->start_ns == x->best.start_ns && p->end_ns < x->best.end_ns)) {
		x->best = *p;
		x->best_id = id;
	}
	return 0;
}

static int on_work(void *arg, const struct piece *p, uint64_t id)
{
	struct looking *x = arg;

	if (kind_is_gpu(p->kind) && p->corr == x->of->corr && !on_host(x, p))
		add_flow(x, x->of, x->of_id, p, id);
	return x->n == x->max;
}

/* Searches before or after the event, farther and farther; the result is in `x`. */
static int look(struct looking *x, uint32_t process, bool behind, uint64_t until, view_fn *fn)
{
	uint64_t near = x->of->start_ns, far = near, step = LOOK_NS;
	size_t had = x->n;
	int err = 0;

	while (!err && x->best_id == TILE_NO_EVENT && x->n == had) {
		uint64_t next = behind ? (far + step < far ? UINT64_MAX : far + step)
				       : (far > step ? far - step : 0);

		err = view_walk(x->v, process, behind ? far : next, behind ? next : far, until, fn,
				x);
		if (far == next || (behind && next > x->v->t1_ns))
			break;
		far = next;
		step *= 8;
	}
	return err == -ETIMEDOUT || err == 1 ? 0 : err;
}

/* The op around a call, as a flow to the call. */
static int flow_of_op(struct looking *x, const struct piece *call, uint64_t id, uint32_t process,
		      uint64_t until)
{
	int err;

	x->of = call;
	x->of_id = id;
	x->best_id = TILE_NO_EVENT;
	err = view_walk(x->v, process, call->start_ns, call->start_ns, until, on_op, x);
	if (x->best_id != TILE_NO_EVENT)
		add_flow(x, &x->best, x->best_id, call, id);
	return err == -ETIMEDOUT ? 0 : err;
}

static int flows_of(struct tile_view *v, struct looking *x, const struct piece *p, uint64_t id,
		    uint64_t until)
{
	uint32_t process = v->feed->track[p->track].process;
	struct piece call = *p;
	int err = 0;

	x->of = p;
	x->of_id = id;
	x->best_id = TILE_NO_EVENT;
	if (v->feed->track[p->track].device != TRACK_HOST) {
		if (p->corr)
			err = look(x, process, false, until, on_launch);
		if (err || x->best_id == TILE_NO_EVENT)
			return err;
		call = x->best;
		add_flow(x, &call, x->best_id, p, id);
		return flow_of_op(x, &call, x->best_id, process, until);
	}
	if (p->kind == EVENT_API && p->corr)
		err = look(x, process, true, until, on_work);
	return err ? err : flow_of_op(x, &call, id, process, until);
}

int tile_flows(struct tile_view *v, uint64_t id, uint64_t ns, struct tile_flow *out, size_t max,
	       size_t *n)
{
	struct looking x = { .v = v, .out = out, .max = max };
	struct event e;
	struct piece p;
	int err;

	pthread_mutex_lock(&v->lock);
	err = one_event(v, id, &e, &p);
	err = err ? err : flows_of(v, &x, &p, id, clock_mono_ns() + ns);
	pthread_mutex_unlock(&v->lock);
	*n = x.n;
	return err;
}

/* --- search --- */

struct searching {
	struct tile_view *v;
	const bool *wanted; /* by name */
	size_t names;
	const struct tile_query *q;
	struct tile_link *out;
	size_t n, max;
};

static int on_hit(void *arg, const struct piece *p, uint64_t id)
{
	struct searching *x = arg;
	uint32_t track;

	if (p->name >= x->names || !x->wanted[p->name] || p->start_ns < x->q->from_ns ||
	    p->kind == EVENT_COUNTER || p->end_ns - p->start_ns < x->q->least_ns ||
	    (x->q->below_ns && p->end_ns - p->start_ns >= x->q->below_ns))
		return 0;
	track = own_track(x->v, p);
	if (!track)
		return 0;
	if (x->n == x->max)
		return 1;
	x->out[x->n++] = link_of(x->v, p, id);
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct tile_link *x = a, *y = b;

	return cmp_num(x->start_ns, y->start_ns) ?: cmp_num(x->id, y->id);
}

int tile_search(struct tile_view *v, const struct tile_query *q, uint64_t ns, struct tile_link *out,
		size_t max, size_t *n, bool *all)
{
	struct searching x = { .v = v, .q = q, .out = out, .max = max };
	uint64_t first = UINT64_MAX, last = 0;
	bool *wanted;
	int err = 0;

	pthread_mutex_lock(&v->lock);
	wanted = calloc(v->names + 1, sizeof(*wanted));
	for (uint32_t i = 0; wanted && i < v->names; i++) {
		const struct name *m = &v->name[i];

		wanted[i] = m->first_ns != UINT64_MAX && m->last_ns >= q->from_ns &&
			    (strcasestr(view_shown(v, i), q->text) || strcasestr(m->text, q->text));
		if (!wanted[i])
			continue;
		first = m->first_ns < first ? m->first_ns : first;
		last = m->last_ns > last ? m->last_ns : last;
	}
	x.wanted = wanted;
	x.names = v->names;
	if (!wanted)
		err = -ENOMEM;
	else if (first <= last)
		err = view_walk(v, NO_TRACK, first > q->from_ns ? first : q->from_ns, last,
				clock_mono_ns() + ns, on_hit, &x);
	pthread_mutex_unlock(&v->lock);
	free(wanted);
	qsort(out, x.n, sizeof(*out), by_time);
	*n = x.n;
	*all = err == 0;
	return err == -ETIMEDOUT || err == 1 ? 0 : err;
}
