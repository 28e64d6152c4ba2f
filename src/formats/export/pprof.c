/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof.c - GPU time by stack, and samples of threads, as a pprof profile (profile.proto, by its
 * public field numbers).
 *
 * Everything is written as it is first met: a frame is a string, a function and a location of
 * one id, before the sample that uses it. Only the ids are kept. A profile has the values of
 * what there is: of GPU work, of samples, or of both, each 0 for the other's.
 */
#include <errno.h>
#include <stdlib.h>

#include "export/host.h"
#include "export/stacks.h"

enum { SAMPLE_TYPE = 1, SAMPLE = 2, LOCATION = 4, FUNCTION = 5, STRING = 6, TIME = 9 };
enum { DURATION = 10, PERIOD_TYPE = 11, PERIOD = 12, DEFAULT = 14 };
enum {
	S_EMPTY,
	S_GPU_TIME,
	S_NANOSECONDS,
	S_EVENTS,
	S_COUNT,
	S_SAMPLES,
	S_TIME,
	S_THREAD,
	S_STATE
};
enum { STRINGS = S_STATE + 1 };

struct pprof {
	uint32_t *id;   /* owned: by name of the trace, then by made frame; 0: not met yet */
	uint32_t names; /* of the trace */
	uint32_t last;  /* id of a location, of GPU work also of its function */
	uint32_t strings;
	bool gpu, host; /* what there is */
	struct host threads;
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

/* Its index. */
static uint32_t put_string(struct sink *s, struct pprof *p, const char *text)
{
	sink_pb_text(&p->m, STRING, text);
	put_field(s, &p->m);
	return p->strings++;
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

static void put_function(struct sink *s, struct pb_out *m, uint32_t id, uint32_t name,
			 uint32_t file)
{
	pb_put_u64(m, 1, id); /* id, name, system name, file */
	pb_put_u64(m, 2, name);
	pb_put_u64(m, 3, name);
	if (file)
		pb_put_u64(m, 4, file);
	put_msg(s, m, FUNCTION);
}

static void put_line(struct pb_out *m, uint32_t function, uint32_t line)
{
	size_t at = pb_open(m, 4);

	pb_put_u64(m, 1, function);
	if (line)
		pb_put_u64(m, 2, line);
	pb_close(m, at);
}

/* A frame's location, written before its first use. */
static uint32_t location(struct walk *w, struct pprof *p, uint32_t frame)
{
	uint32_t *id = &p->id[frame & STACKS_MADE ? p->names + (frame & ~STACKS_MADE) : frame];
	struct pb_out *m = &p->m;
	char room[64];
	uint32_t name;

	if (*id)
		return *id;
	*id = ++p->last;
	name = put_string(w->s, p, stacks_text(w, frame, room, sizeof(room)));
	put_function(w->s, m, *id, name, 0);
	pb_put_u64(m, 1, *id);
	put_line(m, *id, 0);
	put_msg(w->s, m, LOCATION);
	return *id;
}

/* Functions of threads have numbers of their own, behind those that GPU work can have. */
static uint32_t beyond(const struct walk *w, const struct pprof *p)
{
	return p->names + stacks_made(w->t) + 1;
}

/* 0: no memory. */
static uint32_t host_function_id(struct walk *w, struct pprof *p, const struct stack_frame *f)
{
	uint32_t function, name, file = 0;
	bool first;

	function = host_function(&p->threads, f, &first);
	if (function == UINT32_MAX)
		return 0;
	if (first) {
		name = put_string(w->s, p, host_name(w->t, f->name));
		if (f->file)
			file = put_string(w->s, p, host_name(w->t, f->file));
		put_function(w->s, &p->m, beyond(w, p) + function, name, file);
	}
	return beyond(w, p) + function;
}

/* A place has a line for each function that is inlined there, then one for the function that has it. */
static uint32_t host_location(struct walk *w, struct pprof *p, const struct stack_frame *f,
			      uint32_t n)
{
	uint32_t function[STACK_FRAMES_MAX], place;
	bool first;

	place = host_place(&p->threads, f, n, &first);
	if (place == UINT32_MAX || !first)
		return place == UINT32_MAX ? 0 : beyond(w, p) + place;
	for (uint32_t i = 0; i < n; i++) {
		function[i] = host_function_id(w, p, &f[i]);
		if (!function[i])
			return 0;
	}
	pb_put_u64(&p->m, 1, beyond(w, p) + place);
	for (uint32_t i = 0; i < n; i++)
		put_line(&p->m, function[i], f[i].line);
	put_msg(w->s, &p->m, LOCATION);
	return beyond(w, p) + place;
}

static void put_label(struct pb_out *m, uint32_t key, uint32_t text)
{
	size_t at = pb_open(m, 3);

	pb_put_u64(m, 1, key);
	pb_put_u64(m, 2, text);
	pb_close(m, at);
}

static void put_values(const struct pprof *p, struct pb_out *m, const uint64_t v[4])
{
	size_t at = pb_open(m, 2);

	for (size_t i = 0; i < 4; i++)
		if (i < 2 ? p->gpu : p->host)
			pb_put_varint(m, v[i]);
	pb_close(m, at);
}

/* The text of a thread is written anew for each, that of a state once. */
static int put_threads(struct walk *w, struct pprof *p)
{
	uint32_t state[SAMPLE_STATES] = { 0 }, thread = 0, track = UINT32_MAX;
	struct pb_out *m = &p->sample;
	char room[160];

	for (size_t i = 0; i < p->threads.rows && !w->s->err; i++) {
		const struct host_row *r = &p->threads.row[i];
		struct stack_row s = trace_stack(w->t, r->stack);
		size_t at = pb_open(m, 1);

		for (uint32_t k = 0, some; k < s.n; k += some) {
			some = host_inlined(&s.frame[k], s.n - k);
			pb_put_varint(m, host_location(w, p, &s.frame[k], some));
		}
		pb_close(m, at);
		if (r->track != track)
			thread = put_string(w->s, p,
					    host_thread(w->t, r->track, room, sizeof(room)));
		track = r->track;
		if (!state[r->state])
			state[r->state] =
				put_string(w->s, p, sample_state_word((enum sample_state)r->state));
		put_values(p, m, (const uint64_t[]){ 0, 0, r->count, r->ns });
		put_label(m, S_THREAD, thread);
		put_label(m, S_STATE, state[r->state]);
		put_msg(w->s, m, SAMPLE);
		w->n->stacks++;
	}
	return w->s->err;
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
	put_values(p, m, (const uint64_t[]){ leaf->ns, leaf->count, 0, 0 });
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

/* What each value is, and which one is looked at first. */
static void put_types(struct walk *w, struct pprof *p)
{
	uint32_t first = p->gpu ? S_GPU_TIME : S_TIME;

	if (p->gpu) {
		put_type(w->s, &p->m, SAMPLE_TYPE, S_GPU_TIME, S_NANOSECONDS);
		put_type(w->s, &p->m, SAMPLE_TYPE, S_EVENTS, S_COUNT);
	}
	if (p->host) {
		put_type(w->s, &p->m, SAMPLE_TYPE, S_SAMPLES, S_COUNT);
		put_type(w->s, &p->m, SAMPLE_TYPE, S_TIME, S_NANOSECONDS);
	}
	put_type(w->s, &p->m, PERIOD_TYPE, first, S_NANOSECONDS);
	put_u64(w->s, &p->m, PERIOD, p->gpu ? 1 : p->threads.period_ns);
	put_u64(w->s, &p->m, DEFAULT, first);
}

static bool has_work(const struct trace *t)
{
	for (size_t i = 0; i < t->events; i++)
		if (link_is_work(&t->event[i]))
			return true;
	return false;
}

int export_pprof(struct walk *w)
{
	static const char *const strings[STRINGS] = { "",           "gpu_time", "nanoseconds",
						      "gpu_events", "count",    "samples",
						      "time",       "thread",   "state" };
	struct pprof p = { .names = (uint32_t)w->t->names };
	uint64_t first, last;
	int err;

	p.id = calloc(w->t->names + stacks_made(w->t) + 1, sizeof(*p.id));
	err = p.id ? host_init(&p.threads, w) : -ENOMEM;
	if (err < 0)
		goto free_ids;
	p.host = p.threads.rows;
	p.gpu = !p.host || has_work(w->t);
	for (size_t i = 0; i < STRINGS; i++)
		put_string(w->s, &p, strings[i]);
	put_types(w, &p);
	span(w->t, &first, &last);
	if (last > first) {
		put_u64(w->s, &p.m, DURATION, last - first);
		if (w->t->files && w->t->file[0].wall_offset_ns)
			put_u64(w->s, &p.m, TIME, first + (uint64_t)w->t->file[0].wall_offset_ns);
	}
	err = stacks_each(w, sample, &p);
	err = err ? err : put_threads(w, &p);
	host_fini(&p.threads);
	pb_free(&p.sample);
	pb_free(&p.m);
free_ids:
	free(p.id);
	return err;
}
