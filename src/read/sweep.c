/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.c - from a store to its breakdown, with no events between; see sweep.h. */
#include "read/sweep.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "insight/sweep.h"
#include "read/demangle.h"
#include "store/store.h"
#include "store/trace.h"

struct sweeping {
	struct trace *t;
	struct sweep *s; /* owned; made with the first event, when all lanes and names are there */
	bool queues;
};

static int begin(struct sweeping *x)
{
	demangle_trace(x->t); /* the sweep takes classes from names */
	return sweep_new(&x->s, x->t);
}

static int on_work(void *arg, const struct work *w)
{
	struct sweeping *x = arg;
	int err = x->s ? 0 : begin(x);

	if (err < 0)
		return err;
	if (!w)
		return sweep_flush(x->s);
	if (x->queues && (w->kind == EVENT_API || w->kind == EVENT_SYNC))
		return -EOPNOTSUPP;
	return sweep_add(x->s, w);
}

/* --- where to cut --- */

struct piece {
	uint64_t t0_ns;
	uint32_t events;
};

struct pieces {
	struct piece *p; /* owned */
	size_t n, cap;
};

static int on_piece(void *arg, const struct store_piece *p)
{
	struct pieces *x = arg;

	if (x->n == x->cap) {
		size_t cap = x->cap ? 2 * x->cap : 256;
		struct piece *more = reallocarray(x->p, cap, sizeof(*more));

		if (!more)
			return -ENOMEM;
		x->p = more;
		x->cap = cap;
	}
	x->p[x->n++] = (struct piece){ p->t0_ns, p->events };
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->t0_ns < y->t0_ns ? -1 : x->t0_ns > y->t0_ns;
}

/* Times at which blobs begin, about `stretch` events apart. */
static int find_cuts(struct store *st, size_t stretch, uint64_t **cut, size_t *cuts)
{
	struct pieces x = { .n = 0 };
	size_t sum = 0;
	int err = store_each_piece(st, 0, on_piece, &x);

	*cuts = 0;
	*cut = err ? NULL : calloc(x.n + 1, sizeof(**cut));
	if (!err && !*cut)
		err = -ENOMEM;
	if (!err && x.n)
		qsort(x.p, x.n, sizeof(*x.p), by_time);
	for (size_t i = 0; i < x.n && !err; i++) {
		if (sum >= stretch) {
			(*cut)[(*cuts)++] = x.p[i].t0_ns;
			sum = 0;
		}
		sum += x.p[i].events;
	}
	free(x.p);
	return err;
}

int read_sweep(struct trace *t, struct store *st, const char *path, const struct store_part *part,
	       bool queues, size_t stretch, struct insight **out)
{
	struct sweeping x = { .t = t, .queues = queues };
	uint64_t *cut;
	size_t cuts;
	int err = find_cuts(st, stretch, &cut, &cuts);

	err = err ? err : store_trace_work(t, st, path, part, cut, cuts, on_work, &x);
	if (!err && !x.s)
		err = begin(&x);
	err = err ? err : sweep_end(x.s, out);
	sweep_free(x.s);
	free(cut);
	return err;
}
