/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask_overview.c - where are GPU hours lost? Jobs by what they lost, nodes by how long others waited for them.
 *
 * All comes from roll-ups, processes and heartbeats: the cost grows with jobs, ranks and hours, not
 * with steps. A node that stopped reporting is in the list; no mean hides it.
 */
#include "fleet/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

#define JOBS  100000u
#define NODES 100000u
#define SEEN  UINT64_C(7200000000000)

/*
 * For each job and hour: sums, the loss, and the rank with most work of its own. FINAL makes the
 * server merge partial rows in the table's order, which takes a third of the time of grouping by
 * rank.
 */
#define HOURS_OF_JOBS                                                                              \
	"(SELECT job, hour_ns AS h, sum(steps) AS hn, sum(all_ns) AS hs, sum(busy_ns) AS hc,"      \
	" sum(bare_ns) AS hx, sum(rest_ns) AS hi, greatest(hx - hn * min(bare_ns / steps), 0) AS " \
	"hl,"                                                                                      \
	" argMax(rank, (all_ns - bare_ns) / steps) AS r, count() AS hr,"                           \
	" max((all_ns - bare_ns) / steps) / quantileExact(0.5)((all_ns - bare_ns) / steps) - 1 "   \
	"AS over"                                                                                  \
	" FROM rank_hour FINAL WHERE {job}{hours} AND steps > 0 GROUP BY job, h)"

/* The host of each rank. */
#define HOSTS_OF_RANKS                                                                             \
	"(SELECT job, rank, anyLast(host) AS node FROM process WHERE {job} AND end_ns >= %" PRIu64 \
	" GROUP BY job, rank)"

/* --- jobs --- */

static struct fleet_job *job_of(struct fleet_overview *o, const char *name)
{
	size_t lo = 0, hi = o->jobs; /* sorted by name while they are collected */

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = strcmp(o->job[mid].job, name);

		if (!c)
			return &o->job[mid];
		*(c < 0 ? &lo : &hi) = c < 0 ? mid + 1 : mid;
	}
	return NULL;
}

static int on_process(void *arg, const struct rowin_field *f)
{
	struct fleet_overview *o = arg;
	struct fleet_job *j = ask_grow(&o->job, &o->jobs, sizeof(*j));

	if (!j)
		return -ENOMEM;
	ask_word(j->job, sizeof(j->job), &f[0]);
	ask_word(j->user, sizeof(j->user), &f[1]);
	j->ranks = (uint32_t)f[2].u;
	j->gpus = (uint32_t)f[3].u;
	j->hosts = (uint32_t)f[4].u;
	j->world = (uint32_t)f[5].u;
	j->begin_ns = f[6].u;
	j->end_ns = f[7].u;
	j->live = f[8].u;
	j->sum.held_ns = f[9].d;
	ask_word(j->gpu, sizeof(j->gpu), &f[10]);
	ask_word(j->driver, sizeof(j->driver), &f[11]);
	ask_word(j->framework, sizeof(j->framework), &f[12]);
	j->slow_rank = -1;
	if (j->live)
		o->gpus += j->gpus;
	return 0;
}

int ask_jobs(struct fleet_overview *o, struct fleet *f, const char *job, struct store_why *why)
{
	struct fleet_span s = o->span;

	return ask_rows(
		&(struct question){ f, job, { 0 }, "ssqqqqqqqdsss", JOBS, on_process, o, why },
		"SELECT jb, any(u), toUInt64(count()), toUInt64(sum(g)), toUInt64(uniqExact(w)), "
		"toUInt64(max(wd)), toUInt64(min(b)), toUInt64(max(e)), toUInt64(max(lv)), "
		"toFloat64(sum(g * toFloat64(greatest(toInt64(least(e, %" PRIu64
		")) - toInt64(greatest(b, %" PRIu64
		")), 0)))), any(gm), any(dr), any(fw) FROM (SELECT proc, any(job) AS jb, any(user) "
		"AS u, any(host) AS w, max(world) AS wd, min(begin_ns) AS b, max(end_ns) AS e, "
		"argMax(live, end_ns) AS lv, if(any(gpu_uuid) = '', toUInt64(any(rank) >= 0), "
		"length(splitByChar(',', any(gpu_uuid)))) AS g, any(gpu_model) AS gm, any(driver) "
		"AS dr, any(framework) AS fw FROM process WHERE {job} AND end_ns >= %" PRIu64
		" AND begin_ns < %" PRIu64 " GROUP BY proc) GROUP BY jb ORDER BY jb",
		s.to_ns, s.from_ns, s.from_ns, s.to_ns);
}

