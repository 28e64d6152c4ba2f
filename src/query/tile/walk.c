/* SPDX-License-Identifier: Apache-2.0 */
/* walk.c - walks the events of a stretch of time, directly from the source. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/order.h"
#include "tile/view.h"

static int by_start(const void *a, const void *b)
{
	const struct feed_block *x = *(const struct feed_block *const *)a;
	const struct feed_block *y = *(const struct feed_block *const *)b;

	return cmp_num(x->t0_ns, y->t0_ns) ?: cmp_num(x->id, y->id);
}

static int walk_block(struct tile_view *v, const struct feed_block *b, uint64_t from, uint64_t to,
		      view_fn *fn, void *arg)
{
	struct event_columns c;
	int err = v->feed->get(v->feed, b, true, &c);

	if (err == -ENOENT || err == -EBADMSG)
		return 0;
	v->comm_mark = false;
	for (size_t i = 0; i < c.n && !err; i++) {
		struct piece p;

		err = view_piece(v, &c, i, &p);
		if (err <= 0)
			continue;
		err = p.start_ns <= to && p.end_ns >= from ? fn(arg, &p, b->id << FEED_SHIFT | i)
							   : 0;
	}
	return err;
}

int view_walk(struct tile_view *v, uint32_t process, uint64_t from, uint64_t to, uint64_t until,
	      view_fn *fn, void *arg)
{
	const struct feed_block **b = malloc((v->blocks + 1) * sizeof(const struct feed_block *));
	uint32_t owner = process == NO_TRACK ? 0 : v->feed->process[process].id;
	size_t n = 0;
	int err = 0;

	if (!b)
		return -ENOMEM;
	for (size_t i = 0; i < v->blocks; i++) {
		const struct feed_block *x = &v->feed->block[i];

		if ((process == NO_TRACK || x->process == owner) && view_rel(v, x->t1_ns) >= from &&
		    view_rel(v, x->t0_ns) <= to)
			b[n++] = x;
	}
	qsort(b, n, sizeof(const struct feed_block *), by_start);
	for (size_t i = 0; i < n && !err; i++) {
		if (i && clock_mono_ns() >= until)
			err = -ETIMEDOUT;
		else
			err = walk_block(v, b[i], from, to, fn, arg);
	}
	free(b);
	return err;
}
