/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_profile.c - samples of threads as OpenTelemetry's profiles (profiles.proto of v1development,
 * by its public field numbers; the schema is not stable yet).
 *
 * All tables are in one dictionary, which is written last; the first entry of each is empty, as the
 * schema asks. A profile has one value a sample, so there are two: of counts and of time. GPU work is
 * not in it.
 */
#include <errno.h>

#include "export/host.h"

enum { RESOURCE_PROFILES = 1, DICTIONARY = 2 };
enum { SCOPE_PROFILES = 2, PROFILES = 2 };
enum { SAMPLE_TYPE = 1, SAMPLES = 2, TIME = 3, DURATION = 4, PERIOD_TYPE = 5, PERIOD = 6 };
enum {
	MAPPINGS = 1,
	LOCATIONS = 2,
	FUNCTIONS = 3,
	LINKS = 4,
	STRINGS = 5,
	ATTRIBUTES = 6,
	STACKS = 7
};
enum { S_EMPTY, S_SAMPLES, S_COUNT, S_TIME, S_NANOSECONDS, S_THREAD, S_STATE, S_FIXED };

struct otlp {
	struct walk *w;
	struct host h;
	struct pb_out profile, location, function, string, attribute, stack;
	struct map known; /* stacks: their number */
	uint32_t strings, attributes, stacks, states[SAMPLE_STATES];
	int err;
};

static uint32_t put_string(struct otlp *o, const char *text)
{
	sink_pb_text(&o->string, STRINGS, text);
	return o->strings++;
}

static uint32_t put_attribute(struct otlp *o, uint32_t key, const char *text)
{
	struct pb_out *m = &o->attribute;
	size_t at = pb_open(m, ATTRIBUTES), value;

	pb_put_u64(m, 1, key);
	value = pb_open(m, 2);
	sink_pb_text(m, 1, text);
	pb_close(m, value);
	pb_close(m, at);
	return o->attributes++;
}

/* Numbers of places and functions begin at 0, and the tables' at 1. */
static uint32_t function_of(struct otlp *o, const struct stack_frame *f)
{
	uint32_t function, name, file = 0;
	size_t at;
	bool first;

	function = host_function(&o->h, f, &first);
	if (function == UINT32_MAX || !first)
		return function + 1;
	name = put_string(o, host_name(o->w->t, f->name));
	if (f->file)
		file = put_string(o, host_name(o->w->t, f->file));
	at = pb_open(&o->function, FUNCTIONS);
	pb_put_u64(&o->function, 1, name);
	pb_put_u64(&o->function, 2, name);
	pb_put_u64(&o->function, 3, file);
	pb_close(&o->function, at);
	return function + 1;
}

/* A line for each function that is inlined there, then one for the function that has it. */
static uint32_t location(struct otlp *o, const struct stack_frame *f, uint32_t n)
{
	struct pb_out *m = &o->location;
	size_t at, line;
	bool first;
	uint32_t place = host_place(&o->h, f, n, &first);

	if (place == UINT32_MAX || !first)
		return place + 1;
	at = pb_open(m, LOCATIONS);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t function = function_of(o, &f[i]);

		line = pb_open(m, 3);
		pb_put_u64(m, 1, function);
		pb_put_u64(m, 2, f[i].line);
		pb_close(m, line);
	}
	pb_close(m, at);
	return place + 1;
}

static uint32_t put_stack(struct otlp *o, uint32_t stack)
{
	struct stack_row s = trace_stack(o->w->t, stack);
	uint64_t *known = s.n ? map_at(&o->known, stack) : NULL;
	size_t at, packed;

	if (s.n && !known)
		o->err = -ENOMEM;
	if (!known || *known)
		return known ? (uint32_t)*known : 0;
	*known = o->stacks;
	at = pb_open(&o->stack, STACKS);
	packed = pb_open(&o->stack, 1);
	for (uint32_t i = 0, some; i < s.n; i += some) {
		uint32_t l;

		some = host_inlined(&s.frame[i], s.n - i);
		l = location(o, &s.frame[i], some);
		if (!l)
			o->err = -ENOMEM;
		pb_put_varint(&o->stack, l);
	}
	pb_close(&o->stack, packed);
	pb_close(&o->stack, at);
	return o->stacks++;
}

static void put_type(struct pb_out *m, uint32_t field, uint32_t type, uint32_t unit)
{
	size_t at = pb_open(m, field);

	pb_put_u64(m, 1, type);
	pb_put_u64(m, 2, unit);
	pb_close(m, at);
}

