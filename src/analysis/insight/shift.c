/* SPDX-License-Identifier: Apache-2.0 */
/* shift.c - see shift.h. */
#include "insight/shift.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"

#define WIDTH SHIFT_WIDTH
#define PAIRS (WIDTH * WIDTH)
/* By chance alone in less than one of a hundred thousand windows. */
#define SURE       (94u * PAIRS / 100u)
#define LEAST_PART 20u /* medians differ by one of so many at least */

static uint64_t median(const uint64_t v[WIDTH])
{
	uint64_t sorted[WIDTH];

	memcpy(sorted, v, sizeof(sorted));
	qsort(sorted, WIDTH, sizeof(*sorted), cmp_u64);
	return sorted[WIDTH / 2 - 1] / 2 + sorted[WIDTH / 2] / 2;
}

/* How many pairs are ordered the way that most are. */
static uint32_t ordered(const uint64_t was[WIDTH], const uint64_t is[WIDTH])
{
	uint32_t up = 0, down = 0;

	for (uint32_t i = 0; i < WIDTH; i++)
		for (uint32_t k = 0; k < WIDTH; k++) {
			up += is[i] > was[k];
			down += is[i] < was[k];
		}
	return up > down ? up : down;
}

static bool end(struct shifts *s, struct shift *out)
{
	if (!s->score)
		return false;
	*out = s->best;
	s->clear = s->best.at;
	s->score = 0;
	return true;
}

static void look(struct shifts *s)
{
	uint64_t last[2 * WIDTH], was, is, less;
	uint32_t score;

	for (uint64_t i = 0; i < 2 * WIDTH; i++)
		last[i] = s->ring[(s->n + i) % (2 * WIDTH)];
	score = ordered(last, last + WIDTH);
	if (score < SURE || score <= s->score)
		return;
	was = median(last);
	is = median(last + WIDTH);
	less = was < is ? was : is;
	if ((was < is ? is - was : was - is) <= less / LEAST_PART)
		return;
	s->score = score;
	s->best = (struct shift){ s->n - WIDTH, was, is };
}

bool shifts_add(struct shifts *s, uint64_t v, struct shift *out)
{
	bool told = false;

	s->ring[s->n++ % (2 * WIDTH)] = v;
	if (s->n - s->clear < 2 * WIDTH)
		return false;
	/* A better place for it may come until all values are of the new level. */
	if (s->score && s->n >= s->best.at + 2 * WIDTH)
		told = end(s, out);
	look(s);
	return told;
}

bool shifts_end(struct shifts *s, struct shift *out)
{
	return end(s, out);
}
