/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build.c - reads blocks in the order of their first event and delivers events in order of time.
 *
 * A block holds ranges that began long before they were stored, and the blocks of several processes
 * cover the same time. So events wait in their group, a thread or a device, until no unread block
 * begins before them. When the source grows later, the tracks are cut back to where the new part
 * begins, and filled again from there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/order.h"
#include "base/vec.h"
#include "insight/breakdown.h"
#include "model/keys.h"
#include "tile/view.h"

#define WAITING 131072u /* events to collect before some are passed on */

int view_piece(struct tile_view *v, const struct event_columns *c, size_t i, struct piece *out)
{
	uint32_t kind = c->kind[i], track = c->track[i];
	int err;

	if (track >= v->feed->tracks || !v->feed->track[track].known)
		return 0;
	if (kind == EVENT_FLOW || kind == EVENT_ALLOC || kind == EVENT_NONE)
		return 0;
	*out = (struct piece){ .start_ns = view_rel(v, c->start_ns[i]),
			       .end_ns = view_rel(v, end_of(c->start_ns[i], c->dur_ns[i])),
			       .value = c->a[i],
			       .track = track,
			       .corr = c->corr[i],
			       .kind = (uint8_t)kind,
			       .flags = c->flags[i],
			       .comm = v->comm_mark };
	v->comm_mark = false;
	err = view_name(v, c->name[i], kind, &out->name);
	if (err)
		return err;
	/* Marks an unsampled step, so that its GPUs do not look idle. */
	if (kind == EVENT_STEP && out->flags & EVENT_UNSAMPLED)
		out->name = NAME_UNRECORDED;
	if (v->name[out->name].mark && kind == EVENT_MARK) {
		v->comm_mark = true;
		return 0;
	}
	out->class = (uint8_t)view_class(v, out);
	return !(v->name[out->name].aside && kind == EVENT_COUNTER);
}

/* --- sorting --- */

/* A total order, except for events that a track cannot tell apart. */
static int order(const void *x, const void *y)
{
	const struct piece *a = x, *b = y;

	return cmp_num(a->start_ns, b->start_ns) ?: cmp_num(b->end_ns, a->end_ns) ?:
	       cmp_num(a->name, b->name) ?: cmp_num(a->kind, b->kind);
}

/*
 * Insertion sort for streams that alternate, where each event is a few places off. False: it is not
 * like that, and only partly sorted.
 */
static bool nearly_sorted(struct sort_key *k, size_t n)
{
	size_t moves = 0;

	for (size_t i = 1; i < n; i++) {
		struct sort_key x = k[i];
		size_t at = i;

		for (; at > 0 && k[at - 1].value > x.value && moves <= 4 * n; at--, moves++)
			k[at] = k[at - 1];
		k[at] = x;
		if (moves > 4 * n)
			return false;
	}
	return true;
}

int pieces_sort(struct piece *p, size_t n)
{
	struct sort_key *k = malloc((2 * n + 1) * sizeof(*k));
	struct piece *to = malloc((n + 1) * sizeof(*to));

	if (!k || !to) {
		free(k);
		free(to);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		k[i] = (struct sort_key){ p[i].start_ns, i };
	if (!nearly_sorted(k, n))
		keys_sort(k, k + n, n);
	for (size_t i = 0; i < n; i++)
		to[i] = p[k[i].with];
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && to[end].start_ns == to[i].start_ns; end++)
			;
		if (end > i + 1)
			qsort(&to[i], end - i, sizeof(*to), order);
	}
	if (n)
		memcpy(p, to, n * sizeof(*p));
	free(k);
	free(to);
	return 0;
}

static int find_group(struct tile_view *v, uint32_t track, uint32_t device, uint32_t *out)
{
	const struct feed_track *l = &v->feed->track[track];

	for (uint32_t i = 0; device != TRACK_HOST && i < v->groups; i++)
		if (v->group[i].process == l->process && v->group[i].device == device) {
			*out = i;
			return 0;
		}
	if (vec_more(&v->group, v->groups, sizeof(*v->group)) < 0)
		return -ENOMEM;
	v->group[v->groups] = (struct group){ .host = device == TRACK_HOST || device == GROUP_STEPS,
					      .process = l->process,
					      .device = device };
	*out = (uint32_t)v->groups++;
	return 0;
}

/* Creates the routes of all tracks of the feed. */
static int make_ways(struct tile_view *v)
{
	int err = vec_resize(&v->way, v->feed->tracks + 1, sizeof(*v->way));

	if (err)
		return err;
	for (; v->ways < v->feed->tracks; v->ways++)
		v->way[v->ways] = (struct way){ NO_TRACK, NO_TRACK, NO_TRACK, NO_TRACK,
						NO_TRACK, NO_TRACK, NO_TRACK };
	for (uint32_t i = 0; i < v->ways && !err; i++) {
		if (!v->feed->track[i].known || v->way[i].group != NO_TRACK)
			continue;
		err = find_group(v, i, v->feed->track[i].device, &v->way[i].group);
		err = err ? err : find_group(v, i, GROUP_STEPS, &v->way[i].steps);
	}
	return err;
}

