/* SPDX-License-Identifier: Apache-2.0 */
/* track.c - the tracks of an event; a track is created with its first event. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fmt.h"
#include "base/vec.h"
#include "insight/breakdown.h"
#include "tile/view.h"

const char *const tile_kind_word[] = {
	[TRACK_STEP] = "step",     [TRACK_GPU] = "gpu",   [TRACK_STREAM] = "stream",
	[TRACK_THREAD] = "thread", [TRACK_COMM] = "comm", [TRACK_COUNTER] = "counter",
	[TRACK_WHY] = "why",
};

static void label(const struct tile_view *v, struct view_track *t, const struct feed_track *l)
{
	char *to = t->pub.label;
	size_t len = sizeof(t->pub.label);
	const char *name = l->name ? v->feed->text(v->feed, l->name) : "";

	switch (t->pub.kind) {
	case TRACK_STEP:
		snprintf(to, len, "steps");
		break;
	case TRACK_GPU:
		snprintf(to, len, "GPU %" PRIu32, l->device);
		break;
	case TRACK_COMM:
		snprintf(to, len, "comm");
		break;
	case TRACK_WHY:
		snprintf(to, len, "why idle");
		break;
	case TRACK_COUNTER:
		fmt_clean(to, len, v->feed->text(v->feed, t->name), false);
		break;
	case TRACK_STREAM:
	case TRACK_THREAD:
		if (*name)
			fmt_clean(to, len, name, false);
		else
			snprintf(to, len, "%s %" PRIu64, tile_kind_word[t->pub.kind], l->stream);
		break;
	}
}

/* NO_TRACK: the limit is reached. */
static int make_track(struct tile_view *v, enum tile_kind kind, uint32_t track, uint32_t parent,
		      uint32_t name, uint32_t *out)
{
	const struct feed_track *l = &v->feed->track[track];
	const struct feed_process *p = &v->feed->process[l->process];
	struct view_track *t;

	*out = NO_TRACK;
	if (v->tracks == TILE_TRACKS_MAX)
		return 0;
	if (vec_more(&v->track, v->tracks, sizeof(*v->track)) < 0)
		return -ENOMEM;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	levels_init(&t->levels, kind == TRACK_COUNTER, &v->bytes, v->bytes_max);
	t->track = track;
	t->name = name;
	t->process = l->process;
	t->pub.id = (uint32_t)v->tracks + 1;
	t->pub.parent = parent == NO_TRACK ? 0 : parent + 1;
	t->pub.kind = kind;
	t->pub.pid = p->pid;
	t->pub.rank = p->rank;
	t->pub.gpu = l->device == TRACK_HOST ? -1 : (int32_t)l->device;
	t->pub.first_ns = UINT64_MAX;
	label(v, t, l);
	*out = (uint32_t)v->tracks;
	v->track[v->tracks++] = t;
	return 0;
}

/* A track that several source tracks share: one for the process or the device. */
static int shared_track(struct tile_view *v, enum tile_kind kind, uint32_t track, uint32_t parent,
			bool make, uint32_t *out)
{
	const struct feed_track *l = &v->feed->track[track];

	for (uint32_t i = 0; i < v->tracks; i++) {
		const struct feed_track *of = &v->feed->track[v->track[i]->track];

		if (v->track[i]->pub.kind == kind && of->process == l->process &&
		    (kind == TRACK_STEP || of->device == l->device)) {
			*out = i;
			return 0;
		}
	}
	return make ? make_track(v, kind, track, parent, 0, out) : 0;
}

static int counter_track(struct tile_view *v, const struct piece *p, bool make, uint32_t *out)
{
	uint32_t name = v->name[p->name].source;

	for (uint32_t i = 0; i < v->tracks; i++)
		if (v->track[i]->pub.kind == TRACK_COUNTER && v->track[i]->track == p->track &&
		    v->track[i]->name == name) {
			*out = i;
			return 0;
		}
	return make ? make_track(v, TRACK_COUNTER, p->track, NO_TRACK, name, out) : 0;
}

static int of_gpu(struct tile_view *v, const struct piece *p, bool make, uint32_t out[ROUTES])
{
	struct way *w = &v->way[p->track];
	int n = 0, err = 0;

	if (w->gpu == NO_TRACK)
		err = shared_track(v, TRACK_GPU, p->track, NO_TRACK, make, &w->gpu);
	if (!err && w->own == NO_TRACK && make)
		err = make_track(v, TRACK_STREAM, p->track, w->gpu, 0, &w->own);
	if (!err && w->why == NO_TRACK && v->calls)
		err = shared_track(v, TRACK_WHY, p->track, w->gpu, make, &w->why);
	if (!err && p->class == TILE_COMM && w->comm == NO_TRACK)
		err = shared_track(v, TRACK_COMM, p->track, w->gpu, make, &w->comm);
	if (err)
		return err;
	if (w->own != NO_TRACK)
		out[n++] = w->own;
	if (w->gpu != NO_TRACK)
		out[n++] = w->gpu;
	if (w->comm != NO_TRACK && p->class == TILE_COMM)
		out[n++] = w->comm;
	return n;
}

int view_route(struct tile_view *v, const struct piece *p, bool make, uint32_t out[ROUTES])
{
	struct way *w = &v->way[p->track];
	int err = 0;

	out[0] = NO_TRACK;
	if (p->kind == EVENT_COUNTER) {
		err = counter_track(v, p, make, &out[0]);
	} else if (v->feed->track[p->track].device != TRACK_HOST) {
		return kind_is_gpu(p->kind) ? of_gpu(v, p, make, out) : 0;
	} else if (p->kind == EVENT_STEP) {
		if (w->step == NO_TRACK)
			err = shared_track(v, TRACK_STEP, p->track, NO_TRACK, make, &w->step);
		out[0] = w->step;
	} else {
		if (w->own == NO_TRACK && make)
			err = make_track(v, TRACK_THREAD, p->track, NO_TRACK, 0, &w->own);
		out[0] = w->own;
	}
	return err ? err : out[0] != NO_TRACK;
}

int tile_track(struct tile_view *v, uint32_t id, struct tile_track *out)
{
	int err = -ENOENT;

	pthread_mutex_lock(&v->lock);
	if (id && id <= v->tracks) {
		*out = v->track[id - 1]->pub;
		out->base_level = v->track[id - 1]->levels.base;
		err = 0;
	}
	pthread_mutex_unlock(&v->lock);
	return err;
}