static int by_host(const void *a, const void *b)
{
	return strcmp(((const struct fleet_node *)a)->host, ((const struct fleet_node *)b)->host);
}

static struct fleet_node *node_of(struct fleet_overview *o, const char *host)
{
	struct fleet_node key;

	snprintf(key.host, sizeof(key.host), "%s", host);
	return o->nodes ? bsearch(&key, o->node, o->nodes, sizeof(key), by_host) : NULL;
}

/*
 * Adds the hours of a job in which the same rank (-1: none) had more work of its own than the
 * others.
 */
static int on_sum(void *arg, const struct rowin_field *f)
{
	struct fleet_overview *o = arg;
	struct fleet_job *j = job_of(o, f[0].text);
	struct fleet_node *n = f[7].i >= 0 ? node_of(o, f[9].text) : NULL;
	struct fleet_sum s = { .steps = 0 };

	ask_sum(&s, f + 1);
	if (n && s.lost_ns > 0) {
		n->lost_ns += s.lost_ns;
		if (s.lost_ns > n->most_ns) {
			n->most_ns = s.lost_ns;
			ask_word(n->job, sizeof(n->job), &f[0]);
		}
	}
	if (!j)
		return 0; /* its processes have not arrived yet */
	ask_sum_add(&j->sum, &s);
	if (f[7].i >= 0 && s.lost_ns > j->most_ns) {
		j->most_ns = s.lost_ns;
		j->slow_rank = (int32_t)f[7].i;
		j->slow_over = f[8].d;
		ask_word(j->slow_host, sizeof(j->slow_host), &f[9]);
	}
	return 0;
}

int ask_job_sums(struct fleet_overview *o, struct fleet *f, const char *job, struct store_why *why)
{
	struct question q = { f, job, o->span, "s" ASK_SUM_TYPES "lds", JOBS, on_sum, o, why };
	int err = ask_rows(
		&q,
		"SELECT job, jn, js, jc, jx, ji, jl, toInt64(rank), jo, node FROM"
		" (SELECT job, if(hr > 1 AND over >= %g, r, -1) AS rank, toUInt64(sum(hn)) AS jn,"
		" toFloat64(sum(hs)) AS js, toFloat64(sum(hc)) AS jc, toFloat64(sum(hx)) AS jx,"
		" toFloat64(sum(hi)) AS ji, toFloat64(sum(hl)) AS jl, toFloat64(max(over)) AS jo"
		" FROM " HOURS_OF_JOBS " GROUP BY job, rank) ANY LEFT JOIN " HOSTS_OF_RANKS
		" USING (job, rank)",
		FLEET_OVER, o->span.from_ns);

	for (size_t i = 0; i < o->jobs && !err; i++) {
		struct fleet_job *j = &o->job[i];

		j->sum.held_ns = fmax(j->sum.held_ns, j->sum.step_ns);
		j->step_ns = j->sum.steps ? j->sum.step_ns / (double)j->sum.steps : 0;
	}
	return err;
}

/* --- nodes --- */

static int on_seen(void *arg, const struct rowin_field *f)
{
	struct fleet_overview *o = arg;
	struct fleet_node *n = ask_grow(&o->node, &o->nodes, sizeof(*n));

	if (!n)
		return -ENOMEM;
	ask_word(n->host, sizeof(n->host), &f[0]);
	ask_word(n->rack, sizeof(n->rack), &f[1]);
	n->seen_ns = f[2].u;
	n->leaf = (uint32_t)f[3].u;
	n->silent = o->span.to_ns > n->seen_ns && o->span.to_ns - n->seen_ns > FLEET_SILENT_NS;
	ask_word(n->version, sizeof(n->version), &f[4]);
	n->processes = (uint32_t)f[5].u;
	n->lost_records = f[6].u;
	n->spool_bytes = f[7].u;
	n->clock_off_us = f[9].u == UINT32_MAX ? INT64_MAX : f[8].i;
	o->silent += n->silent;
	return 0;
}

/*
 * The last heartbeat of each hour, over two hours. A node that is silent for longer is known from
 * the processes it had; otherwise it was removed. Its other facts come from its last heartbeat,
 * `k`.
 */
