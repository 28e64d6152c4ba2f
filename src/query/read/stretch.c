/* SPDX-License-Identifier: Apache-2.0 */
/* stretch.c - computes a store's insight, one stretch after the other; see stretch.h. */
#include "read/stretch.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "insight/stretch.h"
#include "model/trace_demangle.h"
#include "read/cuts.h"
#include "store/store.h"
#include "store/trace.h"

#define TOO_MANY    3u    /* a stretch with this many times the intended events is cut again */
#define SHORTEST_NS 1000u /* a shorter one is not cut */

struct reading {
	const struct stretch_opts *o;
	struct trace *t;
	struct store_feed *feed; /* owned */
	struct insight *in;
	size_t comms, carried, events_max;
};

static int go_on(void *arg, const struct trace *t)
{
	const struct reading *r = arg;

	if (r->o->until_ns && clock_mono_ns() > r->o->until_ns)
		return -ETIMEDOUT;
	return t->events - r->carried > r->events_max ? -EFBIG : 0;
}

static int on_counter(void *arg, const struct event *e)
{
	return insight_reading(arg, e);
}

static int read_one(struct reading *r, uint64_t lo, uint64_t hi)
{
	int err;

	trace_clear(r->t, r->comms);
	err = insight_carried(r->in, r->t);
	r->carried = r->t->events;
	err = err ? err : store_feed_add(r->feed, lo, hi, go_on, r);
	err = err ? err : trace_seal(r->t);
	err = err ? err : insight_stretch(r->in, lo, hi);
	return err || !r->o->each ? err : r->o->each(r->o->arg, r->in);
}

/* Blobs may overlap, and one may be dense: a stretch with too many events is cut in two. */
static int read_all(struct reading *r, uint64_t lo, uint64_t hi, uint64_t last)
{
	uint64_t to = hi < last ? hi : last, mid = to > lo ? lo + (to - lo) / 2 : lo;
	bool cut = mid > lo + SHORTEST_NS;
	int err;

	r->events_max = cut ? TOO_MANY * r->o->events : SIZE_MAX;
	err = read_one(r, lo, hi);
	if (err != -EFBIG || !cut)
		return err;
	err = read_all(r, lo, mid, last);
	return err ? err : read_all(r, mid, hi, last);
}

static int last_end(void *arg, const struct store_piece *p)
{
	uint64_t *last = arg;

	*last = p->t1_ns > *last ? p->t1_ns : *last;
	return 0;
}

static int begin(struct reading *r, struct store *st, const char *path)
{
	int err = store_feed_open(&r->feed, r->t, st, path, r->o->part);

	if (err < 0)
		return err;
	demangle_trace(r->t); /* classes come from names */
	r->comms = r->t->comms;
	err = trace_seal(r->t);
	err = err ? err : insight_open(&r->in, r->t);
	return err ? err : store_feed_counters(r->feed, on_counter, r->in);
}

int read_stretches(struct trace *t, struct store *st, const char *path,
		   const struct stretch_opts *o, struct insight **out)
{
	struct stretch_opts opts = *o;
	struct reading r = { .o = &opts, .t = t };
	uint64_t *cut = NULL, last = 0, lo = 0;
	size_t cuts = 0;
	int err;

	opts.events = opts.events ? opts.events : STRETCH_EVENTS;
	err = read_cuts(st, opts.part, opts.events, &cut, &cuts);
	err = err ? err : store_each_piece(st, 0, last_end, &last);
	err = err ? err : begin(&r, st, path);
	for (size_t i = 0; i <= cuts && !err; i++) {
		uint64_t hi = i < cuts ? cut[i] : UINT64_MAX;

		if (hi > lo)
			err = read_all(&r, lo, hi, last);
		lo = hi > lo ? hi : lo;
	}
	err = err ? err : insight_close(r.in);
	err = err ? err : trace_drop(t, r.comms);
	store_feed_close(r.feed);
	free(cut);
	if (err < 0)
		insight_free(r.in);
	else
		*out = r.in;
	return err;
}
