/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask_heat.c - ranks x steps: is it one rank, one moment, or everybody?
 *
 * A cell is what its ranks took in its steps against the median of all ranks in the same step, so
 * that a step which is long for everybody is no one's fault. ClickHouse makes the cells; of a job
 * with more rows than LOOKED every so-many-th step is looked at, and the answer says so.
 */
#include "fleet/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOOKED 2000000u /* rows of steps: a second of one core, about */

static const char *const measured[FLEET_MEASURES] = {
	[FLEET_OWN] = "step_ns - exposed_ns",
	[FLEET_STEP] = "step_ns",
	[FLEET_COMM] = "exposed_ns",
	[FLEET_IDLE] = "idle_ns",
};

static int on_extent(void *arg, const struct rowin_field *f)
{
	struct fleet_heat *h = arg;

	h->steps = f[0].u ? f[2].u - f[1].u + 1 : 0;
	h->first = f[1].u;
	h->last = f[2].u;
	return 0;
}

static int on_ranks(void *arg, const struct rowin_field *f)
{
	struct fleet_heat *h = arg;

	h->ranks = (uint32_t)f[0].u;
	return 0;
}

static int ask_extent(struct fleet_heat *h, struct fleet *f, const char *job, uint64_t from,
		      uint64_t to, struct store_why *why)
{
	struct sql q;
	int err;

	sql_init(&q);
	sql_add(&q, "SELECT toUInt64(count()), toUInt64(min(step)), toUInt64(max(step)) FROM step"
		    " WHERE ");
	ask_where(&q, f, job);
	sql_add(&q, " AND step >= %" PRIu64 " AND step <= %" PRIu64 " FORMAT RowBinary", from, to);
	err = ask_sql(f, &q, "qqq", 1, on_extent, h, why);
	if (err)
		return err;
	sql_init(&q);
	sql_add(&q, "SELECT toUInt64(max(rank) + 1) FROM rank_hour WHERE ");
	ask_where(&q, f, job);
	sql_add(&q, " AND rank >= 0 FORMAT RowBinary");
	return ask_sql(f, &q, "q", 1, on_ranks, h, why);
}

/* The steps that are looked at, as numbers: found by the table's order, all others are not read. */
static void chosen(struct sql *q, const struct fleet_heat *h, const struct fleet *f,
		   const char *job)
{
	ask_where(q, f, job);
	sql_add(q, " AND rank >= 0 AND step >= %" PRIu64 " AND step <= %" PRIu64, h->first,
		h->last);
	if (h->every > 1)
		sql_add(q,
			" AND step IN (SELECT toUInt32(%" PRIu64 " + number * %" PRIu64
			") FROM system.numbers LIMIT %" PRIu64 ")",
			h->first, h->every, (h->steps + h->every - 1) / h->every);
}

static void ratios(struct sql *q, const struct fleet_heat *h, const struct fleet *f,
		   const char *job, enum fleet_measure m)
{
	sql_add(q, "(SELECT step, rank AS r, toFloat64(%s) AS v FROM step WHERE ", measured[m]);
	chosen(q, h, f, job);
	sql_add(q,
		") ANY INNER JOIN (SELECT step, toFloat64(quantileExact(0.5)(%s)) AS m FROM step"
		" WHERE ",
		measured[m]);
	chosen(q, h, f, job);
	sql_add(q, " GROUP BY step HAVING m > 0) USING (step)");
}

static int on_cell(void *arg, const struct rowin_field *f)
{
	struct fleet_heat *h = arg;
	size_t at;

	if (f[0].u >= h->columns || f[1].u >= h->rows)
		return 0;
	at = (size_t)f[1].u * h->columns + (size_t)f[0].u;
	h->worst[at] = (float)(f[2].d - 1);
	h->mean[at] = (float)(f[3].d - 1);
	return 0;
}

