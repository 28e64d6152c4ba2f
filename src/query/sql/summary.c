/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary.c - the table `summary`: count, total, extremes and quantiles of each name on each
 * device. It is computed here, because SQLite would take ten times as long.
 */
#include "sql/static_tables.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"

struct sum {
	uint32_t name, track, kind; /* indices; `track` is any track of the device */
	uint64_t count, total, min, max, bytes;
	struct sketch sketch;
};

struct sums {
	struct sum *sum; /* owned */
	size_t n;
	struct lookup by_key;
};

/* Maps each track to the first track of the same process and device. */
static uint32_t *merge_tracks(const struct dict *d)
{
	uint32_t *first = calloc(d->tracks, sizeof(*first));

	for (uint32_t i = 1; first && i < d->tracks; i++) {
		const struct track *l = &d->track[i].track;

		first[i] = i;
		for (uint32_t k = 1; k < i; k++)
			if (d->track[k].track.process == l->process &&
			    d->track[k].track.device == l->device) {
				first[i] = first[k];
				break;
			}
	}
	return first;
}

static struct sum *find(struct sums *s, uint32_t name, uint32_t track, uint32_t kind)
{
	uint64_t hash = hash_mix((uint64_t)name << 32 | track, kind);
	uint32_t i;

	for (size_t at = 0; lookup_next(&s->by_key, hash, &at, &i);) {
		struct sum *sum = &s->sum[i];

		if (sum->name == name && sum->track == track && sum->kind == kind)
			return sum;
	}
	if (vec_more(&s->sum, s->n, sizeof(*s->sum)) < 0 ||
	    lookup_put(&s->by_key, hash, (uint32_t)s->n) < 0)
		return NULL;
	s->sum[s->n] =
		(struct sum){ .name = name, .track = track, .kind = kind, .min = UINT64_MAX };
	return &s->sum[s->n++];
}

static int add_up(struct sums *s, const struct dict *d, const uint32_t *track_of,
		  const struct batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		size_t k = b->sel[i];
		uint32_t kind = b->c.kind[k];
		uint64_t dur = b->c.dur_ns[k];
		struct sum *sum = find(s, dict_name(d, b->c.name[k]),
				       track_of[dict_track(d, b->c.track[k])], kind);

		if (!sum || sketch_add(&sum->sketch, dur, 1) < 0)
			return -ENOMEM;
		sum->count++;
		sum->total += dur;
		sum->min = dur < sum->min ? dur : sum->min;
		sum->max = dur > sum->max ? dur : sum->max;
		if (kind == EVENT_COPY || kind == EVENT_MEMSET || kind == EVENT_COLLECTIVE)
			sum->bytes += b->c.a[k];
	}
	return 0;
}

static uint64_t within(const struct sum *s, double q)
{
	uint64_t v = sketch_quantile(&s->sketch, q);

	return v < s->min ? s->min : v > s->max ? s->max : v;
}

static void put(struct cells *c, const struct dict *d, const struct sum *s)
{
	const struct dict_track *l = &d->track[s->track];

	cell_text(c, event_word(s->kind));
	cell_text(c, d->name[s->name].text);
	cell_ints(c, l->track.process, d->process[l->process].pid);
	cell_maybe(c, s->track && l->track.device != TRACK_HOST, l->track.device);
	cell_ints(c, (int64_t)s->count, (int64_t)s->total);
	cell_real(c, (double)s->total / (double)s->count);
	cell_ints(c, (int64_t)s->min, (int64_t)s->max, (int64_t)within(s, 0.5),
		  (int64_t)within(s, 0.99), (int64_t)s->bytes);
}

int fill_summary(struct cells *c, struct sql_source *src, const struct small_ask *ask)
{
	/* Durations of counters and marks mean nothing. */
	struct filter f = { .kinds = ~(1u << EVENT_COUNTER | 1u << EVENT_MARK | 1u << EVENT_FLOW |
				       1u << EVENT_SAMPLE | 1u << EVENT_ALLOC) };
	uint32_t *track_of = merge_tracks(&src->dict);
	struct batch *b = calloc(1, sizeof(*b));
	struct sums s = { 0 };
	int err = track_of && b ? 0 : -ENOMEM;

	(void)ask;
	if (err == 0)
		err = batch_open(b, src, &f,
				 EVENT_COL_NAME | EVENT_COL_DUR | EVENT_COL_TRACK | EVENT_COL_A);
	while (err == 0 && (err = batch_next(b)) > 0)
		err = add_up(&s, &src->dict, track_of, b);
	for (size_t i = 0; i < s.n; i++) {
		if (err == 0)
			put(c, &src->dict, &s.sum[i]);
		sketch_fini(&s.sum[i].sketch);
	}
	if (b)
		batch_close(b);
	free(b);
	free(track_of);
	free(s.sum);
	lookup_fini(&s.by_key);
	return err < 0 ? err : c->err;
}
