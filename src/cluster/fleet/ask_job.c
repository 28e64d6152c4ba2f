/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask_job.c - a job and its ranks: which ranks the others wait for, parts of steps, kernels, hours.
 */
#include "fleet/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/order.h"
#include "model/event.h"

#define RANKS 1000000u
#define HOURS 10000u

/* --- ranks --- */

static int on_rank(void *arg, const struct rowin_field *f)
{
	struct fleet_report *r = arg;
	struct fleet_rank *x = ask_grow(&r->rank, &r->ranks, sizeof(*x));

	if (!x)
		return -ENOMEM;
	x->rank = (int32_t)f[0].i;
	ask_sum(&x->sum, f + 1);
	ask_word(x->host, sizeof(x->host), &f[7]);
	x->leaf = (uint32_t)f[8].u;
	ask_word(x->rack, sizeof(x->rack), &f[9]);
	if (x->sum.steps)
		x->own_ns = (x->sum.step_ns - x->sum.exposed_ns) / (double)x->sum.steps;
	return 0;
}

/* Waiting beyond that of the rank that waits least, and own work relative to the median. */
static int compare_ranks(struct fleet_report *r)
{
	double *own = calloc(r->ranks + 1, sizeof(*own)), median, least = INFINITY;

	if (!own)
		return -ENOMEM;
	for (size_t i = 0; i < r->ranks; i++) {
		const struct fleet_sum *s = &r->rank[i].sum;

		own[i] = r->rank[i].own_ns;
		if (s->steps)
			least = fmin(least, s->exposed_ns / (double)s->steps);
	}
	if (r->ranks)
		qsort(own, r->ranks, sizeof(*own), cmp_double);
	median = r->ranks ? own[r->ranks / 2] : 0;
	free(own);
	for (size_t i = 0; i < r->ranks; i++) {
		struct fleet_rank *x = &r->rank[i];

		x->over = median > 0 ? x->own_ns / median - 1 : 0;
		x->sum.lost_ns = fmax(0, x->sum.exposed_ns - (double)x->sum.steps * least);
	}
	return 0;
}

static int ask_ranks_of(struct fleet_report *r, struct fleet *f, const char *job,
			struct store_why *why)
{
	int err = ask_rows(
		&(struct question){ f, job, r->span, "l" ASK_SUM_TYPES "sqs", RANKS, on_rank, r,
				    why },
		"SELECT toInt64(rank), n, s, c, x, i, 0.0, node, toUInt64(lf), rk FROM "
		"(SELECT rank, toUInt64(sum(steps)) AS n, toFloat64(sum(all_ns)) AS s, "
		"toFloat64(sum(busy_ns)) AS c, toFloat64(sum(bare_ns)) AS x, "
		"toFloat64(sum(rest_ns)) AS i FROM rank_hour WHERE {job}{hours} GROUP BY "
		"rank) ANY LEFT JOIN (SELECT rank, anyLast(host) AS node, anyLast(leaf) AS "
		"lf, anyLast(rack) AS rk FROM process WHERE {job} AND end_ns >= %" PRIu64
		" GROUP BY rank) USING (rank) ORDER BY rank",
		r->span.from_ns);

	return err ? err : compare_ranks(r);
}

const struct fleet_rank *fleet_slow_rank(const struct fleet_report *r)
{
	const struct fleet_rank *slow = NULL;

	for (size_t i = 0; i < r->ranks; i++)
		if (r->rank[i].over >= FLEET_OVER && (!slow || r->rank[i].over > slow->over))
			slow = &r->rank[i];
	return r->ranks > 1 ? slow : NULL;
}

/* --- hours --- */

