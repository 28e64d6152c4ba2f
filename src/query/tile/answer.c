/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.c - answers requests for tiles: from the cells at the base level and above, from the
 * source's events below it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/order.h"
#include "base/vec.h"
#include "tile/view.h"

#define LIVE_NS 10000000000ull /* events this close to the last one may still change */

/* Events of one row of tiles, for each track below its base level. */
struct list {
	struct piece *piece; /* owned */
	uint64_t *id;        /* owned */
	size_t n;
};

struct row {
	struct tile_view *v;
	uint64_t from, to; /* time range of the tile */
	uint8_t L;
	struct list *list; /* owned, by track */
	uint64_t gone;
};

static int list_add(struct list *l, const struct piece *p, uint64_t id)
{
	if (vec_more(&l->piece, l->n, sizeof(*l->piece)) < 0 ||
	    vec_more(&l->id, l->n, sizeof(*l->id)) < 0)
		return -ENOMEM;
	l->piece[l->n] = *p;
	/* keeps the index, to find the id after sorting */
	l->piece[l->n].value = p->kind == EVENT_COUNTER ? p->value : l->n;
	l->id[l->n++] = id;
	return 0;
}

static int collect_block(struct row *r, const struct feed_block *b, const bool *wanted)
{
	struct tile_view *v = r->v;
	uint32_t to[ROUTES];
	struct event_columns c;
	int err = v->feed->get(v->feed, b, true, &c), n;

	if (err == -ENOENT || err == -EBADMSG) {
		r->gone += b->events;
		return 0;
	}
	v->comm_mark = false;
	for (size_t i = 0; i < c.n && err >= 0; i++) {
		struct piece p;

		err = view_piece(v, &c, i, &p);
		if (err <= 0 || p.start_ns >= r->to ||
		    (p.end_ns <= r->from && p.start_ns < r->from))
			continue;
		n = view_route(v, &p, false, to);
		for (int k = 0; k < n && err >= 0; k++)
			if (wanted[to[k]])
				err = list_add(&r->list[to[k]], &p, b->id << FEED_SHIFT | i);
		err = n < 0 ? n : err;
	}
	return err < 0 ? err : 0;
}

/* Whether a track of the block's process is requested. */
static bool of_wanted(const struct tile_view *v, const struct feed_block *b, const bool *wanted)
{
	for (size_t i = 0; i < v->tracks; i++)
		if (wanted[i] && v->feed->process[v->track[i]->process].id == b->process)
			return true;
	return false;
}

static int collect(struct row *r, const bool *wanted)
{
	struct tile_view *v = r->v;
	int err = 0;

	for (size_t i = 0; i < v->blocks && !err; i++) {
		const struct feed_block *b = &v->feed->block[i];

		if (view_rel(v, b->t1_ns) >= r->from && view_rel(v, b->t0_ns) < r->to &&
		    of_wanted(v, b, wanted))
			err = collect_block(r, b, wanted);
	}
	return err;
}

/* --- one tile --- */

/* Cells of one tile, from its events. */
struct into_cells {
	struct fill fill; /* first */
	struct cell *cell;
	uint64_t from;
	uint8_t L;
};

static void on_piece(struct fill *f, uint8_t class, uint32_t name, uint64_t from, uint64_t to)
{
	struct into_cells *x = (struct into_cells *)f;

	while (from < to) {
		uint64_t i = (from - x->from) >> x->L, end = x->from + ((i + 1) << x->L);
		struct cell *c = &x->cell[i];

		if (i >= TILE_CELLS)
			return;
		end = end > from && end < to ? end : to;
		c->ns[class] += end - from;
		if (!c->name || end - from > c->longest) {
			c->longest = end - from;
			c->name = name;
		}
		from = end;
	}
}

