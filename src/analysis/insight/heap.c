/* SPDX-License-Identifier: Apache-2.0 */
/* heap.c - turns readings of counters into points of an allocator's history; see heap.h. */
#include "insight/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/vec.h"

#define GROWTH_POINTS 8u  /* fewer do not tell a trend */
#define TIME_PARTS    16u /* of a history without steps */

struct reading {
	uint32_t process, device;
	uint64_t ns, step, value;
	enum memory_of which;
};

struct readings {
	struct reading *r;
	size_t n;
};

static int reading_cmp(const void *a, const void *b)
{
	const struct reading *x = a, *y = b;

	return cmp_num(x->process, y->process) ?: cmp_num(x->device, y->device) ?:
	       cmp_num(x->ns, y->ns) ?: ((int)x->which - (int)y->which);
}

/* By name of the trace: + 1, or 0. */
static uint8_t *series(const struct trace *t)
{
	static const char *const word[MEMORIES] = {
#define MEMORY(ID, name) [MEMORY_##ID] = name,
#include "base/memory.tbl.h"
	};
	uint8_t *of = calloc(t->names + 1, 1);

	for (size_t i = 0; of && i < t->names; i++)
		for (enum memory_of k = 0; k < MEMORIES; k++)
			if (!strcmp(t->name[i].s, word[k]))
				of[i] = (uint8_t)(k + 1);
	return of;
}

/* The step that a moment lies in, or the last one before it. */
static uint64_t step_at(const struct insight *in, uint32_t process, uint64_t ns)
{
	const struct insight_step *s = in->step; /* by process, then in order */
	size_t next = first_where(i, 0, in->steps,
				  s[i].process > process ||
					  (s[i].process == process && s[i].start_ns > ns));

	if (next && s[next - 1].process == process)
		return s[next - 1].number;
	if (next < in->steps && s[next].process == process)
		return s[next].number;
	return HEAP_NONE;
}

static int collect(struct readings *out, const struct insight *in)
{
	const struct trace *t = in->t;
	uint8_t *of = series(t);
	int err = of ? 0 : -ENOMEM;

	out->r = calloc(in->kinds[EVENT_COUNTER] + 1, sizeof(*out->r));
	if (!out->r)
		err = -ENOMEM;
	for (size_t i = 0; !err && i < t->events; i++) {
		const struct event *e = &t->event[i];
		const struct trace_track *l = &t->track[e->track];

		if (e->kind != EVENT_COUNTER || e->name >= t->names || !of[e->name] ||
		    e->flags & EVENT_FLOAT || (int64_t)e->a < 0)
			continue;
		out->r[out->n++] = (struct reading){
			.process = l->process,
			.device = l->device,
			.ns = e->start_ns,
			.step = e->b ? e->b : step_at(in, l->process, e->start_ns),
			.value = e->a,
			.which = (enum memory_of)(of[e->name] - 1),
		};
	}
	free(of);
	if (!err)
		qsort(out->r, out->n, sizeof(*out->r), reading_cmp);
	return err;
}

/* Without steps: a part of the time from the first reading to the last. */
static uint64_t part_of(const struct reading *r, size_t n, size_t i)
{
	return (r[i].ns - r[0].ns) / ((r[n - 1].ns - r[0].ns) / TIME_PARTS + 1);
}

static void see(struct heap_point *p, const struct reading *r)
{
	p->ns = r->ns;
	p->v[r->which] = r->value;
	if ((r->which == MEMORY_ALLOCATED || r->which == MEMORY_HIGHEST) &&
	    (p->high == HEAP_NONE || r->value > p->high))
		p->high = r->value;
}

static int fill_points(struct heap *h, const struct reading *r, size_t n)
{
	uint64_t part = 0;

	h->readings = n;
	for (size_t i = 0; i < n; i++) {
		struct heap_point *p = h->points ? &h->point[h->points - 1] : NULL;
		uint64_t now = r[i].step == HEAP_NONE ? part_of(r, n, i) : 0;

		if (!p || p->step != r[i].step || part != now) {
			if (vec_more(&h->point, h->points, sizeof(*p)) < 0)
				return -ENOMEM;
			p = &h->point[h->points++];
			memset(p, 0xff, sizeof(*p)); /* HEAP_NONE */
			if (h->points > 1)
				memcpy(p->v, p[-1].v, sizeof(p->v));
			p->step = r[i].step;
			part = now;
		}
		see(p, &r[i]);
	}
	return 0;
}

