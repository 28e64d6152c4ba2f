/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask_heat.c - ranks x steps: is it one rank, one moment, or everybody?
 *
 * A cell compares its ranks in its steps with the median of all ranks in the same step, so that a
 * step which is long for everybody is no one's fault. A cell shows the worst of them, and which
 * that is: nobody is averaged away, however many ranks and steps share it. ClickHouse computes the
 * cells. Of a job with more rows than LOOKED only the newest steps are read, or every n-th, and the
 * answer says so.
 */
#include "fleet/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

#define LOOKED 2100000u /* limit on rows read, 4,096 ranks x 512 steps: half a second of one core */
#define RANKS  65536u   /* limit on ranks: more are not sent or drawn */

static const char *const measured[FLEET_MEASURES] = {
	[FLEET_OWN] = "step_ns - exposed_ns",
	[FLEET_STEP] = "step_ns",
	[FLEET_COMM] = "exposed_ns",
	[FLEET_IDLE] = "idle_ns",
};

struct heat {
	struct fleet *f;
	const struct fleet_heat_ask *a;
	struct fleet_heat h;
	uint64_t first, last; /* the range of steps that exist */
};

/* --- which steps --- */

/* If there are too many steps, chooses fewer. True: there were too many. */
static bool choose_steps(struct heat *x)
{
	struct fleet_heat *h = &x->h;
	uint64_t fit = h->ranks ? LOOKED / h->ranks : 0;

	if (h->steps <= fit)
		return false;
	if (x->a->newest) {
		h->steps = fit;
		h->first = h->last - fit + 1;
	} else {
		h->every = (h->steps + fit - 1) / fit;
	}
	return true;
}

/*
 * Lists the chosen steps by number, so that the table's order finds them without reading the
 * others.
 */
static void chosen(struct sql *q, const struct heat *x)
{
	const struct fleet_heat *h = &x->h;

	ask_where(q, x->f, x->a->job);
	sql_add(q, " AND rank >= 0 AND rank < %u AND step >= %" PRIu64 " AND step <= %" PRIu64,
		RANKS, h->first, h->last);
	if (h->every > 1)
		sql_add(q,
			" AND step IN (SELECT toUInt32(%" PRIu64 " + number * %" PRIu64
			") FROM system.numbers LIMIT %" PRIu64 ")",
			h->first, h->every, (h->steps + h->every - 1) / h->every);
}

/* --- the ranks --- */

static int on_rank(void *arg, const struct rowin_field *f)
{
	struct heat *x = arg;
	size_t n = x->h.ranks;
	struct fleet_rank *r = ask_grow(&x->h.rank, &n, sizeof(*r));

	if (!r)
		return -ENOMEM;
	x->h.ranks = (uint32_t)n;
	x->first = f[5].u < x->first ? f[5].u : x->first;
	x->last = f[6].u > x->last ? f[6].u : x->last;
	r->rank = (int32_t)f[0].i;
	r->own_ns = isfinite(f[1].d) ? f[1].d : 0;
	ask_word(r->host, sizeof(r->host), &f[2]);
	r->leaf = (uint32_t)f[3].u;
	ask_word(r->rack, sizeof(r->rack), &f[4]);
	return 0;
}

static int by_rank(const void *a, const void *b)
{
	const struct fleet_rank *x = a, *y = b;

	return cmp_num(x->rank, y->rank);
}

static int by_host(const void *a, const void *b)
{
	const struct fleet_rank *x = a, *y = b;

	return strverscmp(x->host, y->host) ?: by_rank(a, b);
}

static int by_leaf(const void *a, const void *b)
{
	const struct fleet_rank *x = a, *y = b;

	return strverscmp(x->rack, y->rack) ?: cmp_num(x->leaf, y->leaf) ?: by_host(a, b);
}

static int by_over(const void *a, const void *b)
{
	const struct fleet_rank *x = a, *y = b;

	return cmp_num(y->over, x->over) ?: by_rank(a, b);
}

/*
 * Compares each rank with the median and notes the slowest ones. Then sorts by the requested order.
 */
