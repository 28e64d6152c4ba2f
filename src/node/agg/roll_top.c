/* SPDX-License-Identifier: Apache-2.0 */
/* roll_top.c - the rows of samples of a window are bounded; see roll.h. */
#include <stdlib.h>

#include "agg/roll.h"
#include "base/order.h"
#include "model/sample.h"

/* Those that are no samples first, in their order. Returns how many. */
static uint32_t part_rows(struct window *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->rows; i++) {
		struct rollup row = w->row[i];

		if (row.kind == EVENT_SAMPLE)
			continue;
		w->row[i] = w->row[n];
		w->row[n++] = row;
	}
	return n;
}

/* The order is the same for the same samples, in whichever they came. */
static int more_samples(const void *a, const void *b)
{
	const struct rollup *x = a, *y = b;

	return cmp_num(y->count, x->count) ?: cmp_num(x->track, y->track) ?:
	       cmp_num(x->name, y->name) ?: cmp_num(x->bytes, y->bytes);
}

/* The row of all stacks of that thread and state. */
static struct rollup other_of(const struct rollup *r, bool any)
{
	struct sample_key k = sample_rolled_key(r->bytes);
	struct rollup other = *r;

	other.name = SAMPLE_ROLLED_OTHER;
	other.bytes =
		any ? 0 : sample_key((struct sample_key){ .state = k.state, .holder = k.holder });
	if (any)
		other.track = 0;
	return other;
}

static void add_row(struct rollup *to, const struct rollup *r)
{
	to->count += r->count;
	to->total_ns += r->total_ns;
	to->min_ns = r->min_ns < to->min_ns ? r->min_ns : to->min_ns;
	to->max_ns = r->max_ns > to->max_ns ? r->max_ns : to->max_ns;
}

/* Adds up those from `at` on, in place. Returns how many rows are left of them. */
static uint32_t fold(struct rollup *row, uint32_t n, uint32_t max)
{
	uint32_t others = 0, k;

	for (uint32_t i = 0; i < n; i++) {
		struct rollup is = other_of(&row[i], false);

		for (k = 0; k < others; k++)
			if (row[k].track == is.track && row[k].bytes == is.bytes)
				break;
		if (k == others && others + 1 >= max) { /* the last is of any thread and state */
			is = other_of(&row[i], true);
			for (k = 0; k < others && (row[k].track || row[k].bytes); k++)
				;
		}
		if (k < others)
			add_row(&row[k], &is);
		else
			row[others++] = is;
	}
	return others;
}

uint32_t roll_top(struct window *w, uint32_t max, uint64_t *other)
{
	uint32_t n = part_rows(w), samples = w->rows - n;
	struct rollup *row = w->row + n;

	*other = 0;
	if (samples <= max)
		return n;
	qsort(row, samples, sizeof(*row), more_samples);
	for (uint32_t i = max; i < samples; i++)
		*other += row[i].name == SAMPLE_ROLLED_OTHER ? 0 : row[i].count;
	w->rows = n + max + fold(row + max, samples - max, max);
	return n;
}
