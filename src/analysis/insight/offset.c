/* SPDX-License-Identifier: Apache-2.0 */
/* offset.c - see offset.h. */
#include "insight/offset.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/vec.h"

/* The same collective seen by two nodes. */
struct pair {
	uint32_t a, b; /* a < b */
	int64_t at;    /* on b's clock */
	int64_t diff;  /* b's less a's */
};

struct edge {
	uint32_t a, b, pairs;
	int64_t diff, err, at;
	double drift;
};

struct pairs {
	struct pair *p; /* owned */
	size_t n;
};

static int by_what(const void *x, const void *y)
{
	const struct offset_end *a = x, *b = y;

	return cmp_num(a->what, b->what) ?: cmp_num(a->node, b->node) ?: cmp_num(a->ns, b->ns);
}

static int by_time(const void *x, const void *y)
{
	const struct pair *a = x, *b = y;

	return cmp_num(a->a, b->a) ?: cmp_num(a->b, b->b) ?: cmp_num(a->at, b->at);
}

static int by_diff(const void *x, const void *y)
{
	const struct pair *a = x, *b = y;

	return a->diff < b->diff ? -1 : a->diff > b->diff;
}

static int by_error(const void *x, const void *y)
{
	const struct edge *a = x, *b = y;

	return cmp_num(a->err, b->err) ?: cmp_num(b->pairs, a->pairs);
}

static int add_pair(struct pairs *to, struct pair p)
{
	if (vec_more(&to->p, to->n, sizeof(*to->p)) < 0)
		return -ENOMEM;
	to->p[to->n++] = p;
	return 0;
}

/* One collective: pairs its first node with each other node. The median rank of a node counts. */
static int pair_up(struct pairs *to, const struct offset_end *e, size_t n)
{
	const struct offset_end *first = NULL;
	int err = 0;

	for (size_t i = 0, k; i < n && !err; i = k) {
		const struct offset_end *mid;

		for (k = i + 1; k < n && e[k].node == e[i].node; k++)
			;
		mid = &e[i + (k - i) / 2];
		if (first)
			err = add_pair(to, (struct pair){ first->node, mid->node, mid->ns,
							  mid->ns - first->ns });
		else
			first = mid;
	}
	return err;
}

static int64_t median(const struct pair *p, size_t n)
{
	return n % 2 ? p[n / 2].diff : p[n / 2 - 1].diff + (p[n / 2].diff - p[n / 2 - 1].diff) / 2;
}

/* How fast they run apart: medians of the first and the last third. Sorts each by difference. */
static double drift_of(struct pair *p, size_t n)
{
	size_t third = n / 3;
	int64_t span = p[n - 1 - third / 2].at - p[third / 2].at, from, to;

	if (n < OFFSET_DRIFT || span <= 0)
		return 0;
	qsort(p, third, sizeof(*p), by_diff);
	qsort(p + n - third, third, sizeof(*p), by_diff);
	from = median(p, third);
	to = median(p + n - third, third);
	return (double)(to - from) / (double)span;
}

/* `p` is of one pair of nodes, in order of time. */
static struct edge edge_of(struct pair *p, size_t n)
{
	struct edge e = { .a = p->a, .b = p->b, .pairs = (uint32_t)n, .at = p[n / 2].at };
	int64_t spread;

	e.drift = drift_of(p, n);
	for (size_t i = 0; i < n; i++)
		p[i].diff -= (int64_t)llround(e.drift * (double)(p[i].at - e.at));
	qsort(p, n, sizeof(*p), by_diff);
	e.diff = median(p, n);
	spread = (p[n - 1 - n / 4].diff - p[n / 4].diff) / 2;
	/* A drift that is nothing but noise only adds some. */
	e.err = spread > OFFSET_FLOOR_NS ? spread : OFFSET_FLOOR_NS;
	return e;
}

static size_t make_edges(struct edge *to, struct pairs *from)
{
	size_t n = 0;

	if (from->n)
		qsort(from->p, from->n, sizeof(*from->p), by_time);
	for (size_t i = 0, k; i < from->n; i = k) {
		for (k = i + 1;
		     k < from->n && from->p[k].a == from->p[i].a && from->p[k].b == from->p[i].b;
		     k++)
			;
		if (k - i >= OFFSET_LEAST)
			to[n++] = edge_of(from->p + i, k - i);
	}
	return n;
}

/* From the node that is known to the other one. */
static void step_along(struct offset *out, const struct edge *e)
{
	bool forth = out[e->a].known;
	const struct offset *from = &out[forth ? e->a : e->b];
	struct offset *to = &out[forth ? e->b : e->a];
	int64_t diff = forth ? e->diff : -e->diff;

	*to = (struct offset){ .known = true,
			       .off_ns = from->off_ns + diff,
			       .err_ns = from->err_ns + e->err,
			       .at_ns = forth ? e->at : e->at - e->diff,
			       .drift = from->drift + (forth ? e->drift : -e->drift),
			       .pairs = e->pairs };
	/* What the one before had at that time, not at its own. */
	to->off_ns += offset_at(from, to->at_ns - diff) - from->off_ns;
}

/* The surest edge that leads on, until none does. */
static void span_tree(struct offset *out, struct edge *e, size_t n)
{
	bool more = true;

	if (n)
		qsort(e, n, sizeof(*e), by_error);
	while (more) {
		more = false;
		for (size_t i = 0; i < n && !more; i++)
			if (out[e[i].a].known != out[e[i].b].known) {
				step_along(out, &e[i]);
				more = true;
			}
	}
}

int offset_find(struct offset *out, uint32_t nodes, struct offset_end *e, size_t n)
{
	struct pairs p = { 0 };
	struct edge *edge = NULL;
	int err = 0;

	memset(out, 0, nodes * sizeof(*out));
	if (!nodes)
		return 0;
	out[0].known = true;
	for (size_t i = 0; i < n; i++)
		if (e[i].node >= nodes)
			return -EINVAL;
	if (n)
		qsort(e, n, sizeof(*e), by_what);
	for (size_t i = 0, k; i < n && !err; i = k) {
		for (k = i + 1; k < n && e[k].what == e[i].what; k++)
			;
		err = pair_up(&p, e + i, k - i);
	}
	if (!err && p.n) {
		edge = malloc(p.n * sizeof(*edge));
		err = edge ? 0 : -ENOMEM;
	}
	if (!err && edge)
		span_tree(out, edge, make_edges(edge, &p));
	free(edge);
	free(p.p);
	return err;
}

int64_t offset_at(const struct offset *o, int64_t ns)
{
	return o->off_ns + (int64_t)llround(o->drift * (double)(ns - o->at_ns));
}
