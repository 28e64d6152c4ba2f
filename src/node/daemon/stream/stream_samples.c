/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_samples.c - samples of a process's threads: those that wait to be stored, and their rollups.
 *
 *	samples[]   | rolled up, wait to be many | their windows are open | stored: for "now" alone |
 *	            0               samples_rolled               samples_n               samples_top
 */
#include <stdlib.h>

#include "agg/roll.h"
#include "base/vec.h"
#include "daemon/stream/stream_priv.h"
#include "model/sample_most.h"

#define SAMPLES_NS 120000000000ull /* for which a sample waits at most */
#define KEPT_NS \
	1000000000ull /* what it did is kept for so long behind the windows: for late samples */
#define HOLDER_NS 25000000u /* the GIL's holder is sampled about when the thread waits */
#define NEAR      64u       /* samples around one, among which that of the holder is */

void plant_stack(struct plant *pl, uint32_t stack, enum host_part part)
{
	if (stack && part < HOST_PARTS &&
	    vec_room0(&pl->stack_part, &pl->stack_parts, (size_t)stack + 1, 1) == 0)
		pl->stack_part[stack] = (uint8_t)(part + 1);
}

/* --- rollups --- */

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The stack of the thread that held the GIL meanwhile; 0: not known. */
static uint32_t holder_stack(const struct stream *s, uint32_t of)
{
	const struct event *e = &s->samples[of];
	uint32_t track = launchers_track_of(&s->launchers, sample_detail(e->b)), stack = 0;
	uint64_t best = e->dur_ns > HOLDER_NS ? e->dur_ns : HOLDER_NS;
	uint32_t from = of > NEAR ? of - NEAR : 0;
	uint32_t to = of + NEAR < s->samples_n ? of + NEAR : s->samples_n;

	for (uint32_t i = from; track && i < to; i++) {
		const struct event *x = &s->samples[i];

		if (x->track != track || apart(x->start_ns, e->start_ns) > best)
			continue;
		best = apart(x->start_ns, e->start_ns);
		stack = (uint32_t)x->a;
	}
	return stack;
}

static void roll_one(struct stream *s, const struct placed *p)
{
	const struct event *e = &s->samples[p->of];
	enum sample_state state = sample_state(e->b);
	struct sample_key key = { .state = state,
				  .gpu = (enum sample_gpu)p->gpu,
				  .holder = sample_flags(e->b) & SAMPLE_HOLDER,
				  .part = (uint8_t)(p->part + 1) };
	struct roll_sample x = { .start_ns = e->start_ns,
				 .dur_ns = e->dur_ns,
				 .track = e->track,
				 .stack = (uint32_t)e->a,
				 .key = sample_key(key) };

	if (state == SAMPLE_GIL)
		x.holder = holder_stack(s, p->of);
	else if (state == SAMPLE_RUNNABLE)
		x.holder = sample_detail(e->b);
	roll_sample(s->roll, &x, stream_hand_window, s);
}

void stream_roll_samples(struct stream *s, uint64_t before_ns)
{
	static struct placed at[SAMPLES_ROOM]; /* of the drain thread alone */
	const struct plant *pl = s->plant;
	size_t n = 0;

	for (uint32_t i = s->samples_rolled; i < s->samples_n; i++) {
		const struct event *e = &s->samples[i];
		uint8_t part = e->a < pl->stack_parts ? pl->stack_part[e->a] : 0;

		if (e->start_ns >= before_ns)
			break; /* they come in order, more or less: later ones wait, too */
		at[n++] = (struct placed){ .ns = e->start_ns,
					   .track = e->track,
					   .of = i,
					   .part = part ? (uint8_t)(part - 1) : HOST_PARTS };
	}
	if (n)
		places_find(&s->places, at, n, s->gpus != 0);
	for (size_t i = 0; i < n; i++)
		roll_one(s, &at[i]);
	s->samples_rolled += (uint32_t)n;
	if (s->samples && before_ns != UINT64_MAX && before_ns > KEPT_NS)
		places_forget(&s->places, before_ns - KEPT_NS);
}

/* --- to the store --- */

static void reverse(struct event *e, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct event was = e[i];

		e[i] = e[n - 1 - i];
		e[n - 1 - i] = was;
	}
}

void stream_ripe_samples(struct stream *s, uint64_t now_ns)
{
	uint32_t n = s->samples_rolled;

	if (!s->samples_n || (n < STREAM_SAMPLES && s->samples_n < SAMPLES_ROOM &&
			      now_ns < s->samples[0].start_ns + SAMPLES_NS))
		return;
	if (!n || now_ns == UINT64_MAX)
		stream_roll_samples(s, UINT64_MAX);
	n = s->samples_rolled;
	stream_encode(s, s->samples, n);
	/* Those that are stored go behind the others. */
	reverse(s->samples, n);
	reverse(s->samples + n, s->samples_n - n);
	reverse(s->samples, s->samples_n);
	s->samples_n -= n;
	s->samples_rolled = 0;
}

void stream_preempted(struct stream *s, uint64_t from_ns, uint32_t name)
{
	for (uint32_t i = 0; i < s->samples_n; i++) {
		struct event *e = &s->samples[i];

		if (e->start_ns >= from_ns && sample_state(e->b) == SAMPLE_RUNNABLE &&
		    !sample_detail(e->b))
			e->b = sample_b(SAMPLE_RUNNABLE, sample_flags(e->b), name);
	}
}

void stream_now(const struct stream *s, uint64_t now_ns, struct sample_most *out)
{
	for (uint32_t i = 0; i < s->samples_top; i++) {
		const struct event *e = &s->samples[i];

		if (e->start_ns + SAMPLE_NOW_NS > now_ns)
			sample_most_add(out, e->start_ns, e->dur_ns, e->name, e->b);
	}
}
