/* SPDX-License-Identifier: Apache-2.0 */
/* api_heat.c - is it one rank, one moment, or everybody? Ranks x steps, at the resolution asked for. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "insight/heat.h"
#include "read/json.h"
#include "serve/analysis.h"

#define WIDE  400u /* columns unless told */
#define HIGH  64u
#define MOST  1024u
#define SLOW  8u /* ranks that are named */
#define MILLE 1000.0

static uint64_t measured(const struct insight_step *s, int measure)
{
	switch (measure) {
	case 1:
		return s->dur_ns;
	case 2:
		return s->b.exposed_comm_ns;
	case 3:
		return s->b.idle_ns;
	default:
		return s->b.compute_ns;
	}
}

static int fill(struct heat *h, const struct insight *in, int measure)
{
	int err = 0;

	for (size_t i = 0; i < in->steps && !err; i++)
		err = heat_note(h, in->step[i].process, in->step[i].rank, in->step[i].number);
	err = err ? err : heat_lay(h, HEAT_CELLS);
	for (size_t i = 0; i < in->steps && !err; i++)
		heat_add(h, in->step[i].process, in->step[i].rank, in->step[i].number,
			 (double)measured(&in->step[i], measure));
	return err ? err : heat_close(h);
}

/* The begin of part i of `n` things in `parts`. */
static size_t cut(size_t i, size_t n, size_t parts)
{
	return i * n / parts;
}

static void cells_json(struct json *j, const struct heat *h, size_t high, size_t wide, bool worst)
{
	json_open(j, worst ? "worst" : "mean", '[');
	for (size_t r = 0; r < high; r++) {
		json_open(j, NULL, '[');
		for (size_t i = 0; i < wide; i++) {
			struct heat_sum s =
				heat_sum(h, cut(r, h->rows, high), cut(r + 1, h->rows, high),
					 cut(i, h->columns, wide), cut(i + 1, h->columns, wide));

			if (s.n)
				json_i64(j, NULL, lrint(MILLE * (worst ? s.worst : s.mean)));
			else
				json_null(j, NULL);
		}
		json_close(j);
	}
	json_close(j);
}

static int by_over(const void *a, const void *b)
{
	const struct heat_row *x = a, *y = b;

	return x->over < y->over   ? 1
	       : x->over > y->over ? -1
				   : (x->rank > y->rank) - (x->rank < y->rank);
}

/* Reorders the rows: last. */
static void slow_json(struct json *j, struct heat *h)
{
	qsort(h->row, h->rows, sizeof(*h->row), by_over);
	json_open(j, "slowest", '[');
	for (size_t i = 0; h->rows > 1 && i < h->rows && i < SLOW; i++) {
		json_open(j, NULL, '{');
		json_rank(j, "rank", h->row[i].rank);
		json_i64(j, "over", lrint(MILLE * h->row[i].over));
		json_close(j);
	}
	json_close(j);
}

static void heat_json(struct json *j, struct heat *h, size_t wide, size_t high)
{
	json_u64(j, "ranks_n", h->rows);
	json_u64(j, "steps_n", h->steps);
	json_open(j, "ranks", '[');
	for (size_t r = 0; r < high; r++)
		json_rank(j, NULL, h->row[cut(r, h->rows, high)].rank);
	json_close(j);
	json_open(j, "steps", '[');
	for (size_t i = 0; i < wide; i++)
		json_u64(j, NULL, h->step[cut(i, h->columns, wide) * h->width]);
	json_close(j);
	json_u64(j, "last_step", h->steps ? h->step[h->steps - 1] : 0);
	cells_json(j, h, high, wide, true);
	cells_json(j, h, high, wide, false);
	slow_json(j, h);
}

int api_heat(struct ask *q, struct json *j, struct answer *a)
{
	int err, measure = ask_choice(q, "measure", "compute|dur|comm|idle");
	uint64_t wide = WIDE, high = HIGH;
	struct heat h = { .rows = 0 };
	struct analysis *an;

	(void)a;
	if (measure < 0 || ask_number(q, "w", 1, MOST, &wide) < 0 ||
	    ask_number(q, "h", 1, MOST, &high) < 0)
		return -EINVAL;
	err = analysis_get(q, &an);
	err = err ? err : fill(&h, an->in, measure);
	if (!err) {
		analysis_json(j, an, &q->run);
		heat_json(j, &h, wide < h.columns ? wide : h.columns,
			  high < h.rows ? high : h.rows);
	}
	heat_fini(&h);
	return err;
}