static int wait_in(struct group *g, const struct piece *p)
{
	if (vec_room(&g->piece, &g->cap, g->n + 1, sizeof(*g->piece)) < 0)
		return -ENOMEM;
	g->unsorted |= g->n && order(p, &g->piece[g->n - 1]) < 0;
	g->piece[g->n++] = *p;
	return 0;
}

/* --- into the tracks --- */

static double value_of(const struct piece *p)
{
	double v;

	if (!(p->flags & EVENT_FLOAT))
		return (double)(int64_t)p->value;
	memcpy(&v, &p->value, sizeof(v));
	return v;
}

/* Creates the track of causes if there are calls that launch work. */
static int hand_on_why(struct tile_view *v, const struct piece *p)
{
	uint32_t why = v->way[p->track].why;

	if (v->feed->track[p->track].device == TRACK_HOST)
		return why_host(v, p);
	return why != NO_TRACK && kind_is_gpu(p->kind) ? why_work(v, v->track[why], p) : 0;
}

static int hand_on(struct tile_view *v, const struct piece *p)
{
	uint32_t to[ROUTES];
	int n = view_route(v, p, true, to), err = n < 0 ? 0 : hand_on_why(v, p);

	if (n == 0 && (kind_is_gpu(p->kind) || v->tracks == TILE_TRACKS_MAX))
		v->left++;
	for (int i = 0; i < n && !err; i++) {
		struct view_track *t = v->track[to[i]];
		bool counted = p->start_ns >= t->levels.fill.at_ns;

		if (t->pub.kind == TRACK_COUNTER)
			err = levels_sample(&t->levels, p->start_ns, value_of(p));
		else
			err = levels_add(&t->levels, p->start_ns, p->end_ns, p->name + 1, p->class);
		t->pub.n += counted;
		if (p->start_ns < t->pub.first_ns)
			t->pub.first_ns = p->start_ns;
		if (p->end_ns > t->pub.last_ns)
			t->pub.last_ns = p->end_ns;
	}
	return n < 0 ? n : err;
}

/* Passes on the events of the group that begin before `until`; the rest stays. */
static int hand_on_group(struct tile_view *v, struct group *g, uint64_t until)
{
	size_t i = 0;
	int err = 0;

	if (g->unsorted)
		err = pieces_sort(g->piece, g->n);
	g->unsorted = g->unsorted && err;
	for (; i < g->n && !err && (g->piece[i].start_ns < until || until == UINT64_MAX); i++)
		err = hand_on(v, &g->piece[i]);
	if (i && g->n > i)
		memmove(g->piece, g->piece + i, (g->n - i) * sizeof(*g->piece));
	g->n -= i;
	return err;
}

/* Threads before devices: their calls launched the work. */
static int hand_on_all(struct tile_view *v, uint64_t until)
{
	int err = 0;

	for (int host = 1; host >= 0; host--)
		for (size_t i = 0; i < v->groups && !err; i++)
			if (v->group[i].host == host)
				err = hand_on_group(v, &v->group[i], until);
	why_turn(v);
	return err;
}

/* --- the blocks --- */

static int by_start(const void *a, const void *b)
{
	const struct feed_block *x = a, *y = b;

	return cmp_num(x->t0_ns, y->t0_ns) ?: cmp_num(x->id, y->id);
}

/* The blocks that reach beyond `from`, sorted by start. */
static int choose_blocks(const struct tile_view *v, uint64_t from, struct feed_block **out,
			 size_t *n)
{
	const struct feed *f = v->feed;
	struct feed_block *b = malloc((f->blocks + 1) * sizeof(*b));

	if (!b)
		return -ENOMEM;
	*n = 0;
	for (size_t i = 0; i < f->blocks; i++)
		if (!from || view_rel(v, f->block[i].t1_ns) >= from)
			b[(*n)++] = f->block[i];
	qsort(b, *n, sizeof(*b), by_start);
	*out = b;
	return 0;
}

