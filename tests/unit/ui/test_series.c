/* SPDX-License-Identifier: Apache-2.0 */
/* Series of telemetry in cells: nothing is higher, lower or longer than it was measured. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "serve/series.h"
#include "t.h"

#define S 1000000000ull

static const struct metric gauge = { .number = 155, .type = METRIC_GAUGE };
static const struct metric counter = { .number = 30090, .type = METRIC_COUNTER };
static const struct metric mask = { .number = 112, .type = METRIC_GAUGE };

/* Values at each second from 100 s on, in blocks of `at_once`; as a store tells them. */
static void play(struct series_graph *g, const struct series_graph_span *span, const double *v,
		 uint32_t n, uint32_t at_once)
{
	for (uint32_t from = 0; from < n; from += at_once) {
		uint64_t tick[64];
		struct change change[64];
		struct telemetry_block b = { .tick_ns = tick, .change = change };

		for (uint32_t i = from; i < n && i < from + at_once; i++) {
			double was = b.ticks ? v[i - 1] : NAN;

			tick[b.ticks] = (100 + i) * S;
			if (!(isnan(was) ? isnan(v[i]) : was == v[i]))
				change[b.changes++] = (struct change){ 1, b.ticks, v[i] };
			b.ticks++;
		}
		series_graph_block(g, span, &b, 0, b.changes);
	}
	series_graph_end(g, span);
}

/* What a gauge was in a cell, second by second. */
static bool as_played(const struct series_graph *g, const struct series_graph_span *span,
		      const double *v, uint32_t n)
{
	for (uint32_t c = 0; c < span->n; c++) {
		double min = INFINITY, max = -INFINITY, ns = 0, sum = 0;
		uint64_t a = span->from_ns + c * span->width_ns, b = a + span->width_ns;

		/* The last second is a moment: nobody knows how long it held. */
		for (uint32_t i = 0; i + 1 < n; i++) {
			uint64_t from = (100 + i) * S, to = from + S;
			double part;

			from = from < a ? a : from;
			to = to > b ? b : to;
			if (from >= to || isnan(v[i]))
				continue;
			part = (double)(to - from);
			min = fmin(min, v[i]);
			max = fmax(max, v[i]);
			sum += v[i] * part;
			ns += part;
		}
		if (ns != g->cell[c].ns)
			return false;
		if (ns > 0 && (g->cell[c].min != min || g->cell[c].max != max ||
			       fabs(g->cell[c].sum - sum) > 1e-6 * fabs(sum)))
			return false;
	}
	return true;
}

static void test_gauges(void)
{
	uint32_t wrong = 0;

	srand(7);
	for (int k = 0; k < 400; k++) {
		uint32_t n = 2 + (uint32_t)rand() % 60, at_once = 2 + (uint32_t)rand() % 40;
		struct series_graph_span span = { .from_ns = (95 + (uint64_t)rand() % 40) * S + 7,
						  .width_ns = S / 10 + (uint64_t)rand() % (4 * S),
						  .n = 1 + (uint32_t)rand() % 30 };
		struct series_graph g;
		double v[64];

		for (uint32_t i = 0; i < n; i++)
			v[i] = rand() % 9 ? (double)(rand() % 4) : NAN;
		series_graph_new(&g, &gauge, &span);
		play(&g, &span, v, n, at_once);
		wrong += !as_played(&g, &span, v, n);
		series_graph_fini(&g);
	}
	T_OK(!wrong, "a gauge in cells is what it was second by second (%u of 400 are not)", wrong);
}

static void test_counters(void)
{
	struct series_graph_span span = { .from_ns = 100 * S, .width_ns = S, .n = 60 };
	double v[60], total = 0;
	struct series_graph g;

	for (int i = 0; i < 60; i++) /* polled every ten seconds */
		v[i] = 500.0 * (i / 10);
	series_graph_new(&g, &counter, &span);
	play(&g, &span, v, 60, 15);
	for (int i = 0; i < 60; i++)
		total += g.cell[i].sum / 1e9;
	T_OK(fabs(total - 2500) < 1e-6, "rises of a counter add up to what it rose: %g", total);
	T_OK(g.cell[5].max == 50 && g.cell[44].min == 50,
	     "and are spread over the time between polls");
	T_OK(g.cell[55].ns == 0, "after the last poll nothing is known yet");
	series_graph_fini(&g);

	for (int i = 0; i < 60; i++)
		v[i] = i < 40 ? 7 : 8;
	series_graph_new(&g, &counter, &span);
	play(&g, &span, v, 60, 60);
	T_OK(g.cell[10].ns > 0 && g.cell[10].max == 1.0 / 40,
	     "the first rise since nobody knows when");
	series_graph_fini(&g);

	for (int i = 0; i < 60; i++)
		v[i] = i < 2 ? 5 + i : i < 50 ? 6 : 7;
	series_graph_new(&g, &counter, &span);
	play(&g, &span, v, 60, 60);
	T_OK(g.cell[10].ns > 0 && g.cell[10].max == 0 && g.cell[45].max == 1.0 / 15,
	     "one that stood still has not risen slowly");
	series_graph_fini(&g);

	for (int i = 0; i < 60; i++)
		v[i] = i < 30 ? 1000 + i : i - 30;
	series_graph_new(&g, &counter, &span);
	play(&g, &span, v, 60, 60);
	T_OK(g.cell[10].max == 1 && g.cell[35].max == 1 && !(g.cell[29].max > 1) &&
		     !(g.cell[29].min < 0),
	     "one that began anew has not fallen");
	series_graph_fini(&g);
}

static void test_masks(void)
{
	struct series_graph_span span = { .from_ns = 100 * S, .width_ns = 10 * S, .n = 2 };
	double v[20] = { 1, 1, 4, 4, 32, 0, 0, 0, 0, 0, 0 };
	struct series_graph g;

	series_graph_new(&g, &mask, &span);
	play(&g, &span, v, 20, 20);
	T_OK(g.cell[0].max == 37 && g.cell[1].max == 0, "of a mask every bit that was set is kept");
	series_graph_fini(&g);
}

/* A whole block comes after pieces of it: nothing is twice. */
static void test_pieces(void)
{
	struct series_graph_span span = { .from_ns = 100 * S, .width_ns = S, .n = 20 };
	double v[20], total = 0;
	struct series_graph g;

	for (int i = 0; i < 20; i++)
		v[i] = i;
	series_graph_new(&g, &counter, &span);
	play(&g, &span, v, 8, 4);
	play(&g, &span, v, 20, 20);
	for (int i = 0; i < 20; i++)
		total += g.cell[i].sum / 1e9;
	T_OK(fabs(total - 19) < 1e-6, "what was read in pieces is not counted twice: %g", total);
	series_graph_fini(&g);
}

int main(void)
{
	test_gauges();
	test_counters();
	test_masks();
	test_pieces();
	return t_done();
}
