/* SPDX-License-Identifier: Apache-2.0 */
/* tilekit.h - a timeline of a trace, for tests: its events, track by track, as blocks. */
#ifndef AON_TILEKIT_H
#define AON_TILEKIT_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/trace.h"
#include "tile/view.h"

struct from_trace {
	struct feed feed;
	const struct trace *t;    /* borrowed */
	size_t *first;            /* owned, by block: its first event */
	struct event_strips *out; /* owned */
};

static int feed_trace_refresh(struct feed *f)
{
	(void)f;
	return 0; /* a trace does not grow */
}

static int feed_trace_get(struct feed *f, const struct feed_block *b, bool keep,
			  struct event_columns *out)
{
	struct from_trace *s = (struct from_trace *)f;
	const struct event *ev = &s->t->event[s->first[b->id - 1]];

	(void)keep; /* it is in memory as it is */
	*out = event_strips(s->out, ev, b->events);
	return 0;
}

static int feed_trace_event(struct feed *f, const struct feed_block *b, uint32_t place,
			    struct event *out)
{
	struct from_trace *s = (struct from_trace *)f;

	if (place >= b->events)
		return -ENOENT;
	*out = s->t->event[s->first[b->id - 1] + place];
	return 0;
}

static const char *feed_trace_text(struct feed *f, uint32_t name)
{
	return trace_text(((struct from_trace *)f)->t, name);
}

static int feed_trace_geo(struct feed *f, uint32_t id, struct geo *out)
{
	const struct trace *t = ((struct from_trace *)f)->t;

	if (id >= t->geos)
		return -ENOENT;
	*out = t->geo[id];
	return 0;
}

static void feed_trace_free(struct feed *f)
{
	struct from_trace *s = (struct from_trace *)f;

	free(s->first);
	free(s->out);
	feed_fini(f);
	free(s);
}

static int feed_trace_tracks(struct from_trace *s)
{
	const struct trace *t = s->t;
	int err = 0;

	for (size_t i = 0; i < t->processes; i++) {
		struct feed_process *p = feed_add_process(&s->feed);

		if (!p)
			return -ENOMEM;
		p->id = (uint32_t)i + 1;
		p->pid = (uint32_t)t->process[i].pid;
		p->rank = t->file[t->process[i].file].rank;
		snprintf(p->comm, sizeof(p->comm), "%s", trace_text(t, t->process[i].name));
	}
	for (uint32_t i = 0; i < t->tracks && !err; i++) {
		const struct trace_track *l = &t->track[i];
		struct feed_track to = { .process = l->process,
					 .device = l->device,
					 .stream = l->stream,
					 .name = l->name };

		if (l->device != TRACK_HOST)
			to.device = t->device[l->device].device;
		err = feed_set_track(&s->feed, i, &to);
	}
	return err;
}

static int feed_trace_blocks(struct from_trace *s)
{
	const struct trace *t = s->t;
	int err = 0;

	for (size_t l = 0; l < t->tracks && !err; l++)
		for (size_t i = t->track_first[l]; i < t->track_first[l + 1] && !err;) {
			size_t end = i + FEED_BLOCK;
			struct feed_block b = { .id = s->feed.blocks + 1,
						.process = t->track[l].process + 1,
						.t0_ns = t->event[i].start_ns };

			end = end < t->track_first[l + 1] ? end : t->track_first[l + 1];
			b.events = (uint32_t)(end - i);
			s->first[s->feed.blocks] = i;
			for (; i < end; i++)
				if (event_end(&t->event[i]) > b.t1_ns)
					b.t1_ns = event_end(&t->event[i]);
			err = feed_add_block(&s->feed, &b);
		}
	return err;
}

static int feed_trace(struct feed **out, const struct trace *t)
{
	struct from_trace *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		return -ENOMEM;
	s->feed.refresh = feed_trace_refresh;
	s->feed.get = feed_trace_get;
	s->feed.event = feed_trace_event;
	s->feed.text = feed_trace_text;
	s->feed.geo = feed_trace_geo;
	s->feed.free = feed_trace_free;
	s->feed.imported = true;
	s->t = t;
	s->first = calloc(t->events / FEED_BLOCK + t->tracks + 1, sizeof(*s->first));
	s->out = malloc(sizeof(*s->out));
	if (s->first && s->out)
		err = feed_trace_tracks(s);
	err = err ? err : feed_trace_blocks(s);
	for (size_t i = 0; i < t->files; i++)
		s->feed.lost += t->file[i].lost;
	if (err < 0) {
		feed_trace_free(&s->feed);
		return err;
	}
	*out = &s->feed;
	return 0;
}

/* `t` is borrowed and sealed. */
static int tile_open_trace(struct tile_view **out, const struct trace *t, const struct tile_opts *o)
{
	struct feed *f;
	int err = feed_trace(&f, t);

	return err < 0 ? err : tile_open_feed(out, f, o);
}

#endif