static void order_ranks(struct heat *x)
{
	static int (*const by[FLEET_ORDERS])(const void *, const void *) = {
		[FLEET_BY_RANK] = by_rank,
		[FLEET_BY_HOST] = by_host,
		[FLEET_BY_LEAF] = by_leaf,
		[FLEET_BY_SLOW] = by_over,
	};
	struct fleet_heat *h = &x->h;
	double median;

	for (size_t i = 0; i < h->ranks; i++)
		h->rank[i].over = h->rank[i].own_ns;
	qsort(h->rank, h->ranks, sizeof(*h->rank), by_over);
	median = h->rank[h->ranks / 2].own_ns;
	for (size_t i = 0; i < h->ranks; i++)
		h->rank[i].over = median > 0 ? h->rank[i].own_ns / median - 1 : 0;
	for (h->slows = 0; h->slows < FLEET_SLOWEST && h->slows < h->ranks; h->slows++)
		h->slow[h->slows] = h->rank[h->slows];
	qsort(h->rank, h->ranks, sizeof(*h->rank), by[x->a->order]);
}

static int ask_who(struct heat *x, struct store_why *why)
{
	struct sql q;
	int err;

	sql_init(&q);
	sql_add(&q,
		"SELECT toInt64(rank), o, node, toUInt64(lf), rk, s0, s1 FROM (SELECT rank,"
		" toFloat64(avg(%s)) AS o, toUInt64(min(step)) AS s0,"
		" toUInt64(max(step)) AS s1 FROM step WHERE ",
		measured[x->a->measure]);
	chosen(&q, x);
	sql_add(&q, " GROUP BY rank) ANY LEFT JOIN (SELECT rank, anyLast(host) AS node,"
		    " anyLast(leaf) AS lf, anyLast(rack) AS rk FROM process WHERE ");
	ask_where(&q, x->f, x->a->job);
	sql_add(&q, " GROUP BY rank) USING (rank)");
	free(x->h.rank);
	x->h.rank = NULL;
	x->h.ranks = 0;
	x->first = UINT64_MAX;
	x->last = 0;
	err = ask_sql(x->f, &q, "ldsqsqq", RANKS, on_rank, x, why);
	if (!err && x->h.ranks)
		order_ranks(x);
	return err;
}

/* --- cells --- */

static int on_cell(void *arg, const struct rowin_field *f)
{
	struct fleet_heat *h = arg;

	if (f[0].u >= (uint64_t)h->columns * h->rows)
		return 0;
	h->cell[f[0].u] = (struct fleet_cell){
		.worst = (float)(f[1].d - 1),
		.mean = (float)(f[2].d - 1),
		.rank = (int32_t)f[3].i,
		.step = (uint32_t)f[4].u,
		.ns = f[5].d,
	};
	return 0;
}

/*
 * Where part i begins if n things are split into `parts`; in SQL: intDiv((x + 1) * parts - 1, n).
 */
static uint64_t cut(uint64_t i, uint64_t n, uint64_t parts)
{
	return i * n / parts;
}

static int lay(struct heat *x)
{
	struct fleet_heat *h = &x->h;
	uint64_t looked = (h->steps + h->every - 1) / h->every;
	size_t cells;

	h->columns = h->steps < x->a->wide ? (uint32_t)h->steps : x->a->wide;
	if (h->columns > looked) /* otherwise some columns would have no step and show a hole */
		h->columns = (uint32_t)looked;
	h->rows = h->ranks < x->a->high ? h->ranks : x->a->high;
	cells = (size_t)h->rows * h->columns;
	h->row = calloc(h->rows + 1u, sizeof(*h->row));
	h->step = calloc(h->columns + 1u, sizeof(*h->step));
	h->cell = malloc((cells + 1) * sizeof(*h->cell));
	if (!h->row || !h->step || !h->cell)
		return -ENOMEM;
	for (uint32_t i = 0; i <= h->rows && h->rows; i++)
		h->row[i] = (uint32_t)cut(i, h->ranks, h->rows);
	for (uint32_t i = 0; i < h->columns; i++)
		h->step[i] = h->first + cut(i, h->steps, h->columns);
	for (size_t i = 0; i < cells; i++)
		h->cell[i] = (struct fleet_cell){ .worst = NAN, .mean = NAN };
	return 0;
}

