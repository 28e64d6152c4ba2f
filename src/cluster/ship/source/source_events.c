/* SPDX-License-Identifier: Apache-2.0 */
/* source_events.c - ships the events of a capture that an alarm started, one by one. */
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "ship/source/source_priv.h"

#define ROWS_MAX 500000u

struct tracks {
	struct track *track; /* owned */
	size_t n;
};

static int on_track(void *arg, const struct track *l)
{
	struct tracks *x = arg;

	if (vec_more(&x->track, x->n, sizeof(*x->track)) < 0)
		return -ENOMEM;
	x->track[x->n++] = *l;
	return 0;
}

static const struct track *track_of(const struct tracks *x, uint32_t id)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->track[i].id == id)
			return &x->track[i];
	return NULL;
}

struct taking {
	struct ship_source *s;
	const struct known *k;
	const char *label;
	struct tracks tracks;
	uint64_t rows, over;
};

static void put_event(struct taking *x, const struct event_columns *c, size_t i)
{
	const struct event ev = event_at(c, i), *e = &ev;
	const struct track *l = track_of(&x->tracks, e->track);

	packs_add(&x->s->packs, SHIP_EVENT, x->k->route,
		  &(struct ship_event){ .job = ship_text(x->k->job),
					.rank = x->k->rank,
					.proc = x->k->proc,
					.capture = ship_text(x->label),
					.t_ns = e->start_ns + (uint64_t)x->k->wall_offset_ns,
					.dur_ns = e->dur_ns,
					.kind = e->kind,
					.name = source_name(x->s, e->name),
					.lane = e->track,
					.device = l ? l->device : TRACK_HOST,
					.stream = l ? l->stream : 0,
					.corr = e->corr,
					.bytes = e->a });
}

static int on_events(void *arg, uint32_t process, const struct event_columns *c)
{
	struct taking *x = arg;

	(void)process;
	for (size_t i = 0; i < c->n && !x->s->packs.err; i++) {
		if (x->rows == ROWS_MAX) {
			x->over++;
			continue;
		}
		put_event(x, c, i);
		x->rows++;
	}
	return x->s->packs.err;
}

int source_events(struct ship_source *s, const char *label, uint32_t process, uint64_t from_ns,
		  uint64_t to_ns)
{
	struct store_filter f = {
		.process = &process, .processes = 1, .from_ns = from_ns, .to_ns = to_ns
	};
	struct taking x = { .s = s, .k = source_known(s, process), .label = label };
	int err;

	if (!x.k)
		return 0;
	err = store_each_track(s->st, process, on_track, &x.tracks);
	err = err ? err : store_each_events(s->st, &f, EVENT_COLS_ALL, on_events, &x);
	if (x.over)
		spool_lost(s->packs.spool, SHIP_EVENT, SPOOL_LIMIT, x.over);
	free(x.tracks.track);
	return err;
}
