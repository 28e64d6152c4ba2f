/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stretch.c - chooses the host events that a later stretch may refer to. It keeps, with all that
 * encloses them,
 *
 *	calls     whose work has not begun, or only just; those of graphs, whose kernels share one
 *	ranges    that may lie in the middle of a gap that is not over
 *	operators with an External id, and those of the forward pass: the backward pass of their step
 *	          names them
 *
 * What is open when the stretch ends is not: it is read again. Of each sort the newest are kept,
 * so that what is never referred to goes. If work of a call that went begins after all, insight.torn
 * says so.
 */
#include "insight/stretch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "insight/state.h"

enum keep { KEEP_NOT, KEEP_LAUNCH, KEEP_CALL, KEEP_RANGE, KEEP_OP, KEEPS };

static const size_t most[KEEPS] = {
	[KEEP_LAUNCH] = 100000,
	[KEEP_CALL] = 1024,
	[KEEP_RANGE] = 16384,
	[KEEP_OP] = 16384,
};

enum { BEGUN = 1, JUST };

#define JUST_NS 2000000u

struct keeping {
	const struct insight *in;
	struct map begun; /* process and id of work that has begun: BEGUN, or JUST */
	uint8_t *keep;    /* owned, by event: enum keep */
	uint64_t since[KEEPS];
};

static uint64_t id_of(const struct trace *t, const struct event *e)
{
	return (uint64_t)t->track[e->track].process << 32 | e->corr;
}

static int find_begun(struct keeping *k)
{
	const struct trace *t = k->in->t;
	uint64_t just = trace_lag(k->in->hi_ns), *at;

	just = just > JUST_NS ? just - JUST_NS : 0;
	for (size_t i = 0; i < t->events; i++) {
		const struct event *e = &t->event[i];

		if (!e->corr || t->track[e->track].device == TRACK_HOST || !event_is_gpu(e))
			continue;
		at = map_at(&k->begun, id_of(t, e));
		if (!at)
			return -ENOMEM;
		if (e->start_ns >= just || !*at)
			*at = e->start_ns >= just ? JUST : BEGUN;
	}
	return 0;
}

static enum keep call_keep(const struct keeping *k, const struct event *e)
{
	const struct trace *t = k->in->t;
	enum call c;

	if (!e->corr)
		return KEEP_NOT;
	if (strcasestr(trace_text(t, e->name), "graph"))
		return KEEP_LAUNCH;
	if (map_get(&k->begun, id_of(t, e)) == BEGUN)
		return KEEP_NOT;
	c = names_call(k->in->names, e->name);
	return c == CALL_LAUNCH || c == CALL_COPY || c == CALL_COPY_WAITS || c == CALL_MEMSET
		       ? KEEP_LAUNCH
		       : KEEP_CALL;
}

/* Of the backward pass what tells its caller's module, while that is open. */
static bool tells_module(const struct insight *in, size_t i)
{
	uint32_t up = in->link[i];

	return in->through && in->through[i] && up && event_end(&in->t->event[up - 1]) > in->hi_ns;
}

static enum keep range_keep(const struct keeping *k, size_t i)
{
	const struct insight *in = k->in;
	const struct event *e = &in->t->event[i];
	const struct state_process *p = &in->x->process[in->t->track[e->track].process];
	uint64_t gap = p->idle_ns, until = trace_lag(in->hi_ns);

	if (e->a == TRACE_OP && !trace_op_backward(e) && trace_op_sequence(e) &&
	    (!p->steps || !insight_step_at(in, in->t->track[e->track].process, in->hi_ns - 1) ||
	     insight_step_at(in, in->t->track[e->track].process, e->start_ns) ==
		     insight_step_at(in, in->t->track[e->track].process, in->hi_ns - 1)))
		return KEEP_OP;
	if (tells_module(in, i) || (e->corr && e->a != TRACE_PYTHON && e->a != TRACE_MODULE))
		return KEEP_OP;
	/* In a gap that ends later than the work that was looked at. */
	if (gap < until && event_end(e) > gap)
		return KEEP_RANGE;
	return KEEP_NOT;
}

static enum keep sort_of(const struct keeping *k, size_t i)
{
	const struct event *e = &k->in->t->event[i];

	if (k->in->t->track[e->track].device != TRACK_HOST || event_end(e) > k->in->hi_ns)
		return KEEP_NOT;
	if (e->kind == EVENT_API || e->kind == EVENT_SYNC)
		return call_keep(k, e);
	return e->kind == EVENT_RANGE ? range_keep(k, i) : KEEP_NOT;
}

