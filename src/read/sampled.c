/* SPDX-License-Identifier: Apache-2.0 */
/* sampled.c - a combined ratio estimator over windows; see sampled.h. */
#include "read/sampled.h"

#include <math.h>

#include "insight/chosen.h"

#define BIT(KIND) (1u << EVENT_##KIND)
#define SAMPLED                                                                                   \
	(BIT(MARK) | BIT(FLOW) | BIT(KERNEL) | BIT(COPY) | BIT(MEMSET) | BIT(SYNC) | BIT(GRAPH) | \
	 BIT(COLLECTIVE) | BIT(API))

bool sampled_kind(uint32_t kind)
{
	return kind < 32 && SAMPLED & 1u << kind;
}

void sampled_window(struct sampled *s, const struct window *w)
{
	double all = 0, on = 0, weighted = 0;

	for (uint32_t i = 0; i < w->rows; i++) {
		const struct rollup *u = &w->row[i];

		if (u->kind != EVENT_STEP)
			continue;
		if (s->unseen && u->name == s->unseen) {
			s->unseen_steps += u->count;
			continue;
		}
		all += (double)u->total_ns;
		if (s->left && u->name == s->left) {
			s->left_out += u->count;
			continue;
		}
		on += (double)u->total_ns;
		weighted += (double)u->bytes;
	}
	s->now_ns = 0;
	if (all <= 0) /* long steps end elsewhere: as in the window before */
		return;
	s->now = weighted > on || all > on;
	if (!s->now)
		return;
	if (weighted > 0)
		s->now_share = 1 - on / weighted;
	s->now_ns = weighted;
	s->all_ns += all;
	s->weighted_ns += weighted;
	s->square += s->now_share * weighted * weighted;
	s->whole_square += weighted * weighted;
}

void sampled_add(const struct sampled *s, struct sampled_sum *sum, const struct rollup *u)
{
	double ns = (double)u->total_ns;

	if (!s->now || !sampled_kind(u->kind))
		return;
	sum->ns += ns;
	sum->count += (double)u->count;
	sum->bytes += (double)u->bytes;
	sum->square += s->now_share * ns * ns;
	sum->cross += s->now_share * ns * s->now_ns;
}

struct sampled_more sampled_end(const struct sampled *s, const struct sampled_sum *sum)
{
	struct sampled_more m = { 0 };
	double ratio, more;

	if (sum->count <= 0 || s->weighted_ns <= 0)
		return m;
	ratio = sum->ns / s->weighted_ns;
	more = s->all_ns / s->weighted_ns - 1;
	m = (struct sampled_more){ more * sum->ns, more * sum->count, more * sum->bytes,
				   sum->square - 2 * ratio * sum->cross +
					   ratio * ratio * s->square };
	m.variance *= (1 + more) * (1 + more) *
		      chosen_few(s->weighted_ns * s->weighted_ns / s->whole_square);
	if (m.variance < 0)
		m.variance = 0;
	return m;
}

double sampled_error(double variance)
{
	return 1.96 * sqrt(variance);
}
