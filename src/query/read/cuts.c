/* SPDX-License-Identifier: Apache-2.0 */
/* cuts.c - see cuts.h. */
#include "read/cuts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "store/store.h"
#include "store/trace.h"

struct piece {
	uint64_t t0_ns;
	uint32_t events;
};

struct pieces {
	const struct store_filter *part;
	struct piece *p; /* owned */
	size_t n;
};

static int on_piece(void *arg, const struct store_piece *p)
{
	struct pieces *x = arg;
	const struct store_filter *f = x->part;

	if (!store_filter_process(f, p->process) ||
	    (f && (p->t1_ns < f->from_ns || (f->to_ns && p->t0_ns >= f->to_ns))))
		return 0;
	if (vec_more(&x->p, x->n, sizeof(*x->p)) < 0)
		return -ENOMEM;
	x->p[x->n++] = (struct piece){ p->t0_ns, p->events };
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->t0_ns < y->t0_ns ? -1 : x->t0_ns > y->t0_ns;
}

int read_cuts(struct store *st, const struct store_filter *part, size_t stretch, uint64_t **cut,
	      size_t *cuts)
{
	struct pieces x = { .part = part };
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
