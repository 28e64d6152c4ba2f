/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples.c - adds samples up, with what their step and their GPU did then; see samples.h.
 *
 * A gap is known when it ends, maybe in a later stretch than the samples in it. So samples wait,
 * in order of thread and time, until no gap of their process can reach back to them.
 */
#include "insight/samples/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "insight/state.h"

#define WAITING   (1u << 20) /* samples that wait, at most */
#define HOLDER_NS 25000000u  /* the GIL's holder is sampled about when the thread waits */

/* --- parts of a step --- */

enum host_part insight_range_part(struct insight *in, uint32_t event)
{
	struct state_samples *x = &in->x->samples;
	const struct event *e = &in->t->event[event];
	uint8_t part;

	if (e->a == TRACE_OP && trace_op_backward(e))
		return HOST_PART_BACKWARD;
	if ((!x->parts && parts_new(&x->parts) < 0) ||
	    vec_room0(&x->range_part, &x->range_room, (size_t)e->name + 1, 1) < 0)
		return HOST_PARTS;
	part = x->range_part[e->name];
	if (!part)
		part = (uint8_t)(parts_range(x->parts, trace_text(in->t, e->name)) + 1);
	x->range_part[e->name] = part;
	if (part - 1 < HOST_PARTS)
		return part - 1;
	return e->a == TRACE_MODULE ? HOST_PART_FORWARD : HOST_PARTS;
}

static enum host_part part_of_ranges(struct insight *in, uint32_t event)
{
	enum host_part part = HOST_PARTS;

	for (uint32_t up = in->link[event]; up && part == HOST_PARTS; up = in->link[up - 1])
		if (in->t->event[up - 1].kind == EVENT_RANGE)
			part = insight_range_part(in, up - 1);
	return part;
}

enum host_part insight_stack_part(struct insight *in, uint32_t stack)
{
	struct state_samples *x = &in->x->samples;
	struct stack_row s = trace_stack(in->t, stack);
	enum host_part part = HOST_PARTS;

	if ((!x->parts && parts_new(&x->parts) < 0) ||
	    vec_room0(&x->stack_part, &x->stack_room, (size_t)stack + 1, 1) < 0)
		return HOST_PARTS;
	if (x->stack_part[stack])
		return x->stack_part[stack] - 1;
	for (uint32_t i = 0; i < s.n && part == HOST_PARTS; i++) {
		const struct stack_frame *f = &s.frame[i];

		if (!strcmp(trace_text(in->t, f->name), "<module>")) /* an import */
			continue;
		if (f->kind == FRAME_PYTHON)
			part = parts_frame(x->parts, trace_text(in->t, f->file),
					   trace_text(in->t, f->name));
		if (part == HOST_PARTS && f->flags & FRAME_USER)
			part = parts_function(x->parts, trace_text(in->t, f->name));
	}
	x->stack_part[stack] = (uint8_t)(part + 1);
	return part;
}

/* What the program or its framework marked goes before what its functions are called. */
static enum host_part part_of(struct insight *in, uint32_t event)
{
	const struct event *e = &in->t->event[event];
	enum host_part part = part_of_ranges(in, event);

	if (part == HOST_PARTS)
		part = insight_stack_part(in, (uint32_t)e->a < in->t->stacks ? (uint32_t)e->a : 0);
	if (part != HOST_PARTS)
		return part;
	return insight_step_at(in, in->t->track[e->track].process, e->start_ns) ? HOST_PART_REST
										: HOST_PART_OUTSIDE;
}

/* --- those that wait --- */

