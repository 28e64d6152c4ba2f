/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_diagnose.c - records that a reader takes, and that say any nonsense: ranks that change their
 * hosts, exchanges of no length or of a year, communicators that come and go.
 *
 * Input: a byte for the world, then for each record its flags, step and slots, and bytes that its
 * numbers are made of, again and again until it is full.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnose.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORLD 8u
#define STEPS 96u
#define HEAD  6u

static uint32_t world;

static void hear(void *arg, const struct diag_verdict *v)
{
	(void)arg;
	if (!v->f.parts || v->f.parts > DIAG_PARTS || v->why >= DIAG_WHYS || v->cycles > DIAG_CYCLE)
		abort();
	if (!(v->f.gain >= 0 && v->f.gain <= 1) || !(v->f.confidence >= 0 && v->f.confidence <= 1))
		abort();
	for (uint32_t i = 0; i < v->f.parts; i++)
		if (v->f.part[i].level >= DIAG_LEVELS ||
		    (v->f.part[i].level == DIAG_RANK && v->f.part[i].index >= world))
			abort();
}

/* What step_rec_decode() would let through. */
static float time_of(float v)
{
	return isfinite(v) ? fabsf(v) : 1e30f;
}

static void make(struct step_rec *r, const uint8_t *p, size_t len, uint32_t rank, uint32_t step)
{
	uint8_t *to = (uint8_t *)r;

	for (size_t i = 0; i < sizeof(*r); i++)
		to[i] = len ? p[i % len] : 0;
	r->rank = rank;
	r->world = world;
	r->step = step;
	r->slots = (uint8_t)(r->slots % (STEP_SLOTS + 1));
	r->sum_len2 = time_of(r->sum_len2);
	r->context = time_of(r->context);
	r->runq_ns = time_of(r->runq_ns);
	r->iowait_ns = time_of(r->iowait_ns);
	for (size_t i = 0; i < STEP_TIMES; i++)
		*step_time(r, i) = time_of(*step_time(r, i));
	for (size_t i = 0; i < STEP_CLASSES; i++)
		r->class[i].sum = time_of(r->class[i].sum);
	for (size_t i = 0; i < STEP_SLOTS; i++) {
		struct step_slot *s = &r->slot[i];

		s->op = (uint8_t)(s->op % STEP_OPS);
		s->sum = time_of(s->sum);
		s->min = time_of(s->min);
		s->max = time_of(s->max);
		s->exposed = time_of(s->exposed);
		for (size_t k = 0; k < STEP_PROBES; k++) {
			s->probe[k].start = time_of(s->probe[k].start);
			s->probe[k].dur = time_of(s->probe[k].dur);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct step_rec rec[WORLD];
	struct diag *d;
	size_t at = 1;

	if (size < 1 + HEAD)
		return 0;
	world = data[0] % WORLD + 1;
	if (diag_new(&d, world) < 0)
		return 0;
	for (uint32_t step = 0; step < STEPS; step++) {
		/* Records repeat when the bytes are used up: a past is needed for most of it. */
		const uint8_t *h = data + (at + HEAD <= size ? at : 1);
		size_t left = (size_t)(data + size - h) - HEAD, len = h[0] % 64;
		uint32_t n = h[1] % (world + 1);

		len = len < left ? len : left;
		for (uint32_t i = 0; i < n; i++) {
			make(&rec[i], h + HEAD, len, (h[2] + i) % world, step);
			rec[i].flags = i == h[3] % WORLD ? (uint16_t)h[4] : (uint16_t)(h[4] & h[5]);
		}
		if (diag_step(d, rec, n, hear, NULL) < 0)
			break;
		at += HEAD + len;
	}
	diag_free(d);
	return 0;
}
