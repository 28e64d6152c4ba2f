/* SPDX-License-Identifier: Apache-2.0 */
/* sampled.c - a combined ratio estimator over windows; see sampled.h. */
#include "read/sampled.h"

#include <math.h>

#include "insight/sampling_estimator.h"

#define BIT(KIND) (1u << EVENT_##KIND)
#define SAMPLED                                                                                   \
	(BIT(MARK) | BIT(FLOW) | BIT(KERNEL) | BIT(COPY) | BIT(MEMSET) | BIT(SYNC) | BIT(GRAPH) | \
	 BIT(COLLECTIVE) | BIT(API))

bool sampled_kind(uint32_t kind)
{
	return kind < 32 && SAMPLED & 1u << kind;
}

/* A window of slots. Windows missing before it had no recorded slot. */
static void slots_window(struct sampled *s, const struct window *w)
{
	double units = 1, ns = (double)WINDOW_NS;

	if (s->last_ns) /* a window may arrive in parts */
		units = w->start_ns > s->last_ns ? (double)((w->start_ns - s->last_ns) / WINDOW_NS)
						 : 0;
	s->last_ns = w->start_ns > s->last_ns ? w->start_ns : s->last_ns;
	s->now = true;
	s->now_ns = ns;
	s->now_share = 1;
	s->all_ns += units * ns;
	s->on_ns += units * ns;
	s->weighted_ns += units * ns;
	s->square += units * ns * ns;
	s->whole_square += units * ns * ns;
}

void sampled_window(struct sampled *s, const struct window *w)
{
	double all = 0, on = 0, weighted = 0;

	s->windows++;
	if (s->slots) {
		slots_window(s, w);
		return;
	}

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
			s->unsampled += u->count;
			continue;
		}
		on += (double)u->total_ns;
		weighted += (double)u->bytes;
	}
	s->now_ns = 0;
	if (all <= 0) /* the long step ends in another window: use the previous ratio */
		return;
	s->now = weighted > on || all > on;
	if (!s->now) {
		s->sure_ns += all;
		return;
	}
	if (weighted > 0)
		s->now_share = 1 - on / weighted;
	s->now_ns = weighted;
	s->all_ns += all;
	s->on_ns += on;
	s->weighted_ns += weighted;
	s->square += s->now_share * weighted * weighted;
	s->whole_square += weighted * weighted;
}

void sampled_add(const struct sampled *s, struct sampled_sum *sum, const struct rollup *u)
{
	double ns = (double)u->total_ns;

	if (!sampled_kind(u->kind))
		return;
	if (!s->now) {
		sum->sure_ns += ns;
		sum->sure_count += (double)u->count;
		sum->sure_bytes += (double)u->bytes;
		return;
	}
	if (sum->window != s->windows) {
		sum->window = s->windows;
		sum->window_ns = 0;
	}
	sum->ns += ns;
	sum->count += (double)u->count;
	sum->bytes += (double)u->bytes;
	sum->square += s->now_share * ns * (ns + 2 * sum->window_ns);
	sum->window_ns += ns;
	sum->cross += s->now_share * ns * s->now_ns;
}

static double square(double x)
{
	return x * x;
}

/* No step of the window was recorded: assumes the previous ratio, or nothing. */
static struct sampled_more all_unsampled(const struct sampled *s, const struct sampled_sum *sum)
{
	double times = s->sure_ns > 0 ? s->all_ns / s->sure_ns : 0;

	return (struct sampled_more){ times * sum->sure_ns, times * sum->sure_count,
				      times * sum->sure_bytes,
				      square(times * sum->sure_ns / 1.96) };
}

/* It was in no recorded step, but some steps were not recorded: the rule of three bounds it. */
static struct sampled_more none_seen(const struct sampled *s, const struct sampled_sum *sum)
{
	double each = sum->sure_count > 0 ? sum->sure_ns / sum->sure_count : 0;

	return (struct sampled_more){ .variance = square(3 * s->all_ns / s->on_ns * each / 1.96) };
}

struct sampled_more sampled_end(const struct sampled *s, const struct sampled_sum *sum)
{
	struct sampled_more m = { 0 };
	double ratio, more, units;

	if (s->all_ns <= 0)
		return m;
	if (s->weighted_ns <= 0)
		return all_unsampled(s, sum);
	if (sum->count <= 0)
		return none_seen(s, sum);
	ratio = sum->ns / s->weighted_ns;
	more = s->all_ns / s->weighted_ns - 1;
	units = square(s->weighted_ns) / s->whole_square;
	m = (struct sampled_more){ more * sum->ns, more * sum->count, more * sum->bytes,
				   sum->square - 2 * ratio * sum->cross +
					   ratio * ratio * s->square };
	m.variance *= chosen_few(units);
	/* A single window always equals the mean. */
	if (units < 2 && m.variance < sum->square)
		m.variance = sum->square;
	m.variance *= square(1 + more);
	if (m.variance < 0)
		m.variance = 0;
	return m;
}

double sampled_error(double variance)
{
	return 1.96 * sqrt(variance);
}
