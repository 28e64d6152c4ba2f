/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_heat.c - a heat map of ranks x steps, in the requested resolution. It shows whether one rank,
 * one moment or everything is slow.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/order.h"
#include "insight/heat.h"
#include "read/json.h"
#include "serve/analysis.h"
#include "store/store.h"

#define WIDE  400u /* columns, by default */
#define HIGH  64u
#define MOST  1024u
#define SLOW  8u /* number of slowest ranks to name */
#define MILLE 1000.0

/* in the order of the words in api_heat() */
enum measure { MEASURE_COMPUTE, MEASURE_DUR, MEASURE_COMM, MEASURE_IDLE };

static uint64_t measured(const struct insight_step *s, int measure)
{
	switch (measure) {
	case MEASURE_DUR:
		return s->dur_ns;
	case MEASURE_COMM:
		return s->b.exposed_comm_ns;
	case MEASURE_IDLE:
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

/* --- runs too large for an analysis: the store itself has the durations of steps --- */

struct reading {
	struct heat *h;
	const struct ask *q;
	const char *ranks;
	bool add; /* second pass */
};

static const struct process *process_of(const struct run *r, uint32_t id)
{
	for (size_t i = 0; i < r->processes; i++)
		if (r->process[i].id == id)
			return &r->process[i];
	return NULL;
}

static int on_steps(void *arg, uint32_t process, const struct event_columns *c)
{
	struct reading *x = arg;
	const struct process *p = process_of(&x->q->run, process);
	int32_t rank = p ? (int32_t)p->origin.rank - 1 : -1;
	int err = 0;

	if (!p || !url_listed(x->ranks, rank))
		return 0;
	for (size_t i = 0; i < c->n && !err; i++) {
		if (c->flags[i] & EVENT_OPEN)
			continue;
		if (x->add)
			heat_add(x->h, process, rank, c->a[i], (double)c->dur_ns[i]);
		else
			err = heat_note(x->h, process, rank, c->a[i]);
	}
	return err;
}

static int read_steps(struct heat *h, struct ask *q)
{
	uint32_t cols = EVENT_COL_DUR | EVENT_COL_A | EVENT_COL_FLAGS;
	struct store_filter f = { .kinds = 1u << EVENT_STEP };
	struct reading x = { .h = h, .q = q };
	int err = ask_ranks(q, &x.ranks);

	err = err ? err : store_each_events(q->run.src->st, &f, cols, on_steps, &x);
	err = err ? err : heat_lay(h, HEAT_CELLS);
	x.add = true;
	err = err ? err : store_each_events(q->run.src->st, &f, cols, on_steps, &x);
	return err ? err : heat_close(h);
}

static bool asks_all(struct ask *q)
{
	uint64_t t0, t1;

	return ask_range(q, &t0, &t1) == 0 && !t0 && t1 == UINT64_MAX;
}

/* Where part i begins if `n` things are split into `parts`. */
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

			json_maybe(j, NULL, s.n, lrint(MILLE * (worst ? s.worst : s.mean)));
		}
		json_close(j);
	}
	json_close(j);
}

static int by_over(const void *a, const void *b)
{
	const struct heat_row *x = a, *y = b;

	return cmp_num(y->over, x->over) ?: cmp_num(x->rank, y->rank);
}

/* Called last, because it sorts the rows. */
static void slow_json(struct json *j, struct heat *h)
{
	if (h->rows)
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
	json_members(j, J_U64("ranks_n", h->rows), J_U64("steps_n", h->steps));
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

int api_heat(struct ask *q, struct json *j)
{
	int err, measure = ask_choice(q, "measure", "compute|dur|comm|idle");
	uint64_t wide = WIDE, high = HIGH;
	struct heat h = { .rows = 0 };
	struct analysis *an;

	if (measure < 0 || ask_number(q, "w", 1, MOST, &wide) < 0 ||
	    ask_number(q, "h", 1, MOST, &high) < 0)
		return -EINVAL;
	if (measure == MEASURE_DUR && asks_all(q) && !analysis_fits(q)) {
		err = read_steps(&h, q);
		if (!err)
			analysis_whole_json(j, &q->run, 0, UINT64_MAX);
	} else {
		err = analysis_begin(q, j, &an);
		err = err ? err : fill(&h, an->in, measure);
	}
	if (!err)
		heat_json(j, &h, wide < h.columns ? wide : h.columns,
			  high < h.rows ? high : h.rows);
	heat_fini(&h);
	return err;
}
