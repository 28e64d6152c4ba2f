/* SPDX-License-Identifier: Apache-2.0 */
/* view.c - opens and closes a view. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "tile/view.h"

int tile_open_feed(struct tile_view **out, struct feed *f, const struct tile_opts *o)
{
	struct tile_view *v = calloc(1, sizeof(*v));
	int err = -ENOMEM;

	if (!v) {
		f->free(f);
		return -ENOMEM;
	}
	pthread_mutex_init(&v->lock, NULL);
	v->feed = f;
	v->show = o->show;
	v->live = o->live;
	v->t0_ns = o->t0_ns;
	v->bytes_max = o->bytes_max ? o->bytes_max : TILE_BYTES_MAX;
	v->scratch = malloc((LEVELS_SCRATCH + 2 * TILE_CELLS) * sizeof(*v->scratch));
	if (v->scratch && names_new(&v->classes, NULL) == 0 && why_new(&v->why) == 0)
		err = view_names_init(v);
	err = err ? err : f->refresh(f);
	if (!err && !o->later)
		err = view_build(v, UINT64_MAX);
	v->unread = o->later;
	if (err < 0) {
		tile_close(v);
		return err;
	}
	*out = v;
	return 0;
}

int tile_open_store(struct tile_view **out, struct store *st, const struct tile_opts *o)
{
	struct feed *f;
	int err = feed_store(&f, st, o->process, o->processes);

	return err < 0 ? err : tile_open_feed(out, f, o);
}

void tile_close(struct tile_view *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->tracks; i++) {
		levels_fini(&v->track[i]->levels);
		free(v->track[i]->gap);
		free(v->track[i]);
	}
	free(v->track);
	free(v->name);
	free(v->by_source);
	free(v->scratch);
	view_build_fini(v);
	why_free(v->why);
	names_free(v->classes);
	v->feed->free(v->feed);
	pthread_mutex_destroy(&v->lock);
	free(v);
}

int tile_read(struct tile_view *v, uint64_t ns)
{
	int more;

	pthread_mutex_lock(&v->lock);
	more = view_build(v, clock_mono_ns() + ns);
	v->unread = v->unread && more;
	pthread_mutex_unlock(&v->lock);
	return more;
}

int tile_refresh(struct tile_view *v)
{
	int err = 0;

	pthread_mutex_lock(&v->lock);
	if (v->unread) /* what is new is added when the rest was read */
		err = view_build(v, UINT64_MAX);
	err = err ? err : v->feed->refresh(v->feed);
	err = err ? err : view_build(v, UINT64_MAX);
	v->unread = v->unread && err;
	pthread_mutex_unlock(&v->lock);
	return err;
}

void tile_ended(struct tile_view *v)
{
	pthread_mutex_lock(&v->lock);
	v->live = false;
	pthread_mutex_unlock(&v->lock);
}

void tile_about(struct tile_view *v, struct tile_about *out)
{
	pthread_mutex_lock(&v->lock);
	*out = (struct tile_about){ .t0_ns = v->t0_ns,
				    .t1_ns = v->t1_ns,
				    .events = v->events,
				    .lost = v->feed->lost,
				    .left = v->left,
				    .gone = v->gone,
				    .read = v->reading.events,
				    .to_read = v->reading.of,
				    .partial = v->unread,
				    .tracks = v->tracks,
				    .names = v->names,
				    .bytes = v->bytes,
				    .live = v->live };
	pthread_mutex_unlock(&v->lock);
}