static double unused(const struct heap_point *p)
{
	uint64_t have = p->v[MEMORY_RESERVED], used = p->v[MEMORY_ALLOCATED];

	if (have == HEAP_NONE || used == HEAP_NONE || !have || used > have)
		return -1;
	return (double)(have - used) / (double)have;
}

/* How far a count rose while it was looked at; what had been before may be another program's. */
static uint64_t rise(const struct heap *h, enum memory_of k)
{
	uint64_t first = HEAP_NONE, last = HEAP_NONE;

	for (size_t i = 0; i < h->points; i++) {
		last = h->point[i].v[k];
		if (first == HEAP_NONE)
			first = last;
	}
	return last == HEAP_NONE ? HEAP_NONE : last > first ? last - first : 0;
}

static uint64_t highest(const struct heap_point *p)
{
	uint64_t high = p->high == HEAP_NONE ? 0 : p->high;

	return p->v[MEMORY_PEAK] != HEAP_NONE && p->v[MEMORY_PEAK] > high ? p->v[MEMORY_PEAK]
									  : high;
}

/* Least squares over steps; the first quarter warms up. */
static void fit(struct heap *h)
{
	size_t from = h->points / 4, n = 0;
	double x0 = 0, y0 = 0, xy = 0, xx = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = from; i < h->points; i++) {
			const struct heap_point *p = &h->point[i];

			if (p->step == HEAP_NONE || p->v[MEMORY_ALLOCATED] == HEAP_NONE)
				return;
			if (!pass) {
				x0 += (double)p->step;
				y0 += (double)p->v[MEMORY_ALLOCATED];
				n++;
				continue;
			}
			xy += ((double)p->step - x0) * ((double)p->v[MEMORY_ALLOCATED] - y0);
			xx += ((double)p->step - x0) * ((double)p->step - x0);
		}
		if (n < GROWTH_POINTS)
			return;
		if (!pass) {
			x0 /= (double)n;
			y0 /= (double)n;
		}
	}
	h->grows = xx > 0;
	h->growth = xx > 0 ? xy / xx : 0;
}

static void sum_up(struct heap *h)
{
	h->unused = h->unused_most = -1;
	for (size_t i = 0; i < h->points; i++) {
		uint64_t high = highest(&h->point[i]);
		double u = unused(&h->point[i]);

		if (high > h->peak) {
			h->peak = high;
			h->peak_at = i;
		}
		h->unused = u;
		if (i >= h->points / 4 && u > h->unused_most)
			h->unused_most = u;
	}
	h->retries = rise(h, MEMORY_RETRIES);
	h->ooms = rise(h, MEMORY_OOMS);
	fit(h);
}

int heaps_new(struct heaps **out, const struct insight *in)
{
	struct heaps *hs = calloc(1, sizeof(*hs));
	struct readings all = { NULL, 0 };
	int err = hs ? collect(&all, in) : -ENOMEM;

	for (size_t i = 0, n; !err && i < all.n; i += n) {
		const struct reading *r = &all.r[i];
		struct heap *h;

		for (n = 1;
		     i + n < all.n && r[n].process == r->process && r[n].device == r->device;)
			n++;
		err = vec_more(&hs->h, hs->n, sizeof(*h));
		if (err)
			break;
		h = &hs->h[hs->n++];
		*h = (struct heap){ .process = r->process, .device = r->device };
		err = fill_points(h, r, n);
		sum_up(h);
	}
	free(all.r);
	if (err)
		heaps_free(hs);
	else
		*out = hs;
	return err;
}

void heaps_free(struct heaps *hs)
{
	for (size_t i = 0; hs && i < hs->n; i++)
		free(hs->h[i].point);
	free(hs ? hs->h : NULL);
	free(hs);
}
