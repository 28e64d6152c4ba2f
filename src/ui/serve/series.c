/* SPDX-License-Identifier: Apache-2.0 */
/* series.c - see series.h. */
#include "serve/series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define POLL_NS 15000000000ull /* most metrics are polled at least this often */

bool metric_is_mask(const struct metric *m)
{
	return m->number == 112 || m->number == 40031;
}

int series_graph_new(struct series_graph *c, const struct metric *m,
		     const struct series_graph_span *span)
{
	struct cell_sum *cell = calloc(span->n, sizeof(*cell));

	if (!cell)
		return -ENOMEM;
	*c = (struct series_graph){ .metric = m, .cell = cell, .value = NAN };
	return 0;
}

void series_graph_fini(struct series_graph *c)
{
	free(c->cell);
	*c = (struct series_graph){ .cell = NULL };
}

static void put_cell(struct cell_sum *s, double v, uint64_t ns, bool mask)
{
	if (s->ns <= 0) {
		*s = (struct cell_sum){ v, v, v * (double)ns, (double)ns };
		return;
	}
	s->min = v < s->min ? v : s->min;
	if (mask)
		s->max = (double)((uint64_t)s->max | (uint64_t)v);
	else
		s->max = v > s->max ? v : s->max;
	s->sum += v * (double)ns;
	s->ns += (double)ns;
}

/* The value was `v` in [from, to). */
static void put(struct series_graph *c, const struct series_graph_span *span, uint64_t from,
		uint64_t to, double v)
{
	uint64_t end = span->from_ns + span->n * span->width_ns;

	from = from < span->from_ns ? span->from_ns : from;
	to = to > end ? end : to;
	while (from < to) {
		uint64_t at = (from - span->from_ns) / span->width_ns,
			 next = span->from_ns + (at + 1) * span->width_ns,
			 until = next < to ? next : to;

		put_cell(&c->cell[at], v, until - from, metric_is_mask(c->metric));
		from = until;
	}
}

static uint64_t poll_ns(const struct series_graph *c)
{
	if (c->between_ns < POLL_NS)
		return POLL_NS;
	return c->between_ns < SERIES_BEFORE_NS ? c->between_ns : SERIES_BEFORE_NS;
}

static void counted(struct series_graph *c, const struct series_graph_span *span, uint64_t at,
		    double v)
{
	uint64_t since = at - c->since_ns, over;

	if (v == c->value)
		return;
	/* the first value, or the counter was reset */
	if (isnan(c->value) || v < c->value || at <= c->since_ns) {
		c->since_ns = at;
		c->value = v;
		return;
	}
	c->between_ns = !c->between_ns || since < c->between_ns ? since : c->between_ns;
	over = since < poll_ns(c) ? since : poll_ns(c);
	put(c, span, c->since_ns, at - over, 0);
	put(c, span, at - over, at, (v - c->value) / ((double)over / 1e9));
	c->since_ns = at;
	c->value = v;
}

/* A counter that has not risen for longer than its polling interval has not moved. */
static void stood(struct series_graph *c, const struct series_graph_span *span)
{
	if (!isnan(c->value) && c->seen_ns > c->since_ns + poll_ns(c))
		put(c, span, c->since_ns, c->seen_ns, 0);
}

static bool is_counter(const struct series_graph *c)
{
	return c->metric->type == METRIC_COUNTER;
}

/* Two blocks in a row have no gap between them, unless it is longer than the ticks are apart. */
static void begin(struct series_graph *c, const struct series_graph_span *span,
		  const struct telemetry_block *b)
{
	uint64_t long_ns = b->tick_ns[b->ticks - 1] - b->tick_ns[0],
		 apart = b->ticks > 1 ? 2 * long_ns / (b->ticks - 1) : 0;

	apart = apart > POLL_NS ? apart : POLL_NS;
	if (isnan(c->value) || b->tick_ns[0] < c->seen_ns)
		return;
	if (b->tick_ns[0] - c->seen_ns <= apart) {
		if (!is_counter(c))
			put(c, span, c->seen_ns, b->tick_ns[0], c->value);
		return;
	}
	if (is_counter(c))
		stood(c, span);
	c->value = NAN;
}

static void change(struct series_graph *c, const struct series_graph_span *span,
		   const struct change *x, uint64_t at, uint64_t until)
{
	if (isnan(x->value)) {
		if (is_counter(c))
			stood(c, span);
		c->value = NAN;
		return;
	}
	if (until < c->seen_ns) /* a partial block has already covered it */
		return;
	at = at > c->seen_ns ? at : c->seen_ns;
	if (is_counter(c)) {
		counted(c, span, at, x->value);
	} else {
		put(c, span, at, until, x->value);
		c->value = x->value;
	}
	c->seen_ns = until;
}

void series_graph_block(struct series_graph *c, const struct series_graph_span *span,
			const struct telemetry_block *b, uint32_t first, uint32_t end)
{
	/* A complete block replaces the partial ones, which may have been read before. */
	if (b->tick_ns[b->ticks - 1] <= c->seen_ns)
		return;
	begin(c, span, b);
	if (first == end || b->change[first].tick) /* the series had no value at the first tick */
		c->value = NAN;
	for (uint32_t i = first; i < end; i++) {
		const struct change *x = &b->change[i];

		change(c, span, x, b->tick_ns[x->tick],
		       b->tick_ns[i + 1 < end ? b->change[i + 1].tick : b->ticks - 1]);
	}
}

void series_graph_end(struct series_graph *c, const struct series_graph_span *span)
{
	if (is_counter(c))
		stood(c, span);
}

/* Clamped to [min, max] against rounding errors. */
static double mean(const struct cell_sum *s)
{
	double v = s->sum / s->ns;

	return v < s->min ? s->min : v > s->max ? s->max : v;
}

static bool alike(const struct cell_sum *a, const struct cell_sum *b)
{
	if (a->ns <= 0 || b->ns <= 0)
		return a->ns <= 0 && b->ns <= 0;
	return a->min == b->min && a->max == b->max &&
	       fabs(mean(a) - mean(b)) <= 1e-9 * fabs(a->max);
}

void series_graph_json(struct json *j, const char *key, const struct series_graph *c,
		       const struct series_graph_span *span)
{
	static const struct cell_sum none;
	const struct cell_sum *had = &none;

	json_open(j, key, '[');
	for (uint32_t i = 0; i < span->n; i++) {
		const struct cell_sum *s = &c->cell[i];

		if (alike(s, had))
			continue;
		had = s;
		json_open(j, NULL, '[');
		json_u64(j, NULL, i);
		if (s->ns > 0) {
			json_double(j, NULL, s->min);
			json_double(j, NULL, mean(s));
			json_double(j, NULL, s->max);
		}
		json_close(j);
	}
	json_close(j);
}