static int cells_of(const struct row *r, const struct list *l, struct cell *cell)
{
	struct into_cells x = { .fill = { .fn = on_piece, .at_ns = r->from },
				.cell = cell,
				.from = r->from,
				.L = r->L };
	int err = 0;

	memset(cell, 0, TILE_CELLS * sizeof(*cell));
	for (size_t i = 0; i < l->n && !err; i++) {
		const struct piece *p = &l->piece[i];
		double value;

		if (p->kind == EVENT_COUNTER) {
			memcpy(&value, &p->value, sizeof(value));
			value = p->flags & EVENT_FLOAT ? value : (double)(int64_t)p->value;
			cell_sample(&cell[(p->start_ns - r->from) >> r->L], value);
			continue;
		}
		if (p->start_ns >= r->from) {
			struct cell *c = &cell[(p->start_ns - r->from) >> r->L];

			c->starts++;
			c->name = c->name ? c->name : p->name + 1;
		}
		err = fill_add(&x.fill, p->start_ns, p->end_ns < r->to ? p->end_ns : r->to,
			       p->name + 1, p->class);
	}
	fill_until(&x.fill, r->to);
	fill_fini(&x.fill);
	return err;
}

/* Gaps are not in the source: adds the stored ones as events. */
static int collect_gaps(struct row *r, const struct view_track *t)
{
	size_t at = first_where(i, 0, t->gaps, t->gap[i].end_ns > r->from);
	int err = 0;

	for (; at < t->gaps && t->gap[at].start_ns < r->to && !err; at++) {
		struct piece p = { .start_ns = t->gap[at].start_ns,
				   .end_ns = t->gap[at].end_ns,
				   .name = t->gap[at].cause,
				   .kind = EVENT_RANGE,
				   .track = t->track,
				   .class = TILE_HOST };

		err = list_add(&r->list[t->pub.id - 1], &p, WHY_ID(t->pub.id, at));
	}
	return err;
}

static int put_exact(struct row *r, struct view_track *t, struct tile_head *h,
		     struct tile_answer *out)
{
	struct list *l = &r->list[t->pub.id - 1];
	struct cell *cell = r->v->scratch;
	struct exact *e;
	int err = t->pub.kind == TRACK_WHY ? collect_gaps(r, t) : 0;

	if (err)
		return err;
	h->events = (uint32_t)l->n;
	h->lost = r->gone < UINT32_MAX ? (uint32_t)r->gone : UINT32_MAX;
	h->flags |= r->gone ? TILE_LOST : 0;
	if (!l->n)
		return wire_empty(out, h);
	err = pieces_sort(l->piece, l->n);
	if (err)
		return err;
	if (l->n > TILE_EXACT_MAX || t->levels.counter) {
		err = cells_of(r, l, cell);
		h->kind = t->levels.counter ? TILE_SAMPLES : TILE_BUCKETS;
		if (err)
			return err;
		return t->levels.counter ? wire_samples(out, h, cell) : wire_cells(out, h, cell);
	}
	e = malloc(l->n * sizeof(*e));
	if (!e)
		return -ENOMEM;
	for (size_t i = 0; i < l->n; i++)
		e[i] = (struct exact){ .start_ns = l->piece[i].start_ns,
				       .end_ns = l->piece[i].end_ns,
				       .name = l->piece[i].name,
				       .id = l->id[l->piece[i].value] };
	h->kind = TILE_EXACT;
	err = wire_exact(out, h, e, l->n);
	free(e);
	return err;
}

static int put_cells(struct row *r, struct view_track *t, uint64_t index, struct tile_head *h,
		     struct tile_answer *out)
{
	struct cell *c = r->v->scratch;
	bool keep = !(h->flags & TILE_LIVE);
	uint64_t starts = 0;

	if (levels_get(&t->levels, r->L, index, keep, c, c + TILE_CELLS) <= 0)
		return wire_empty(out, h);
	for (size_t i = 0; i < TILE_CELLS; i++)
		starts += c[i].starts;
	h->events = starts < UINT32_MAX ? (uint32_t)starts : UINT32_MAX;
	h->kind = t->levels.counter ? TILE_SAMPLES : TILE_BUCKETS;
	return t->levels.counter ? wire_samples(out, h, c) : wire_cells(out, h, c);
}

/* --- a row of tiles --- */

