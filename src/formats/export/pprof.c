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
	struct pb_out sample, m; /* under way; m: any other message */
};

/* A field of the profile itself, from a message that has it alone. */
static void put_field(struct sink *s, struct pb_out *m)
{
	if (m->err)
		s->err = s->err ? s->err : m->err;
	else
		fwrite_unlocked(m->data, 1, m->len, s->f);
	m->len = 0;
}

static void put_string(struct sink *s, struct pb_out *m, const char *text)
{
	sink_pb_text(m, STRING, text);
	put_field(s, m);
}

static void put_u64(struct sink *s, struct pb_out *m, uint32_t field, uint64_t v)
{
	pb_put_u64(m, field, v);
	put_field(s, m);
}

static void put_msg(struct sink *s, struct pb_out *m, uint32_t field)
{
	sink_pb(s, field, m);
	m->len = 0;
}

static void put_type(struct sink *s, struct pb_out *m, uint32_t field, uint32_t type, uint32_t unit)
{
	pb_put_u64(m, 1, type);
	pb_put_u64(m, 2, unit);
	put_msg(s, m, field);
}

/* A frame's location, written before its first use. */
static uint32_t location(struct walk *w, struct pprof *p, uint32_t frame)
{
	uint32_t *id = &p->id[frame & STACKS_MADE ? p->names + (frame & ~STACKS_MADE) : frame];
	struct pb_out *m = &p->m;
	char room[64];
	size_t line;

	if (*id)
		return *id;
	*id = ++p->last;
	put_string(w->s, m, stacks_text(w, frame, room, sizeof(room)));
	pb_put_u64(m, 1, *id); /* function: id, name, system name */
	pb_put_u64(m, 2, STRINGS + *id - 1);
	pb_put_u64(m, 3, STRINGS + *id - 1);
	put_msg(w->s, m, FUNCTION);
	pb_put_u64(m, 1, *id); /* location: id, line */
	line = pb_open(m, 4);
	pb_put_u64(m, 1, *id);
	pb_close(m, line);
	put_msg(w->s, m, LOCATION);
	return *id;
}

static int sample(struct walk *w, void *arg, const uint32_t *frame, size_t depth,
		  const struct stack_node *leaf)
{
	struct pprof *p = arg;
	struct pb_out *m = &p->sample;
	size_t at = pb_open(m, 1);

	for (size_t i = 0; i < depth; i++)
		pb_put_varint(m, location(w, p, frame[i]));
	pb_close(m, at);
	at = pb_open(m, 2);
	pb_put_varint(m, leaf->ns);
	pb_put_varint(m, leaf->count);
	pb_close(m, at);
	put_msg(w->s, m, SAMPLE);
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
		put_string(w->s, &p.m, strings[i]);
	put_type(w->s, &p.m, SAMPLE_TYPE, S_GPU_TIME, S_NANOSECONDS);
	put_type(w->s, &p.m, SAMPLE_TYPE, S_EVENTS, S_COUNT);
	put_type(w->s, &p.m, PERIOD_TYPE, S_GPU_TIME, S_NANOSECONDS);
	put_u64(w->s, &p.m, PERIOD, 1);
	put_u64(w->s, &p.m, DEFAULT, S_GPU_TIME);
	span(w->t, &first, &last);
	if (last > first) {
		put_u64(w->s, &p.m, DURATION, last - first);
		if (w->t->files && w->t->file[0].wall_offset_ns)
			put_u64(w->s, &p.m, TIME, first + (uint64_t)w->t->file[0].wall_offset_ns);
	}
	err = stacks_each(w, sample, &p);
	pb_free(&p.sample);
	pb_free(&p.m);
	free(p.id);
	return err;
}
