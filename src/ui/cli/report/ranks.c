/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.c - compares the ranks of a job; see ranks.h. */
#include "cli/report/ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/order.h"
#include "base/vec.h"
#include "read/gather.h"
#include "insight/insight.h"

#define FETCH "enumerate(DataLoader)#"

/* A thread that works for a group. */
struct group_track {
	uint32_t id, size;
	uint64_t group;
};

struct walk {
	struct ranks *rs;
	struct store *st;
	struct rank *r;
	struct group_track *track; /* owned */
	size_t tracks, track_cap;
};

/* --- what the windows say --- */

static int rollups(struct rank *r, struct store *st)
{
	struct gather g;
	int err = gather_init(&g, st, BY_NAME);

	err = err ? err : gather_process(&g, &r->p, 0, false);
	r->steps = g.all_steps.count;
	for (size_t i = 0; i < g.rows && r->steps; i++) {
		const struct gather_row *row = &g.row[i];

		/* The usual one of those that every step has: a job's start has others. */
		if (row->kind == EVENT_COLLECTIVE && row->count >= r->steps)
			r->comm_ns += gather_quantile(row, 0.5) * (row->count / r->steps);
		if (row->kind == EVENT_RANGE && row->name &&
		    !strncmp(store_name_text(st, row->name), FETCH, strlen(FETCH)))
			r->data_ns += row->total_ns / r->steps;
	}
	if (r->steps) {
		r->p50_ns = gather_quantile(&g.all_steps, 0.5);
		r->mean_ns = g.all_steps.total_ns / r->steps;
	}
	gather_fini(&g);
	return err;
}

/* --- what the events say --- */

static int step_cmp(const void *a, const void *b)
{
	const struct rank_step *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static int on_steps(void *arg, uint32_t process, const struct event_columns *c)
{
	struct walk *w = arg;

	(void)process;
	for (size_t i = 0; i < c->n; i++) {
		int err;

		if (c->flags[i] & EVENT_OPEN)
			continue;
		err = vec_room(&w->r->step, &w->r->step_cap, w->r->held + 1, sizeof(*w->r->step));
		if (err)
			return err;
		w->r->step[w->r->held++] =
			(struct rank_step){ .number = c->a[i],
					    .start_ns = c->start_ns[i],
					    .end_ns = c->start_ns[i] + c->dur_ns[i] };
	}
	return 0;
}

/* "gloo 0 1/2": the group without the rank in it, and how many there are. */
static int on_track(void *arg, const struct track *l)
{
	struct walk *w = arg;
	const char *text = l->name ? store_name_text(w->st, l->name) : "", *ranks;
	struct group_track g = { .id = l->id };
	uint32_t rank;
	int err;

	ranks = strrchr(text, ' ');
	if (!ranks || sscanf(ranks, " %" SCNu32 "/%" SCNu32, &rank, &g.size) != 2)
		return 0;
	g.group = fnv_bytes(g.size, text, (size_t)(ranks - text));
	err = vec_room(&w->track, &w->track_cap, w->tracks + 1, sizeof(*w->track));
	if (!err)
		w->track[w->tracks++] = g;
	return err;
}

static const struct group_track *group_of(const struct walk *w, uint32_t track)
{
	for (size_t i = 0; i < w->tracks; i++)
		if (w->track[i].id == track)
			return &w->track[i];
	return NULL;
}

/* In a step, but not in the first. */
static bool counts(const struct rank *r, uint64_t ns)
{
	return r->held > 1 && ns >= r->step[1].start_ns && ns <= r->step[r->held - 1].end_ns;
}

static int on_collectives(void *arg, uint32_t process, const struct event_columns *c)
{
	struct walk *w = arg;
	struct ranks *rs = w->rs;

	(void)process;
	for (size_t i = 0; i < c->n; i++) {
		const struct group_track *g = group_of(w, c->track[i]);
		const char *name = store_name_text(w->st, c->name[i]);
		int err;

		if (!c->b[i] || !g || !counts(w->r, c->start_ns[i]) || !waits_for_all(name))
			continue;
		err = vec_room(&rs->share, &rs->share_cap, rs->shares + 1, sizeof(*rs->share));
		if (err)
			return err;
		rs->share[rs->shares++] = (struct wait_share){
			.rank = (uint32_t)(w->r - rs->r),
			.name = (uint32_t)fnv_text(FNV_BASIS, name),
			.group = g->group,
			.number = c->b[i],
			.size = g->size,
			.start_ns = c->start_ns[i],
			.dur_ns = c->dur_ns[i],
		};
	}
	return 0;
}

static int take(struct ranks *rs, struct store *st, const struct process *p)
{
	uint32_t cols = EVENT_COL_START | EVENT_COL_DUR | EVENT_COL_A | EVENT_COL_B |
			EVENT_COL_NAME | EVENT_COL_TRACK | EVENT_COL_FLAGS;
	struct store_filter f = { .process = &p->id, .processes = 1, .kinds = 1u << EVENT_STEP };
	struct walk w = { .rs = rs, .st = st };
	int err = vec_room(&rs->r, &rs->cap, rs->n + 1, sizeof(*rs->r));

	if (err)
		return err;
	w.r = &rs->r[rs->n++];
	*w.r = (struct rank){ .p = *p, .store = rs->stores };
	err = rollups(w.r, st);
	err = err ? err : store_each_events(st, &f, cols, on_steps, &w);
	if (w.r->held)
		qsort(w.r->step, w.r->held, sizeof(*w.r->step), step_cmp);
	err = err ? err : store_each_track(st, p->id, on_track, &w);
	f.kinds = 1u << EVENT_COLLECTIVE;
	err = err || !w.tracks ? err : store_each_events(st, &f, cols, on_collectives, &w);
	free(w.track);
	return err;
}

static bool same_job(const struct process *a, const struct process *b)
{
	return !strcmp(a->run, b->run) && !strcmp(a->job, b->job);
}

int ranks_add(struct ranks *rs, struct store *st, const struct procs *ps)
{
	const struct process *first = NULL;
	int err = 0;

	for (size_t i = 0; i < ps->n && !err; i++) {
		const struct process *p = &ps->p[i];

		if (!p->origin.rank || p->origin.file || (first && !same_job(p, first)))
			continue;
		first = p;
		err = take(rs, st, p);
	}
	rs->stores++;
	return err;
}

/* --- between ranks --- */

static int waits(struct ranks *rs)
{
	struct waits w = { .ranks = rs->n };

	w.rank = calloc(rs->n, sizeof(*w.rank));
	if (!w.rank)
		return -ENOMEM;
	waits_match(&w, rs->share, rs->shares);
	rs->matched = w.matched;
	rs->late = w.late;
	for (size_t i = 0; i < rs->n && w.matched; i++) {
		struct rank *r = &rs->r[i];
		uint64_t steps = r->held > 1 ? r->held - 1 : 1;

		r->comm_ns = w.rank[i].comm_ns / steps;
		r->wait_ns = w.rank[i].waited_ns / steps;
		r->late_ns = w.rank[i].late_ns / steps;
		r->last = w.rank[i].last;
	}
	free(w.rank);
	return 0;
}

/* By how much the nodes' clocks differ, from collectives that end for all together. */
static int clocks(struct ranks *rs)
{
	struct offset *o = calloc(rs->stores + 1, sizeof(*o));
	struct offset_end *e = calloc(rs->shares + 1, sizeof(*e));
	int err = o && e ? 0 : -ENOMEM;

	for (size_t i = 0; i < rs->shares && !err; i++) {
		const struct wait_share *s = &rs->share[i];
		const struct rank *r = &rs->r[s->rank];
		uint64_t is[] = { s->group, s->name, s->number };

		e[i] = (struct offset_end){ fnv_bytes(s->size, is, sizeof(is)), r->store,
					    (int64_t)(s->start_ns + s->dur_ns) +
						    r->p.wall_offset_ns };
	}
	err = err ? err : offset_find(o, rs->stores, e, rs->shares);
	for (size_t i = 0; i < rs->n && !err; i++)
		rs->r[i].clock = o[rs->r[i].store];
	free(o);
	free(e);
	return err;
}

/* What to add to a rank's times so that they are of one clock. */
static int64_t shift_of(const struct ranks *rs, const struct rank *r, bool same_boot)
{
	return same_boot || rs->stores < 2 ? 0 : r->p.wall_offset_ns - r->clock.off_ns;
}

/* The step of this number on all ranks: how far apart its ends are. */
static bool common(const struct ranks *rs, uint64_t number, bool same_boot, uint64_t *apart)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < rs->n; i++) {
		struct rank_step key = { .number = number }, *s;
		uint64_t end;

		s = rs->r[i].held
			    ? bsearch(&key, rs->r[i].step, rs->r[i].held, sizeof(key), step_cmp)
			    : NULL;
		if (!s)
			return false;
		end = s->end_ns + (uint64_t)shift_of(rs, &rs->r[i], same_boot);
		first = end < first ? end : first;
		last = end > last ? end : last;
	}
	*apart = last - first;
	return true;
}