static int on_slow(void *arg, const struct rowin_field *f)
{
	struct fleet_heat *h = arg;

	if (h->slows < sizeof(h->slow) / sizeof(h->slow[0]))
		h->slow[h->slows++] =
			(struct fleet_rank){ .rank = (int32_t)f[0].i, .over = f[1].d - 1 };
	return 0;
}

/* The begin of part i of n things in `parts`; in SQL it is intDiv((x + 1) * parts - 1, n). */
static uint64_t cut(uint64_t i, uint64_t n, uint64_t parts)
{
	return i * n / parts;
}

static int lay(struct fleet_heat *h)
{
	size_t cells = (size_t)h->rows * h->columns;

	h->rank = calloc(h->rows + 1u, sizeof(*h->rank));
	h->step = calloc(h->columns + 1u, sizeof(*h->step));
	h->worst = malloc((cells + 1) * sizeof(*h->worst));
	h->mean = malloc((cells + 1) * sizeof(*h->mean));
	if (!h->rank || !h->step || !h->worst || !h->mean)
		return -ENOMEM;
	for (uint32_t i = 0; i < h->rows; i++)
		h->rank[i] = (int32_t)cut(i, h->ranks, h->rows);
	for (uint32_t i = 0; i < h->columns; i++)
		h->step[i] = h->first + cut(i, h->steps, h->columns);
	for (size_t i = 0; i < cells; i++)
		h->worst[i] = h->mean[i] = NAN;
	return 0;
}

static int ask_cells(struct fleet_heat *h, struct fleet *f, const char *job, enum fleet_measure m,
		     struct store_why *why)
{
	struct sql q;
	int err;

	sql_init(&q);
	sql_add(&q,
		"SELECT toUInt64(intDiv((step - %" PRIu64 " + 1) * %u - 1, %" PRIu64 ")) AS x,"
		" toUInt64(intDiv((toUInt64(r) + 1) * %u - 1, %u)) AS y, toFloat64(max(v / m)),"
		" toFloat64(avg(v / m)) FROM ",
		h->first, h->columns, h->steps, h->rows, h->ranks);
	ratios(&q, h, f, job, m);
	sql_add(&q, " GROUP BY x, y FORMAT RowBinary");
	err = ask_sql(f, &q, "qqdd", (uint64_t)h->rows * h->columns + 1, on_cell, h, why);
	if (err)
		return err;
	sql_init(&q);
	sql_add(&q, "SELECT toInt64(r), toFloat64(avg(v / m)) AS o FROM ");
	ratios(&q, h, f, job, m);
	sql_add(&q, " GROUP BY r ORDER BY o DESC, r LIMIT 8 FORMAT RowBinary");
	return ask_sql(f, &q, "ld", 8, on_slow, h, why);
}

void fleet_heat_fini(struct fleet_heat *h)
{
	free(h->rank);
	free(h->step);
	free(h->worst);
	free(h->mean);
	*h = (struct fleet_heat){ .ranks = 0 };
}

int fleet_heat(struct fleet_heat *out, struct fleet *f, const char *job, enum fleet_measure measure,
	       uint32_t wide, uint32_t high, uint64_t from_step, uint64_t to_step,
	       struct store_why *why)
{
	struct fleet_heat h = { .every = 1 };
	int err = ask_extent(&h, f, job, from_step, to_step, why);

	if (err)
		return err;
	if (h.ranks) {
		uint64_t rows = h.steps * h.ranks;

		h.every = rows > LOOKED ? (rows + LOOKED - 1) / LOOKED : 1;
		h.columns = h.steps < wide ? (uint32_t)h.steps : wide;
		/* A column without a step that was looked at would be a hole. */
		if (h.columns > (h.steps + h.every - 1) / h.every)
			h.columns = (uint32_t)((h.steps + h.every - 1) / h.every);
		h.rows = h.ranks < high ? h.ranks : high;
	}
	err = lay(&h);
	if (!err && h.columns && h.rows)
		err = ask_cells(&h, f, job, measure, why);
	if (err)
		fleet_heat_fini(&h);
	else
		*out = h;
	return err;
}