/* Where there are too many, those of the later half of the time, and so on. */
static void limit(struct keeping *k, enum keep sort)
{
	const struct trace *t = k->in->t;
	uint64_t since = UINT64_MAX, last = 0;
	size_t n;

	for (size_t i = 0; i < t->events; i++) {
		if (k->keep[i] != sort)
			continue;
		since = t->event[i].start_ns < since ? t->event[i].start_ns : since;
		last = t->event[i].start_ns > last ? t->event[i].start_ns : last;
	}
	for (;; since += (last - since) / 2 + 1) {
		n = 0;
		for (size_t i = 0; i < t->events; i++)
			n += k->keep[i] == sort && t->event[i].start_ns >= since;
		if (n <= most[sort])
			break;
	}
	for (size_t i = 0; i < t->events; i++) {
		if (k->keep[i] != sort || t->event[i].start_ns >= since)
			continue;
		k->keep[i] = KEEP_NOT;
		if (sort == KEEP_LAUNCH)
			k->in->x->process[t->track[t->event[i].track].process].gave_up = true;
	}
}

/* With what encloses it, up to what is open anyway. */
static void keep_around(struct keeping *k)
{
	const struct insight *in = k->in;

	for (size_t i = 0; i < in->t->events; i++) {
		uint32_t up = k->keep[i] ? in->link[i] : 0;

		for (; up && !k->keep[up - 1] && event_end(&in->t->event[up - 1]) <= in->hi_ns;
		     up = in->link[up - 1])
			k->keep[up - 1] = KEEPS;
	}
}

static bool is_numbered(const struct event *e, bool backward)
{
	return e->kind == EVENT_RANGE && e->a == TRACE_OP && trace_op_sequence(e) &&
	       trace_op_backward(e) == backward;
}

/* An operator of the backward pass has its module from that of the forward pass, and gives it to the
 * engine's around it. */
static int keep_modules(struct keeping *k)
{
	const struct insight *in = k->in;
	const struct trace *t = in->t;
	struct map named = { 0 };
	int err = 0;

	for (size_t i = 0; in->through && i < t->events && !err; i++) {
		const struct event *e = &t->event[i];
		uint32_t up = in->link[i];

		if (!is_numbered(e, true) || !in->through[i])
			continue;
		if (!k->keep[i] && up && k->keep[up - 1] && event_end(e) <= in->hi_ns)
			k->keep[i] = KEEPS;
		if (k->keep[i] || event_end(e) > in->hi_ns)
			err = map_put(&named,
				      (uint64_t)t->track[e->track].process << 32 |
					      trace_op_sequence(e),
				      1);
	}
	for (size_t i = 0; named.used && i < t->events; i++) {
		const struct event *e = &t->event[i];

		if (!k->keep[i] && is_numbered(e, false) && event_end(e) <= in->hi_ns &&
		    map_get(&named,
			    (uint64_t)t->track[e->track].process << 32 | trace_op_sequence(e)))
			k->keep[i] = KEEPS;
	}
	map_fini(&named);
	return err;
}

static int copy(struct insight *in, const uint8_t *keep)
{
	struct insight_state *x = in->x;
	size_t n = 0;

	for (size_t i = 0; i < in->t->events; i++)
		n += keep[i] != KEEP_NOT;
	if (vec_room(&x->carry, &x->carry_cap, n, sizeof(*x->carry)) < 0)
		return -ENOMEM;
	x->carries = 0;
	for (size_t i = 0; i < in->t->events; i++) {
		if (!keep[i])
			continue;
		x->carry[x->carries] = in->t->event[i];
		x->carry[x->carries++].flags |= TRACE_SEEN;
	}
	return 0;
}

int insight_keep(struct insight *in)
{
	struct keeping k = { .in = in, .keep = calloc(in->t->events + 1, 1) };
	size_t n[KEEPS] = { 0 };
	int err = k.keep ? 0 : -ENOMEM;

	if (!err && in->hi_ns != UINT64_MAX)
		err = find_begun(&k);
	for (size_t i = 0; i < in->t->events && !err && in->hi_ns != UINT64_MAX; i++) {
		k.keep[i] = (uint8_t)sort_of(&k, i);
		n[k.keep[i]]++;
	}
	for (enum keep sort = KEEP_LAUNCH; sort < KEEPS && !err; sort++)
		if (n[sort] > most[sort])
			limit(&k, sort);
	if (!err) {
		keep_around(&k);
		err = keep_modules(&k);
	}
	if (!err) {
		keep_around(&k);
		err = copy(in, k.keep);
	}
	map_fini(&k.begun);
	free(k.keep);
	return err;
}

int insight_carried(const struct insight *in, struct trace *t)
{
	int err = 0;

	for (size_t i = 0; i < in->x->carries && !err; i++)
		err = trace_add(t, &in->x->carry[i], 0);
	return err;
}