/* One of the two values that a sample has: a profile has one. */
static void put_samples(struct otlp *o, bool time)
{
	struct pb_out *m = &o->profile;
	uint32_t thread = 0, track = UINT32_MAX;
	char room[160];

	for (size_t i = 0; i < o->h.rows; i++) {
		const struct host_row *r = &o->h.row[i];
		size_t at = pb_open(m, SAMPLES), packed;

		if (r->track != track)
			thread = put_attribute(o, S_THREAD,
					       host_thread(o->w->t, r->track, room, sizeof(room)));
		track = r->track;
		if (!o->states[r->state])
			o->states[r->state] = put_attribute(
				o, S_STATE, sample_state_word((enum sample_state)r->state));
		pb_put_u64(m, 1, put_stack(o, r->stack));
		packed = pb_open(m, 2);
		pb_put_varint(m, thread);
		pb_put_varint(m, o->states[r->state]);
		pb_close(m, packed);
		packed = pb_open(m, 4);
		pb_put_varint(m, time ? r->ns : r->count);
		pb_close(m, packed);
		pb_close(m, at);
	}
}

static void put_when(struct otlp *o)
{
	const struct trace *t = o->w->t;
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < t->events; i++) {
		const struct event *e = &t->event[i];

		if (e->kind != EVENT_SAMPLE)
			continue;
		first = e->start_ns < first ? e->start_ns : first;
		last = e->start_ns + e->dur_ns > last ? e->start_ns + e->dur_ns : last;
	}
	if (last <= first)
		return;
	if (t->files && t->file[0].wall_offset_ns)
		pb_put_fixed64(&o->profile, TIME, first + (uint64_t)t->file[0].wall_offset_ns);
	pb_put_u64(&o->profile, DURATION, last - first);
}

static void put_profiles(struct otlp *o)
{
	struct pb_out *m = &o->profile;
	size_t scope = pb_open(m, SCOPE_PROFILES), at;

	for (int time = 0; time < 2; time++) {
		at = pb_open(m, PROFILES);
		put_type(m, SAMPLE_TYPE, time ? S_TIME : S_SAMPLES, time ? S_NANOSECONDS : S_COUNT);
		put_samples(o, time);
		put_when(o);
		put_type(m, PERIOD_TYPE, S_TIME, S_NANOSECONDS);
		pb_put_u64(m, PERIOD, o->h.period_ns);
		pb_close(m, at);
	}
	pb_close(m, scope);
	sink_pb(o->w->s, RESOURCE_PROFILES, m);
	m->len = 0;
}

/* The first of each table, and the strings that are always there. */
static void begin(struct otlp *o)
{
	static const char *const fixed[S_FIXED] = {
		"", "samples", "count", "time", "nanoseconds", "thread.name", "thread.state"
	};

	for (size_t i = 0; i < S_FIXED; i++)
		put_string(o, fixed[i]);
	pb_close(&o->profile, pb_open(&o->profile, MAPPINGS)); /* kept for the dictionary */
	pb_close(&o->profile, pb_open(&o->profile, LINKS));
	pb_put_raw(&o->location, o->profile.data, o->profile.len);
	o->profile.len = 0;
	pb_close(&o->location, pb_open(&o->location, LOCATIONS));
	pb_close(&o->function, pb_open(&o->function, FUNCTIONS));
	pb_close(&o->attribute, pb_open(&o->attribute, ATTRIBUTES));
	pb_close(&o->stack, pb_open(&o->stack, STACKS));
	o->attributes = o->stacks = 1;
}

static void put_dictionary(struct otlp *o)
{
	struct pb_out *const table[] = { &o->location, &o->function, &o->string, &o->attribute,
					 &o->stack };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		o->err = o->err ? o->err : table[i]->err;
		if (!table[i]->err)
			pb_put_raw(&o->profile, table[i]->data, table[i]->len);
		pb_free(table[i]);
	}
	o->err = o->err ? o->err : o->profile.err;
	if (!o->err)
		sink_pb(o->w->s, DICTIONARY, &o->profile);
	pb_free(&o->profile);
}

int export_otlp_profile(struct walk *w)
{
	struct otlp o = { .w = w };

	o.err = host_init(&o.h, w);
	if (o.err < 0)
		return o.err;
	w->n->left = w->t->events - w->n->events;
	w->n->stacks = o.h.rows;
	begin(&o);
	put_profiles(&o);
	put_dictionary(&o);
	host_fini(&o.h);
	map_fini(&o.known);
	return o.err ? o.err : w->s->err;
}