static int read_block(struct tile_view *v, const struct feed_block *b, uint64_t from,
		      size_t *waiting)
{
	struct event_columns c;
	int err = v->feed->get(v->feed, b, false, &c);

	if (err == -ENOENT || err == -EBADMSG) { /* evicted by the recorder's limit, or damaged */
		v->gone++;
		return 0;
	}
	v->comm_mark = false;
	for (size_t i = 0; i < c.n && err >= 0; i++) {
		const struct way *w;
		struct piece p;

		err = view_piece(v, &c, i, &p);
		if (err <= 0 || (p.end_ns < from && from))
			continue;
		w = &v->way[p.track];
		if (p.start_ns < v->name[p.name].first_ns)
			v->name[p.name].first_ns = p.start_ns;
		if (p.start_ns > v->name[p.name].last_ns)
			v->name[p.name].last_ns = p.start_ns;
		err = wait_in(&v->group[p.kind == EVENT_STEP ? w->steps : w->group], &p);
		++*waiting;
		if (p.end_ns > v->t1_ns)
			v->t1_ns = p.end_ns;
	}
	return err < 0 ? err : 0;
}

/* Called when all blocks were read, or reading failed. */
static int read_end(struct tile_view *v, int err)
{
	struct reading *r = &v->reading;

	err = err ? err : hand_on_all(v, UINT64_MAX);
	for (size_t i = 0; i < v->groups; i++) {
		free(v->group[i].piece);
		v->group[i] = (struct group){ .host = v->group[i].host,
					      .process = v->group[i].process,
					      .device = v->group[i].device };
	}
	for (size_t i = 0; i < v->tracks && !err; i++)
		err = levels_seal(&v->track[i]->levels);
	if (err)
		v->blocks = r->was;
	for (size_t i = r->was; i < v->blocks; i++)
		v->events += v->feed->block[i].events;
	free(r->block);
	*r = (struct reading){ 0 };
	return err;
}

/* Reads until clock_mono_ns() is `until`, but at least one block. 1: there are more. */
static int read_on(struct tile_view *v, uint64_t until)
{
	struct reading *r = &v->reading;
	int err = 0;

	while (r->at < r->n && !err) {
		const struct feed_block *b = &r->block[r->at++];

		err = read_block(v, b, r->from, &r->waiting);
		r->events += b->events;
		if (!err && r->waiting >= WAITING && r->at < r->n) {
			err = hand_on_all(v, view_rel(v, b[1].t0_ns));
			r->waiting = 0;
			for (size_t k = 0; k < v->groups; k++)
				r->waiting += v->group[k].n;
			r->waiting /= 2; /* those that stay are sorted again, so do it less often */
		}
		if (!err && r->at < r->n && clock_mono_ns() >= until)
			return 1;
	}
	return read_end(v, err);
}

/* Cuts all tracks back to where the new blocks begin; returns where to read from. */
static int cut_tracks(struct tile_view *v, uint64_t *from)
{
	uint64_t ns = UINT64_MAX;
	int err = 0;

	for (size_t i = v->blocks; i < v->feed->blocks; i++)
		if (view_rel(v, v->feed->block[i].t0_ns) < ns)
			ns = view_rel(v, v->feed->block[i].t0_ns);
	*from = v->tracks ? ns : 0;
	for (size_t i = 0; i < v->tracks && !err; i++) {
		struct levels *l = &v->track[i]->levels;

		if (levels_cut_at(l, ns) < *from)
			*from = levels_cut_at(l, ns);
		err = v->track[i]->pub.kind == TRACK_WHY ? why_cut(v, v->track[i], ns)
							 : levels_cut(l, ns);
		v->track[i]->pub.n = l->starts;
		for (size_t k = 0; l->cell && k < TILE_CELLS; k++)
			v->track[i]->pub.n += l->cell[k].starts;
	}
	return err;
}

/* Prepares to read what is new (at first: everything): the start and the blocks. */
static int read_begin(struct tile_view *v)
{
	struct reading *r = &v->reading;
	size_t blocks = v->feed->blocks;
	int err;

	if (!v->t0_ns)
		for (size_t i = 0; i < blocks; i++)
			if (!i || v->feed->block[i].t0_ns < v->t0_ns)
				v->t0_ns = v->feed->block[i].t0_ns;
	err = make_ways(v);
	err = err ? err : cut_tracks(v, &r->from);
	err = err ? err : choose_blocks(v, r->from, &r->block, &r->n);
	if (err)
		return err;
	for (size_t i = 0; i < r->n; i++)
		r->of += r->block[i].events;
	r->was = v->blocks;
	v->blocks = blocks; /* below its base level a track is read from these */
	return 0;
}

int view_build(struct tile_view *v, uint64_t until)
{
	int err = 0;

	if (!v->reading.block) {
		if (v->blocks == v->feed->blocks && v->blocks)
			return 0;
		err = read_begin(v);
	}
	return err ? err : read_on(v, until);
}

void view_build_fini(struct tile_view *v)
{
	free(v->reading.block);
	for (size_t i = 0; i < v->groups; i++)
		free(v->group[i].piece);
	free(v->group);
	free(v->way);
}
