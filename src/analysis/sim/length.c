/* SPDX-License-Identifier: Apache-2.0 */
/*
 * length.c - the contents of micro-batches: sequences of equal length, or packed ones of any; for
 * inference, batches of prefill or decode.
 *
 * Attention grows with the sum of the squared lengths, all else with their sum. So a packed
 * micro-batch may take a third longer than another with as many tokens; the two sums explain why
 * (Understanding Stragglers, OSDI 2025; ResiHP).
 */
#include <math.h>

#include "sim/noise.h"
#include "sim/engine.h"

#define PACKED_SHARE 0.25 /* of a full sequence: the median of what is packed into it */
#define PACKED_LEAST 16   /* tokens */
#define CONTEXT      0.1  /* spread of what decoding looks back at */

/* Sequences that fill `room` tokens; none is longer than `most`. */
static void pack(const struct play *p, struct play_batch *w, double room, double most,
		 uint64_t place)
{
	const struct job *j = p->job;

	for (uint64_t n = 0; room > 0; n++) {
		uint64_t bits = noise_bits(j->seed, NOISE_OF_LENGTH, place, p->step, n + 1);
		double len = most * PACKED_SHARE * exp(j->packed * noise_normal(bits));

		len = len > most ? most : len < PACKED_LEAST ? PACKED_LEAST : len;
		len = len > room ? room : len;
		w->len2 += len * len;
		w->sequences++;
		room -= len;
	}
}

static void train(const struct play *p, struct play_batch *w, uint64_t place)
{
	const struct job *j = p->job;
	double full = (double)j->seq * j->seq;

	if (j->packed > 0) {
		for (uint32_t i = 0; i < j->micro_batch; i++)
			pack(p, w, j->seq, j->seq, place * j->micro_batch + i);
	} else {
		w->sequences = j->micro_batch;
		w->len2 = full * j->micro_batch;
	}
	w->attention = w->len2 / (full * j->micro_batch);
}

/* A batch of prompts has a budget of tokens; one that decodes looks back at what there is. */
static void infer(const struct play *p, struct play_batch *w, uint32_t replica, uint64_t place)
{
	const struct job *j = p->job;
	uint64_t bits = noise_bits(j->seed, NOISE_OF_LENGTH, replica, p->step, UINT64_MAX);

	w->prefill = noise_uniform(bits) < j->prefill;
	if (w->prefill) {
		pack(p, w, j->seq, j->seq, place);
		w->attention = w->len2 / ((double)j->seq * j->seq);
		return;
	}
	w->sequences = j->micro_batch;
	w->len2 = j->micro_batch;
	w->attention =
		exp(j->noise * CONTEXT * noise_normal(noise_bits(bits, NOISE_OF_LENGTH, 0, 0, 0)));
}

/* F15 from a step on: micro-batches differ in all their work. The mean stays what it was. */
static double uneven(const struct play *p, uint32_t replica, uint32_t micro)
{
	const struct job *j = p->job;
	double sum = 0;

	for (uint32_t i = 0; i < j->faults; i++) {
		const struct fault *f = &j->fault[i];
		double s;

		if (fault_table[f->kind].part != PART_LENGTH || p->without >> i & 1)
			continue;
		s = log(f->by) * fault_share(f, j, 0, p->step);
		sum += s * noise_normal(
				   noise_bits(j->seed, NOISE_OF_LENGTH, replica, p->step, micro)) -
		       s * s / 2;
	}
	return exp(sum);
}

void play_lengths(struct play *p)
{
	const struct job *j = p->job;

	for (uint32_t r = 0; r < j->dp; r++)
		for (uint32_t m = 0; m < j->micro_batches; m++) {
			uint64_t place = (uint64_t)r * j->micro_batches + m;
			struct play_batch *w = &p->batch[place];
			double by = uneven(p, r, m);

			*w = (struct play_batch){ .tokens = 1 };
			if (j->infer)
				infer(p, w, r, place);
			else
				train(p, w, place);
			w->tokens *= by;
			w->attention *= by;
			w->len2 *= by;
		}
}
