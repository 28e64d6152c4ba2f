/* SPDX-License-Identifier: Apache-2.0 */
/* sketch.c - the cells of a sketch, from the first to the last one touched; counts saturate. */
#include "base/sketch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN 16u /* cells are held in groups, so that neighbours do not each reallocate */

uint64_t sketch_value(uint32_t index)
{
	uint32_t octave = index >> SKETCH_SUB_BITS;
	uint64_t low, width;

	if (octave == 0)
		return index;
	width = 1ull << (octave - 1);
	low = (uint64_t)(SKETCH_SUB | (index & (SKETCH_SUB - 1u))) << (octave - 1);
	return low + width / 2;
}

void sketch_fini(struct sketch *s)
{
	free(s->cell);
	*s = (struct sketch){ 0 };
}

static bool holds(const struct sketch *s, uint32_t base, uint32_t span)
{
	return base >= s->base && base - s->base <= s->span && span <= s->span - (base - s->base);
}

/* Hold the cells [base, base + span) too. */
static int hold(struct sketch *s, uint32_t base, uint32_t span)
{
	uint32_t end, *cell;

	if (base > SKETCH_CELLS || span > SKETCH_CELLS - base)
		return -EINVAL;
	if (holds(s, base, span))
		return 0;
	end = (base + span + ALIGN - 1) & ~(ALIGN - 1);
	base &= ~(ALIGN - 1);
	if (s->span) {
		base = s->base < base ? s->base : base;
		end = s->base + s->span > end ? s->base + s->span : end;
	}
	cell = calloc(end - base, sizeof(*cell));
	if (!cell)
		return -ENOMEM;
	if (s->span)
		memcpy(cell + (s->base - base), s->cell, s->span * sizeof(*cell));
	free(s->cell);
	s->cell = cell;
	s->base = base;
	s->span = end - base;
	return 0;
}

static void add32(uint32_t *to, uint32_t n)
{
	if (__builtin_add_overflow(*to, n, to))
		*to = UINT32_MAX;
}

static void add64(uint64_t *to, uint64_t n)
{
	if (__builtin_add_overflow(*to, n, to))
		*to = UINT64_MAX;
}

int sketch_add(struct sketch *s, uint64_t v, uint32_t weight)
{
	return sketch_add_cell(s, sketch_index(v), weight);
}

int sketch_add_cell(struct sketch *s, uint32_t index, uint32_t weight)
{
	int err;

	if (index >= SKETCH_CELLS)
		return -EINVAL;
	err = hold(s, index, 1);
	if (err)
		return err;
	add32(&s->cell[index - s->base], weight);
	add64(&s->count, weight);
	return 0;
}

int sketch_merge(struct sketch *into, const struct sketch *from)
{
	uint64_t count = from->count;
	int err;

	err = hold(into, from->base, from->span);
	if (err)
		return err;
	for (uint32_t i = 0; i < from->span; i++)
		add32(&into->cell[from->base - into->base + i], from->cell[i]);
	add64(&into->count, count);
	return 0;
}

uint64_t sketch_quantile(const struct sketch *s, double q)
{
	uint64_t sum = 0, seen = 0, rank = 1;
	uint32_t last = 0;

	for (uint32_t i = 0; i < s->span; i++)
		sum += s->cell[i];
	if (sum == 0)
		return 0;
	/* The cells' sum, not `count`: they differ once a cell is saturated. */
	if (q > 0)
		rank = q >= 1 ? sum : (uint64_t)(q * (double)sum);
	if (q > 0 && q < 1 && (double)rank < q * (double)sum)
		rank++;
	for (uint32_t i = 0; i < s->span && seen < rank; i++) {
		seen += s->cell[i];
		if (s->cell[i])
			last = i;
	}
	return sketch_value(s->base + last);
}