/* Index k of a row, counted from its middle outwards. */
static uint64_t outwards(uint64_t first, uint64_t last, uint64_t k)
{
	uint64_t mid = first + (last - first) / 2;

	/* The right half has as many as the left one, or one more. */
	return k & 1 ? mid + k / 2 + 1 : mid - k / 2;
}

static void row_clear(struct row *r)
{
	for (size_t i = 0; i < r->v->tracks; i++)
		r->list[i].n = 0;
	r->gone = 0;
}

static void row_fini(struct row *r)
{
	for (size_t i = 0; r->list && i < r->v->tracks; i++) {
		free(r->list[i].piece);
		free(r->list[i].id);
	}
	free(r->list);
}

/* Writes the tiles of a row, from track `skip` on. Returns their number, or -errno. */
static int put_row(struct row *r, const struct tile_ask *a, uint64_t index, size_t skip,
		   uint64_t until, bool *wanted, struct tile_answer *out)
{
	struct tile_view *v = r->v;
	bool below = false;
	int err = 0;
	size_t i;

	r->from = index << (r->L + TILE_SHIFT);
	r->to = (index + 1) << (r->L + TILE_SHIFT);
	r->to = r->to ? r->to : UINT64_MAX;
	row_clear(r);
	memset(wanted, 0, v->tracks * sizeof(*wanted));
	for (i = skip; i < a->tracks; i++)
		if (a->track[i] && a->track[i] <= v->tracks)
			below |= wanted[a->track[i] - 1] =
				r->L < v->track[a->track[i] - 1]->levels.base;
	if (below)
		err = collect(r, wanted);
	for (i = skip; i < a->tracks && !err; i++) {
		struct tile_head h = { .L = r->L, .track = a->track[i], .t0_ns = r->from };
		struct view_track *t;

		if (i > skip && (out->len >= a->bytes || clock_mono_ns() >= until))
			break;
		h.epoch = (uint32_t)v->names;
		if (v->unread)
			h.flags |= TILE_LIVE;
		if (v->live && (v->t1_ns < LIVE_NS || r->to > v->t1_ns - LIVE_NS))
			h.flags |= TILE_LIVE;
		out->live |= h.flags & TILE_LIVE;
		t = a->track[i] && a->track[i] <= v->tracks ? v->track[a->track[i] - 1] : NULL;
		if (!t)
			err = wire_empty(out, &h);
		else
			err = r->L < t->levels.base ? put_exact(r, t, &h, out)
						    : put_cells(r, t, index, &h, out);
	}
	return err < 0 ? err : (int)(i - skip);
}

int tile_answer(struct tile_view *v, const struct tile_ask *a, struct tile_answer *out)
{
	uint64_t rows = a->last - a->first + 1, done = a->from, until = clock_mono_ns() + a->ns;
	struct row r = { .v = v, .L = a->L };
	bool *wanted;
	int n = 0;

	if (a->L > TILE_LEVEL_MAX || a->L & 1 || a->first > a->last ||
	    a->last >= 1ull << (64 - TILE_SHIFT - a->L) || rows > TILE_ASK_MAX)
		return -EINVAL;
	pthread_mutex_lock(&v->lock);
	*out = (struct tile_answer){ 0 };
	wanted = calloc(v->tracks + 1, sizeof(*wanted));
	r.list = calloc(v->tracks + 1, sizeof(*r.list));
	if (!wanted || !r.list)
		n = -ENOMEM;
	while (n >= 0 && a->tracks && done / a->tracks < rows) {
		if (done > a->from && (out->len >= a->bytes || clock_mono_ns() >= until)) {
			out->next = done;
			break;
		}
		n = put_row(&r, a, outwards(a->first, a->last, done / a->tracks), done % a->tracks,
			    until, wanted, out);
		done += n > 0 ? (uint64_t)n : 0;
	}
	row_fini(&r);
	free(wanted);
	pthread_mutex_unlock(&v->lock);
	if (n < 0)
		free(out->bytes);
	return n < 0 ? n : 0;
}