/* "[0,0,1,...]": the row of each rank. */
static int rows_of_ranks(struct sql *q, const struct fleet_heat *h)
{
	int32_t last = 0;
	uint32_t *row;

	for (uint32_t i = 0; i < h->ranks; i++)
		last = h->rank[i].rank > last ? h->rank[i].rank : last;
	row = calloc((size_t)last + 1, sizeof(*row));
	if (!row)
		return -ENOMEM;
	for (uint32_t i = 0; i < h->rows; i++)
		for (uint32_t at = h->row[i]; at < h->row[i + 1]; at++)
			row[h->rank[at].rank] = i;
	for (int32_t r = 0; r <= last; r++)
		sql_add(q, "%s%u", r ? "," : "[", row[r]);
	sql_add(q, "]");
	free(row);
	return 0;
}

static int ask_cells(struct heat *x, struct store_why *why)
{
	const struct fleet_heat *h = &x->h;
	const char *v = measured[x->a->measure];
	struct sql q;
	int err;

	sql_init(&q);
	sql_add(&q,
		"SELECT toUInt64(intDiv((step - %" PRIu64 " + 1) * %u - 1, %" PRIu64 ") +"
		" %u * arrayElement(",
		h->first, h->columns, h->steps, h->columns);
	err = rows_of_ranks(&q, h);
	if (err) {
		sql_fini(&q);
		return err;
	}
	sql_add(&q,
		", toUInt32(r) + 1)) AS k, toFloat64(max(v / m)), toFloat64(avg(v / m)),"
		" toInt64(argMax(r, v / m)), toUInt64(argMax(step, v / m)),"
		" toFloat64(argMax(v, v / m)) FROM (SELECT step, rank AS r, toFloat64(%s) AS v"
		" FROM step WHERE ",
		v);
	chosen(&q, x);
	sql_add(&q,
		") ANY INNER JOIN (SELECT step, toFloat64(quantileExact(0.5)(%s)) AS m FROM step"
		" WHERE ",
		v);
	chosen(&q, x);
	sql_add(&q, " GROUP BY step HAVING m > 0) USING (step) GROUP BY k");
	return ask_sql(x->f, &q, "qddlqd", (uint64_t)h->rows * h->columns + 1, on_cell, &x->h, why);
}

void fleet_heat_fini(struct fleet_heat *h)
{
	free(h->rank);
	free(h->row);
	free(h->step);
	free(h->cell);
	*h = (struct fleet_heat){ .ranks = 0 };
}

int fleet_heat(struct fleet_heat *out, struct fleet *f, const struct fleet_heat_ask *a,
	       struct store_why *why)
{
	struct heat x = { .f = f, .a = a, .h = { .every = 1 } };
	struct fleet_heat *h = &x.h;
	int err;

	h->first = a->from_step;
	h->last = a->to_step;
	err = ask_who(&x, why);
	if (!err && h->ranks) {
		h->first = x.first;
		h->last = x.last;
		h->steps = h->all = x.last - x.first + 1;
		if (choose_steps(&x))
			err = ask_who(&x, why);
	}
	err = err ? err : lay(&x);
	if (!err && h->columns && h->rows)
		err = ask_cells(&x, why);
	if (err)
		fleet_heat_fini(h);
	else
		*out = *h;
	return err;
}

/* --- one rank --- */

static int on_step(void *arg, const struct rowin_field *f)
{
	struct fleet_steps *x = arg;
	struct fleet_step *s = ask_grow(&x->s, &x->n, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = (struct fleet_step){ f[0].u, f[1].u, f[2].d, f[3].d, f[4].d, f[5].d, f[6].d };
	return 0;
}

void fleet_steps_fini(struct fleet_steps *x)
{
	free(x->s);
	*x = (struct fleet_steps){ .n = 0 };
}

int fleet_steps(struct fleet_steps *out, struct fleet *f, const char *job, int32_t rank,
		uint64_t last, size_t most, struct store_why *why)
{
	struct fleet_steps x = { .n = 0 };
	int err = ask_rows(
		&(struct question){ f, job, { 0 }, "qqddddd", most, on_step, &x, why },
		"SELECT toUInt64(step), t_ns, toFloat64(step_ns), toFloat64(compute_ns), "
		"toFloat64(comm_ns), toFloat64(exposed_ns), toFloat64(idle_ns) FROM step "
		"WHERE {job} AND rank = %d AND step <= %" PRIu64 " ORDER BY step DESC LIMIT %zu",
		rank, last, most);

	if (err)
		fleet_steps_fini(&x);
	else
		*out = x;
	return err;
}