static int align(struct ranks *rs)
{
	uint64_t *apart = calloc(rs->r[0].held + 1, sizeof(*apart));
	bool same_boot = true, known = true;

	if (!apart)
		return -ENOMEM;
	for (size_t i = 0; i < rs->n; i++) {
		known = known && rs->r[i].clock.known;
		same_boot = same_boot && !memcmp(rs->r[i].p.boot_id, rs->r[0].p.boot_id,
						 sizeof(rs->r[0].p.boot_id));
	}
	for (size_t i = 0; i < rs->r[0].held; i++)
		rs->common += common(rs, rs->r[0].step[i].number, same_boot, &apart[rs->common]);
	qsort(apart, rs->common, sizeof(*apart), cmp_u64);
	rs->spread_ns = apart[rs->common / 2];
	rs->one_clock = same_boot || known;
	free(apart);
	return 0;
}

static int rank_cmp(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	return cmp_num(x->p.origin.rank, y->p.origin.rank) ?: cmp_num(x->p.id, y->p.id);
}

int ranks_compare(struct ranks *rs)
{
	int err = rs->n ? clocks(rs) : 0;

	err = err || !rs->n ? err : waits(rs);

	err = err || !rs->n ? err : align(rs);
	if (rs->n) {
		uint32_t late = rs->r[rs->late].p.origin.rank;

		qsort(rs->r, rs->n, sizeof(*rs->r), rank_cmp);
		for (rs->late = 0; rs->r[rs->late].p.origin.rank != late;)
			rs->late++;
	}
	return err;
}

void ranks_fini(struct ranks *rs)
{
	for (size_t i = 0; i < rs->n; i++)
		free(rs->r[i].step);
	free(rs->r);
	free(rs->share);
}
