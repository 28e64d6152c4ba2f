/* SPDX-License-Identifier: Apache-2.0 */
/* select.c - totals of a stretch of time: by class, and by name. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/sketch.h"
#include "tile/view.h"

struct sum {
	uint64_t n, ns, max;
	uint8_t class;
	struct sketch sketch;
};

struct selecting {
	struct tile_view *v;
	uint64_t t0, t1;
	const bool *wanted; /* by track; NULL: all */
	struct sum *name;   /* by name */
	size_t names;
	struct sum class[TILE_GROUPS];
	uint64_t n, seen;
};

static int sum_add(struct sum *s, uint64_t within, uint64_t dur)
{
	s->n++;
	s->ns += within;
	s->max = dur > s->max ? dur : s->max;
	return sketch_add(&s->sketch, dur, 1);
}

static bool is_wanted(struct selecting *x, const struct piece *p)
{
	uint32_t to[ROUTES];
	int n = view_route(x->v, p, false, to);

	for (int i = 0; i < n; i++)
		if (!x->wanted || x->wanted[to[i]])
			return true;
	return false;
}

static int on_event(void *arg, const struct piece *p, uint64_t id)
{
	struct selecting *x = arg;
	uint64_t from = p->start_ns > x->t0 ? p->start_ns : x->t0;
	uint64_t to = p->end_ns < x->t1 ? p->end_ns : x->t1;
	enum tile_class c;
	int err;

	(void)id;
	if (p->start_ns >= x->t1 || (p->end_ns <= x->t0 && p->start_ns < x->t0) ||
	    p->kind == EVENT_COUNTER || p->name >= x->names || !is_wanted(x, p))
		return 0;
	c = p->class;
	x->n++;
	x->seen = p->start_ns > x->seen ? p->start_ns : x->seen;
	x->name[p->name].class = (uint8_t)c;
	err = sum_add(&x->name[p->name], to > from ? to - from : 0, p->end_ns - p->start_ns);
	return err ? err
		   : sum_add(&x->class[c], to > from ? to - from : 0, p->end_ns - p->start_ns);
}

static struct tile_sum sum_of(const struct sum *s, uint32_t name)
{
	return (struct tile_sum){ .name = name,
				  .class = s->class,
				  .n = s->n,
				  .ns = s->ns,
				  .p50_ns = sketch_quantile(&s->sketch, 0.5),
				  .p99_ns = sketch_quantile(&s->sketch, 0.99),
				  .max_ns = s->max };
}

/* The longest rows, by insertion. */
static void take_rows(struct selecting *x, struct tile_selected *out)
{
	for (uint32_t i = 0; i < x->names; i++) {
		size_t at = out->rows;

		if (!x->name[i].n)
			continue;
		while (at > 0 && out->row[at - 1].ns < x->name[i].ns)
			at--;
		out->rest += out->rows == TILE_SUMS;
		if (at == TILE_SUMS)
			continue;
		out->rows += out->rows < TILE_SUMS;
		for (size_t k = out->rows - 1; k > at; k--)
			out->row[k] = out->row[k - 1];
		out->row[at] = sum_of(&x->name[i], i);
	}
}

int tile_select(struct tile_view *v, uint64_t t0, uint64_t t1, const uint32_t *track, size_t tracks,
		uint64_t ns, struct tile_selected *out)
{
	struct selecting x = { .v = v, .t0 = t0, .t1 = t1 };
	bool *wanted;
	int err;

	pthread_mutex_lock(&v->lock);
	*out = (struct tile_selected){ .t1_ns = t1 };
	x.names = v->names;
	wanted = calloc(v->tracks + 1, sizeof(*wanted));
	x.name = calloc(x.names + 1, sizeof(*x.name));
	err = wanted && x.name ? 0 : -ENOMEM;
	for (size_t i = 0; i < tracks && !err; i++)
		if (track[i] && track[i] <= v->tracks)
			wanted[track[i] - 1] = true;
	x.wanted = tracks ? wanted : NULL;
	err = err ? err : view_walk(v, NO_TRACK, t0, t1, clock_mono_ns() + ns, on_event, &x);
	out->partial = err == -ETIMEDOUT;
	out->t1_ns = out->partial ? x.seen : t1;
	err = out->partial ? 0 : err;
	out->n = x.n;
	for (uint8_t i = 0; i < TILE_GROUPS; i++) {
		x.class[i].class = i;
		out->class[i] = sum_of(&x.class[i], 0);
		sketch_fini(&x.class[i].sketch);
	}
	if (!err)
		take_rows(&x, out);
	pthread_mutex_unlock(&v->lock);
	for (size_t i = 0; x.name && i < x.names; i++)
		sketch_fini(&x.name[i].sketch);
	free(x.name);
	free(wanted);
	return err;
}