static int sample_cmp(const void *a, const void *b)
{
	const struct state_sample *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* The first of the thread that was taken at ns or later; of a later thread if there is none. */
static size_t sample_from(const struct state_samples *x, uint32_t track, uint64_t ns)
{
	struct state_sample key = { .track = track, .ns = ns };
	size_t lo = 0, hi = x->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (sample_cmp(&x->v[mid], &key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int take(struct insight *in, uint32_t event)
{
	struct state_samples *x = &in->x->samples;
	const struct event *e = &in->t->event[event];

	if (vec_room(&x->v, &x->cap, x->n + 1, sizeof(*x->v)) < 0)
		return -ENOMEM;
	x->v[x->n++] = (struct state_sample){
		.ns = e->start_ns,
		.dur_ns = e->dur_ns,
		.b = e->b,
		.track = e->track,
		.stack = e->a < in->t->stacks ? (uint32_t)e->a : 0,
		.part = (uint8_t)part_of(in, event),
	};
	in->samples.count++;
	if (!in->samples.first_ns || e->start_ns < in->samples.first_ns)
		in->samples.first_ns = e->start_ns;
	if (e->start_ns > in->samples.last_ns)
		in->samples.last_ns = e->start_ns;
	return 0;
}

int insight_samples_take(struct insight *in)
{
	struct state_samples *x = &in->x->samples;
	int err = 0;

	if (!in->kinds[EVENT_SAMPLE])
		return 0;
	if (!x->parts)
		err = parts_new(&x->parts);
	for (size_t i = 0; i < in->t->events && !err; i++)
		if (in->t->event[i].kind == EVENT_SAMPLE && event_counts(&in->t->event[i]))
			err = take(in, (uint32_t)i);
	if (x->n)
		qsort(x->v, x->n, sizeof(*x->v), sample_cmp);
	return err;
}

/* --- gaps of a GPU --- */

void samples_gap(struct insight *in, uint32_t process, uint32_t track, uint64_t from, uint64_t to,
		 enum idle_cause cause)
{
	struct state_samples *x = &in->x->samples;
	const struct trace *t = in->t;
	bool one = track != UINT32_MAX;

	if (!x->n)
		return;
	for (size_t i = one ? sample_from(x, track, from) : 0; i < x->n; i++) {
		struct state_sample *s = &x->v[i];

		if (one && (s->track != track || s->ns >= to))
			return;
		if (s->ns < from) {
			i = sample_from(x, s->track, from) - 1;
			continue;
		}
		if (s->ns >= to || t->track[s->track].process != process) {
			i = sample_from(x, s->track + 1, 0) - 1; /* the next thread */
			continue;
		}
		if (!s->gap)
			s->gap = (uint8_t)(cause + 1);
	}
}

/* --- adding up --- */

static uint32_t track_of(struct insight *in, uint32_t process, uint32_t tid)
{
	struct state_samples *x = &in->x->samples;
	const struct trace *t = in->t;

	for (; x->tracks < t->tracks; x->tracks++) {
		const struct trace_track *l = &t->track[x->tracks];

		if (l->device == TRACK_HOST && l->stream < UINT32_MAX &&
		    map_put(&x->tid, (uint64_t)l->process << 32 | l->stream, x->tracks + 1) < 0)
			break;
	}
	return (uint32_t)map_get(&x->tid, (uint64_t)process << 32 | tid) - 1;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The stack of the thread that held the GIL meanwhile; 0: not known. */
static uint32_t holder_of(struct insight *in, const struct state_sample *s)
{
	struct state_samples *x = &in->x->samples;
	uint32_t tid = sample_detail(s->b), stack = 0;
	uint64_t best = s->dur_ns > HOLDER_NS ? s->dur_ns : HOLDER_NS;
	uint32_t track = tid ? track_of(in, in->t->track[s->track].process, tid) : UINT32_MAX;
	size_t i = track == UINT32_MAX ? x->n : sample_from(x, track, s->ns);

	for (size_t k = i ? i - 1 : i; track != UINT32_MAX && k <= i && k < x->n; k++) {
		if (x->v[k].track != track || apart(x->v[k].ns, s->ns) > best)
			continue;
		best = apart(x->v[k].ns, s->ns);
		stack = x->v[k].stack;
	}
	return stack;
}

uint32_t insight_gil_holder(struct insight *in, const struct event *e)
{
	return holder_of(
		in, &(struct state_sample){
			    .ns = e->start_ns, .dur_ns = e->dur_ns, .b = e->b, .track = e->track });
}

static bool same_row(const struct sample_row *a, const struct sample_row *b)
{
	return a->track == b->track && a->stack == b->stack && a->holder == b->holder &&
	       a->state == b->state && a->flags == b->flags && a->part == b->part &&
	       a->gap == b->gap;
}

static int add_up(struct insight *in, const struct state_sample *s)
{
	struct state_samples *x = &in->x->samples;
	struct samples *to = &in->samples;
	struct sample_row key = { .process = in->t->track[s->track].process,
				  .track = s->track,
				  .stack = s->stack,
				  .state = (uint8_t)sample_state(s->b),
				  .flags = sample_flags(s->b),
				  .part = s->part,
				  .gap = s->gap };
	uint64_t hash;
	uint32_t i;

	if (key.flags & SAMPLE_HOLDER)
		return 0;
	if (key.state == SAMPLE_GIL)
		key.holder = holder_of(in, s);
	else if (key.state == SAMPLE_RUNNABLE)
		key.holder = sample_detail(s->b);
	hash = hash_mix(hash_mix((uint64_t)key.track << 32 | key.stack, key.holder),
			(uint64_t)key.state << 24 | (uint64_t)key.flags << 16 |
				(uint64_t)key.part << 8 | key.gap);
	for (size_t at = 0; lookup_next(&x->row, hash, &at, &i);)
		if (same_row(&to->row[i], &key))
			goto add;
	i = (uint32_t)to->rows;
	if (vec_more(&to->row, to->rows, sizeof(*to->row)) < 0 || lookup_put(&x->row, hash, i) < 0)
		return -ENOMEM;
	to->row[to->rows++] = key;
add:
	to->row[i].count++;
	to->row[i].ns += (double)s->dur_ns;
	to->row[i].ns2 += (double)s->dur_ns * (double)s->dur_ns;
	return 0;
}

/* Those that no gap reaches any more, or all. */
static int add_those(struct insight *in, bool all)
{
	struct state_samples *x = &in->x->samples;
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < x->n && !err; i++) {
		uint32_t process = in->t->track[x->v[i].track].process;

		x->v[i].done = all || x->v[i].ns < in->x->process[process].idle_ns;
		err = x->v[i].done ? add_up(in, &x->v[i]) : 0;
	}
	for (size_t i = 0; i < x->n; i++)
		if (!x->v[i].done)
			x->v[kept++] = x->v[i];
	x->n = kept;
	return err;
}

int insight_samples(struct insight *in)
{
	return add_those(in, in->x->samples.n > WAITING);
}

int insight_samples_end(struct insight *in)
{
	return add_those(in, true);
}

/* --- those whose events are gone --- */

bool samples_rolled(const struct trace *t, const struct trace_rolled *r, struct sample_row *out)
{
	struct sample_key k = sample_rolled_key(r->key);

	*out = (struct sample_row){ .process = t->track[r->track].process,
				    .track = r->track,
				    .stack = r->stack,
				    .holder = r->holder,
				    .state = (uint8_t)k.state,
				    .flags = k.holder ? SAMPLE_HOLDER : 0,
				    .part = k.part && k.part <= HOST_PARTS ? (uint8_t)(k.part - 1)
									   : HOST_PARTS,
				    .gap = k.gpu == SAMPLE_GPU_IDLE ? IDLE_OTHER + 1 : 0,
				    .count = r->count,
				    .ns = r->ns,
				    .ns2 = r->ns2 };
	return !k.holder;
}

int samples_add_rolled(struct insight *in)
{
	struct samples *to = &in->samples;
	struct sample_row row;

	for (size_t i = 0; i < in->t->rolleds; i++) {
		to->count += in->t->rolled[i].count;
		if (!samples_rolled(in->t, &in->t->rolled[i], &row))
			continue;
		if (vec_more(&to->row, to->rows, sizeof(*to->row)) < 0)
			return -ENOMEM;
		to->row[to->rows++] = row;
	}
	return 0;
}

void samples_state_free(struct state_samples *x)
{
	parts_free(x->parts);
	free(x->v);
	free(x->range_part);
	free(x->stack_part);
	map_fini(&x->tid);
	lookup_fini(&x->row);
}
