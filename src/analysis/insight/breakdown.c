/* SPDX-License-Identifier: Apache-2.0 */
/* breakdown.c - one sweep over streams in order of start; see breakdown.h. */
#include "insight/breakdown.h"

#include <errno.h>
#include <stdlib.h>

enum kclass event_class(struct names *n, const struct trace *t, size_t event)
{
	const struct event *e = &t->event[event];

	return work_class(n, e->kind, e->name, t->event_comm && t->event_comm[event]);
}

enum kclass work_class(struct names *n, uint32_t kind, uint32_t name, bool comm)
{
	if (kind == EVENT_COPY)
		return CLASS_COPY;
	if (kind == EVENT_MEMSET)
		return CLASS_MEMSET;
	return kind == EVENT_COLLECTIVE || comm ? CLASS_COMM : names_kernel(n, name);
}

void unions_take(const struct unions *u, struct breakdown *b)
{
	b->busy_ns = u->sum[PART_BUSY];
	b->compute_ns = u->sum[PART_COMPUTE];
	b->comm_ns = u->sum[PART_COMM];
	b->memory_ns = u->sum[PART_MEMORY];
	b->overlap_ns = b->compute_ns + b->comm_ns - u->sum[PART_KERNEL];
	b->exposed_comm_ns = b->comm_ns - b->overlap_ns;
	b->exposed_copy_ns = b->busy_ns - u->sum[PART_KERNEL];
}

void breakdown_end(struct breakdown *b, const struct unions *u)
{
	unions_take(u, b);
	b->span_ns = b->last_ns - b->first_ns - b->unseen_ns;
	b->idle_ns = b->span_ns - b->busy_ns;
}

void merge_sift(struct merge *m, size_t i)
{
	for (;;) {
		size_t least = i, child = 2 * i + 1;
		struct merge_track swap;

		for (size_t c = child; c < child + 2 && c < m->tracks; c++)
			if (m->track[c].start_ns < m->track[least].start_ns)
				least = c;
		if (least == i)
			return;
		swap = m->track[i];
		m->track[i] = m->track[least];
		m->track[least] = swap;
		i = least;
	}
}

static void skip_others(const struct trace *t, struct merge_track *l)
{
	while (l->at < l->end && !event_is_gpu(&t->event[l->at]))
		l->at++;
	if (l->at < l->end)
		l->start_ns = t->event[l->at].start_ns;
}

int merge_init(struct merge *m, const struct trace *t, const uint32_t *track, size_t tracks)
{
	m->t = t;
	m->tracks = 0;
	m->track = calloc(tracks + 1, sizeof(*m->track));
	if (!m->track)
		return -ENOMEM;
	for (size_t i = 0; i < tracks; i++) {
		struct merge_track l = { t->track_first[track[i]], t->track_first[track[i] + 1], 0,
					 NULL };

		skip_others(t, &l);
		if (l.at < l.end)
			m->track[m->tracks++] = l;
	}
	for (size_t i = m->tracks / 2; i-- > 0;)
		merge_sift(m, i);
	return 0;
}

size_t merge_next(struct merge *m)
{
	struct merge_track *top = m->track;
	size_t event;

	if (!m->tracks)
		return MERGE_END;
	event = top->at++;
	skip_others(m->t, top);
	if (top->at == top->end)
		*top = m->track[--m->tracks];
	if (m->tracks > 1)
		merge_sift(m, 0);
	return event;
}

void merge_fini(struct merge *m)
{
	free(m->track);
	m->track = NULL;
}

int breakdown_tracks(struct sum *s, const struct trace *t, struct names *n, const uint32_t *launch,
		     const uint32_t *track, size_t tracks, gap_fn *fn, void *arg)
{
	struct merge m;
	size_t i;
	int err;

	err = merge_init(&m, t, track, tracks);
	if (err < 0)
		return err;
	while ((i = merge_next(&m)) != MERGE_END) {
		const struct event *e = &t->event[i];
		bool launched = launch && launch[i] && t->event[launch[i] - 1].kind != EVENT_RANGE;
		struct gap g = { e->start_ns, e->start_ns, i, event_class(n, t, i) };

		g.start_ns -=
			sum_add(s, g.class, e->kind == EVENT_KERNEL, e->start_ns, event_end(e));
		s->b.attributed += e->kind == EVENT_KERNEL && launched;
		if (fn)
			fn(arg, &g);
	}
	merge_fini(&m);
	return 0;
}
