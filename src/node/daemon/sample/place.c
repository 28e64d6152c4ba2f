/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - see place.h. */
#include "daemon/sample/place.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/vec.h"
#include "model/sample.h"

#define LATE 10u /* times the last step: so much later than it the program is in no step any more */

void places_fini(struct places *p)
{
	free(p->span);
	*p = (struct places){ 0 };
}

/* The older half makes room. */
static void make_room(struct places *p)
{
	size_t cut = p->n / 2;

	for (size_t i = 0; i < cut; i++)
		p->blind_ns = p->span[i].to_ns > p->blind_ns ? p->span[i].to_ns : p->blind_ns;
	memmove(p->span, p->span + cut, (p->n - cut) * sizeof(*p->span));
	p->n -= cut;
}

/* Inner ranges end before outer ones: those of the same part say nothing that it does not. */
static bool is_within(const struct place_span *inner, const struct place_span *s)
{
	return inner->track == s->track && inner->part == s->part && inner->from_ns >= s->from_ns &&
	       inner->to_ns <= s->to_ns;
}

/* Moments of samples are multiples of a tick: what is closer together is one. */
static bool touches(const struct place_span *a, const struct place_span *s)
{
	return a->track == s->track && a->part == s->part && a->from_ns <= s->from_ns &&
	       s->from_ns <= a->to_ns + SAMPLE_TICK_NS;
}

static void put(struct places *p, struct place_span s)
{
	struct place_span *last;

	if (s.to_ns <= s.from_ns)
		return;
	while (p->n && is_within(&p->span[p->n - 1], &s))
		p->n--;
	last = p->n ? &p->span[p->n - 1] : NULL;
	if (last && touches(last, &s)) {
		last->to_ns = s.to_ns > last->to_ns ? s.to_ns : last->to_ns;
		return;
	}
	if (p->n == PLACE_SPANS)
		make_room(p);
	if (vec_room(&p->span, &p->cap, p->n + 1, sizeof(*p->span)) < 0)
		p->blind_ns = s.to_ns > p->blind_ns ? s.to_ns : p->blind_ns;
	else
		p->span[p->n++] = s;
}

void places_work(struct places *p, uint64_t from_ns, uint64_t to_ns)
{
	put(p, (struct place_span){ from_ns, to_ns, 0, HOST_PARTS });
}

void places_range(struct places *p, uint32_t track, uint64_t from_ns, uint64_t to_ns,
		  enum host_part part)
{
	if (part != HOST_PARTS && track)
		put(p, (struct place_span){ from_ns, to_ns, track, part });
}

void places_step(struct places *p, uint64_t from_ns, uint64_t to_ns)
{
	p->step[p->steps++ % PLACE_STEPS] = (struct place_step){ from_ns, to_ns };
}

static int earlier(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	return cmp_num(x->ns, y->ns) ?: cmp_num(x->of, y->of);
}

/* The samples that were taken within it. Of several ranges the one that began last is the innermost. */
static void mark(const struct place_span *at, struct placed *s, size_t n)
{
	for (size_t i = first_where(k, 0, n, s[k].ns >= at->from_ns); i < n && s[i].ns < at->to_ns;
	     i++) {
		if (!at->track) {
			s[i].gpu = SAMPLE_GPU_BUSY;
		} else if (s[i].track == at->track && at->from_ns >= s[i].in_ns) {
			s[i].part = (uint8_t)at->part;
			s[i].in_ns = at->from_ns;
		}
	}
}

/* A step is known when it ends: what follows the last one is the next, unless that is far too late. */
static bool in_step(const struct places *p, uint64_t ns)
{
	uint64_t n = p->steps < PLACE_STEPS ? p->steps : PLACE_STEPS;
	const struct place_step *last = &p->step[(p->steps - 1) % PLACE_STEPS];

	for (uint64_t i = 0; i < n; i++)
		if (p->step[i].from_ns <= ns && ns < p->step[i].to_ns)
			return true;
	return n && ns >= last->to_ns && ns - last->to_ns < LATE * (last->to_ns - last->from_ns);
}

void places_find(const struct places *p, struct placed *s, size_t n, bool has_gpu)
{
	for (size_t i = 0; i < n; i++) {
		s[i].in_ns = 0;
		s[i].gpu = has_gpu && s[i].ns >= p->blind_ns ? SAMPLE_GPU_IDLE : SAMPLE_GPU_UNKNOWN;
	}
	qsort(s, n, sizeof(*s), earlier);
	for (size_t i = 0; i < p->n; i++)
		mark(&p->span[i], s, n);
	for (size_t i = 0; i < n; i++)
		if (s[i].part >= HOST_PARTS)
			s[i].part = in_step(p, s[i].ns) ? HOST_PART_REST : HOST_PART_OUTSIDE;
}

void places_forget(struct places *p, uint64_t before_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->n; i++)
		if (p->span[i].to_ns > before_ns)
			p->span[kept++] = p->span[i];
	p->n = kept;
}