static int seen_nodes(struct fleet_overview *o, struct fleet *f, struct store_why *why)
{
	uint64_t from = o->span.to_ns > SEEN ? o->span.to_ns - SEEN : 0;

	return ask_rows(
		&(struct question){ f, NULL, (struct fleet_span){ from, o->span.to_ns },
				    "ssqqsqqqlq", NODES, on_seen, o, why },
		"SELECT hst, any(rck), toUInt64(max(t)), toUInt64(max(lf)), argMax(v, k), "
		"argMax(p, k), argMax(l, k), argMax(sp, k), argMax(off, k), argMax(err, k) FROM "
		"(SELECT host AS hst, rack AS rck, least(seen_ns, %" PRIu64
		") AS t, leaf AS lf, version AS v, toUInt64(processes) AS p, lost AS l, "
		"spool_bytes AS sp, toInt64(clock_off_us) AS off, toUInt64(clock_err_us) AS err, "
		"seen_ns AS k FROM node_hour WHERE {cluster}{hours} UNION ALL SELECT host AS hst, "
		"any(rack) AS rck, max(end_ns) AS t, max(leaf) AS lf, '' AS v, toUInt64(0) AS p, "
		"toUInt64(0) AS l, toUInt64(0) AS sp, toInt64(0) AS off, toUInt64(4294967295) AS "
		"err, toUInt64(0) AS k FROM process WHERE {cluster} AND end_ns >= %" PRIu64
		" AND begin_ns < %" PRIu64 " GROUP BY hst) GROUP BY hst ORDER BY hst",
		o->span.to_ns, o->span.from_ns, o->span.to_ns);
}

/* --- the whole answer --- */

static int on_drops(void *arg, const struct rowin_field *f)
{
	*(uint64_t *)arg = f[0].u;
	return 0;
}

static int drops(struct fleet_overview *o, struct fleet *f, struct store_why *why)
{
	return ask_rows(
		&(struct question){ f, NULL, { 0 }, "q", 1, on_drops, &o->drops, why },
		"SELECT toUInt64(sum(rows)) FROM `drop` WHERE {cluster} AND t_ns >= %" PRIu64
		" AND t_ns < %" PRIu64,
		o->span.from_ns, o->span.to_ns);
}

static int first_findings(struct fleet_overview *o, struct fleet *f, struct store_why *why)
{
	struct fleet_findings fs;
	int err = fleet_findings(&fs, f, NULL, o->span, JOBS, why);

	for (size_t i = 0; !err && i < fs.n; i++) {
		struct fleet_job *j = job_of(o, fs.f[i].job);

		if (j && !*j->finding) /* findings are sorted, the costliest first */
			memcpy(j->finding, fs.f[i].text, sizeof(j->finding));
	}
	if (!err)
		fleet_findings_fini(&fs);
	return err;
}

/* GPU time that is lost: allocated but in no step, or spent waiting for other ranks. */
static double gone(const struct fleet_job *j)
{
	return fleet_outside(&j->sum) + j->sum.lost_ns + j->sum.idle_ns;
}

static int by_loss(const void *a, const void *b)
{
	const struct fleet_job *x = a, *y = b;

	return cmp_num(gone(y), gone(x)) ?: strcmp(x->job, y->job);
}

static int by_need(const void *a, const void *b)
{
	const struct fleet_node *x = a, *y = b;

	return cmp_num(y->silent, x->silent) ?: cmp_num(y->lost_ns, x->lost_ns) ?: by_host(a, b);
}

void fleet_overview_fini(struct fleet_overview *o)
{
	free(o->job);
	free(o->node);
	*o = (struct fleet_overview){ .jobs = 0 };
}

int fleet_overview(struct fleet_overview *out, struct fleet *f, struct fleet_span span,
		   struct store_why *why)
{
	struct fleet_overview o = { .span = span };
	int err = ask_jobs(&o, f, NULL, why);

	err = err ? err : seen_nodes(&o, f, why);
	/* also fills the time that each node was waited for */
	err = err ? err : ask_job_sums(&o, f, NULL, why);
	err = err ? err : first_findings(&o, f, why);
	err = err ? err : drops(&o, f, why);
	if (err) {
		fleet_overview_fini(&o);
		return err;
	}
	for (size_t i = 0; i < o.jobs; i++)
		ask_sum_add(&o.sum, &o.job[i].sum);
	if (o.jobs)
		qsort(o.job, o.jobs, sizeof(*o.job), by_loss);
	if (o.nodes)
		qsort(o.node, o.nodes, sizeof(*o.node), by_need);
	*out = o;
	return 0;
}