static int on_hour(void *arg, const struct rowin_field *f)
{
	struct fleet_report *r = arg;
	struct fleet_hour *h = ask_grow(&r->hour, &r->hours, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->t_ns = f[0].u;
	ask_sum(&h->sum, f + 1);
	h->ranks = (uint32_t)f[7].u;
	return 0;
}

static int ask_hours_of(struct fleet_report *r, struct fleet *f, const char *job,
			struct store_why *why)
{
	return ask_rows(
		&(struct question){ f, job, r->span, "q" ASK_SUM_TYPES "q", HOURS, on_hour, r,
				    why },
		"SELECT h, toUInt64(sum(n)), toFloat64(sum(s)), toFloat64(sum(c)), "
		"toFloat64(sum(x)), toFloat64(sum(i)), toFloat64(sum(x) - sum(n) * min(x / n)), "
		"toUInt64(count()) FROM (SELECT hour_ns AS h, rank, sum(steps) AS n, sum(all_ns) "
		"AS s, sum(busy_ns) AS c, sum(bare_ns) AS x, sum(rest_ns) AS i FROM rank_hour "
		"WHERE {job}{hours} GROUP BY h, rank HAVING n > 0) GROUP BY h ORDER BY h");
}

/* --- kernels --- */

static int on_kernel(void *arg, const struct rowin_field *f)
{
	struct fleet_report *r = arg;
	struct fleet_kernel *k = ask_grow(&r->kernel, &r->kernels, sizeof(*k));

	if (!k)
		return -ENOMEM;
	k->name = f[0].u;
	k->kind = (uint32_t)f[1].u;
	k->count = f[2].u;
	k->total_ns = f[3].u;
	k->floor_ns = f[4].u;
	k->bytes = f[5].u;
	return 0;
}

static int on_all_kernels(void *arg, const struct rowin_field *f)
{
	struct fleet_report *r = arg;

	r->more_kernels = f[0].u;
	r->kernel_ns = f[1].u;
	return 0;
}

#define KERNELS " FROM kernel_hour WHERE {job}{hours} AND kind IN (%d, %d, %d, %d)"
#define KINDS   EVENT_KERNEL, EVENT_COPY, EVENT_MEMSET, EVENT_COLLECTIVE

static int name_kernels(struct fleet_report *r, struct fleet *f, struct store_why *why)
{
	struct ask_name *n = calloc(r->kernels + 1, sizeof(*n));
	int err;

	if (!n)
		return -ENOMEM;
	for (size_t i = 0; i < r->kernels; i++)
		n[i] = (struct ask_name){ r->kernel[i].name, &r->kernel[i].text };
	err = ask_names(f, n, r->kernels, why);
	free(n);
	return err;
}

static int ask_kernels_of(struct fleet_report *r, struct fleet *f, const char *job,
			  struct store_why *why)
{
	struct question q = { f, job, r->span, "qqqqqq", FLEET_KERNELS, on_kernel, r, why };
	int err = ask_rows(&q,
			   "SELECT name, toUInt64(kind), toUInt64(sum(calls)),"
			   " toUInt64(sum(busy_ns)) AS total, toUInt64(sum(limit_ns)),"
			   " toUInt64(sum(moved))" KERNELS
			   " GROUP BY name, kind ORDER BY total DESC, name LIMIT %u",
			   KINDS, FLEET_KERNELS);

	q = (struct question){ f, job, r->span, "qq", 1, on_all_kernels, r, why };
	if (!err)
		err = ask_rows(&q,
			       "SELECT toUInt64(uniqExact(name, kind)),"
			       " toUInt64(sum(busy_ns))" KERNELS,
			       KINDS);
	if (err)
		return err;
	r->more_kernels -= r->more_kernels > r->kernels ? r->kernels : r->more_kernels;
	r->more_ns = r->kernel_ns;
	for (size_t i = 0; i < r->kernels; i++)
		r->more_ns -=
			r->kernel[i].total_ns < r->more_ns ? r->kernel[i].total_ns : r->more_ns;
	return name_kernels(r, f, why);
}

/* --- steps, records --- */

static int on_steps(void *arg, const struct rowin_field *f)
{
	struct fleet_report *r = arg;

	r->steps = f[0].u;
	r->first_step = f[1].u;
	r->last_step = f[2].u;
	r->p50_ns = isfinite(f[3].d) ? f[3].d : 0;
	r->p99_ns = isfinite(f[4].d) ? f[4].d : 0;
	return 0;
}

/* All ranks take each step together, so one rank's steps are the job's. */
static int ask_steps_of(struct fleet_report *r, struct fleet *f, const char *job,
			struct store_why *why)
{
	if (!r->ranks)
		return 0;
	return ask_rows(
		&(struct question){ f, job, { 0 }, "qqqdd", 1, on_steps, r, why },
		"SELECT toUInt64(count()), toUInt64(min(step)), toUInt64(max(step)), "
		"toFloat64(quantileExact(0.5)(step_ns)), toFloat64(quantileExact(0.99)(step_ns)) "
		"FROM step WHERE {job} AND rank = %d AND t_ns >= %" PRIu64 " AND t_ns < %" PRIu64,
		r->rank[0].rank, r->span.from_ns, r->span.to_ns);
}

static int on_records(void *arg, const struct rowin_field *f)
{
	struct fleet_report *r = arg;

	r->emitted = f[0].u;
	r->stored = f[1].u;
	r->lost = f[2].u;
	r->overwritten = f[3].u;
	return 0;
}

static int ask_records_of(struct fleet_report *r, struct fleet *f, const char *job,
			  struct store_why *why)
{
	return ask_rows(
		&(struct question){ f, job, { 0 }, "qqqq", 1, on_records, r, why },
		"SELECT toUInt64(sum(a)), toUInt64(sum(b)), toUInt64(sum(c)), toUInt64(sum(d)) "
		"FROM (SELECT proc, argMax(emitted, end_ns) AS a, argMax(stored, end_ns) AS b, "
		"argMax(lost, end_ns) AS c, argMax(overwritten, end_ns) AS d FROM process WHERE "
		"{job} AND end_ns >= %" PRIu64 " GROUP BY proc)",
		r->span.from_ns);
}

/* --- the whole answer --- */

static int on_user(void *arg, const struct rowin_field *f)
{
	ask_word(arg, FLEET_WORD, &f[0]);
	return f[1].u ? 0 : -ENOENT;
}

int fleet_job_user(struct fleet *f, const char *job, char user[FLEET_WORD], struct store_why *why)
{
	return ask_rows(&(struct question){ f, job, { 0 }, "sq", 1, on_user, user, why },
			"SELECT any(user), toUInt64(count()) FROM process WHERE {job}");
}

void fleet_report_fini(struct fleet_report *r)
{
	for (size_t i = 0; i < r->kernels; i++)
		free(r->kernel[i].text);
	free(r->kernel);
	free(r->rank);
	free(r->hour);
	fleet_findings_fini(&r->findings);
	*r = (struct fleet_report){ .ranks = 0 };
}

static int ask_head(struct fleet_report *r, struct fleet *f, const char *job, struct store_why *why)
{
	struct fleet_overview o = { .span = r->span };
	int err = ask_jobs(&o, f, job, why);

	err = err ? err : ask_job_sums(&o, f, job, why);
	if (!err && !o.jobs) {
		err = -ENOENT;
		if (why)
			snprintf(why->text, sizeof(why->text), "no job '%.100s' in that time", job);
	}
	if (!err)
		r->job = o.job[0];
	fleet_overview_fini(&o);
	return err;
}

int fleet_report(struct fleet_report *out, struct fleet *f, const char *job, struct fleet_span span,
		 struct store_why *why)
{
	struct fleet_report r = { .span = span };
	int err = ask_head(&r, f, job, why);

	err = err ? err : ask_ranks_of(&r, f, job, why);
	err = err ? err : ask_hours_of(&r, f, job, why);
	err = err ? err : ask_kernels_of(&r, f, job, why);
	err = err ? err : ask_steps_of(&r, f, job, why);
	err = err ? err : ask_records_of(&r, f, job, why);
	err = err ? err : fleet_findings(&r.findings, f, job, span, 100, why);
	if (err)
		fleet_report_fini(&r);
	else
		*out = r;
	return err;
}
