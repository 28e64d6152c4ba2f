/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof.c - GPU time by stack as a pprof profile (profile.proto, by its public field numbers).
 *
 * Everything is written as it is first met: a frame is a string, a function and a location of
 * one id, before the sample that uses it. Only the ids are kept.
 */
#include <errno.h>
#include <stdlib.h>

#include "export/stacks.h"

enum { SAMPLE_TYPE = 1, SAMPLE = 2, LOCATION = 4, FUNCTION = 5, STRING = 6, TIME = 9 };
enum { DURATION = 10, PERIOD_TYPE = 11, PERIOD = 12, DEFAULT = 14 };
enum { S_EMPTY, S_GPU_TIME, S_NANOSECONDS, S_EVENTS, S_COUNT, STRINGS };

struct pprof {
	uint32_t *id;   /* owned: by name of the trace, then by made frame; 0: not met yet */
	uint32_t names; /* of the trace */
	uint32_t last;  /* id */
};

static void put_string(struct sink *s, const char *text)
{
	char room[4100];
	struct pb head;

	text = sink_utf8(text, room, sizeof(room));
	head.used = 0;
	pb_varint(&head, STRING << 3 | 2);
	pb_varint(&head, strlen(text));
	sink_put(s, head.buf, head.used);
	sink_str(s, text);
}

static void put_u64(struct sink *s, uint32_t field, uint64_t v)
{
	struct pb m;

	m.used = 0;
	pb_u64(&m, field, v);
	sink_put(s, m.buf, m.used);
}

static void put_type(struct sink *s, uint32_t field, uint32_t type, uint32_t unit)
{
	struct pb m;

	m.used = 0;
	pb_u64(&m, 1, type);
	pb_u64(&m, 2, unit);
	sink_pb(s, field, &m);
}

/* A frame's location, written before its first use. */
static uint32_t location(struct walk *w, struct pprof *p, uint32_t frame)
{
	uint32_t *id = &p->id[frame & STACKS_MADE ? p->names + (frame & ~STACKS_MADE) : frame];
	struct pb m, line;
	char room[64];

	if (*id)
		return *id;
	*id = ++p->last;
	put_string(w->s, stacks_text(w, frame, room, sizeof(room)));
	m.used = 0; /* function: id, name, system name */
	pb_u64(&m, 1, *id);
	pb_u64(&m, 2, STRINGS + *id - 1);
	pb_u64(&m, 3, STRINGS + *id - 1);
	sink_pb(w->s, FUNCTION, &m);
	line.used = 0;
	pb_u64(&line, 1, *id);
	m.used = 0; /* location: id, line */
	pb_u64(&m, 1, *id);
	pb_msg(&m, 4, &line);
	sink_pb(w->s, LOCATION, &m);
	return *id;
}

static int sample(struct walk *w, void *arg, const uint32_t *frame, size_t depth,
		  const struct node *leaf)
{
	struct pb m, ids;

	ids.used = 0;
	for (size_t i = 0; i < depth; i++)
		pb_varint(&ids, location(w, arg, frame[i]));
	m.used = 0;
	pb_msg(&m, 1, &ids);
	ids.used = 0;
	pb_varint(&ids, leaf->ns);
	pb_varint(&ids, leaf->count);
	pb_msg(&m, 2, &ids);
	sink_pb(w->s, SAMPLE, &m);
	return w->s->err;
}

static void span(const struct trace *t, uint64_t *first, uint64_t *last)
{
	*first = UINT64_MAX;
	*last = 0;
	for (size_t i = 0; i < t->events; i++) {
		uint64_t end = t->event[i].start_ns + t->event[i].dur_ns;

		*first = t->event[i].start_ns < *first ? t->event[i].start_ns : *first;
		*last = end > *last ? end : *last;
	}
}

int export_pprof(struct walk *w)
{
	static const char *const strings[STRINGS] = { "", "gpu_time", "nanoseconds", "gpu_events",
						      "count" };
	struct pprof p = { .names = (uint32_t)w->t->names };
	uint64_t first, last;
	int err;

	p.id = calloc(w->t->names + stacks_made(w->t) + 1, sizeof(*p.id));
	if (!p.id)
		return -ENOMEM;
	for (size_t i = 0; i < STRINGS; i++)
		put_string(w->s, strings[i]);
	put_type(w->s, SAMPLE_TYPE, S_GPU_TIME, S_NANOSECONDS);
	put_type(w->s, SAMPLE_TYPE, S_EVENTS, S_COUNT);
	put_type(w->s, PERIOD_TYPE, S_GPU_TIME, S_NANOSECONDS);
	put_u64(w->s, PERIOD, 1);
	put_u64(w->s, DEFAULT, S_GPU_TIME);
	span(w->t, &first, &last);
	if (last > first) {
		put_u64(w->s, DURATION, last - first);
		if (w->t->files && w->t->file[0].wall_offset_ns)
			put_u64(w->s, TIME, first + (uint64_t)w->t->file[0].wall_offset_ns);
	}
	err = stacks_each(w, sample, &p);
	free(p.id);
	return err;
}
