/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_fleet.c - the page's queries of a cluster: overview, a job, its ranks and steps, two jobs,
 * versions.
 *
 * The user who runs the server has the password and sees everything. Other users see their own jobs
 * in full, and of other jobs only size and loss.
 */
#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "fleet/answer_json.h"
#include "serve/api/api.h"

#define DAY_S          86400u
#define YEAR_S         (366u * DAY_S)
#define TIME_S         4102444800u /* the year 2100 */
#define WIDE           400u
#define HIGH           128u
#define MOST           1024u
#define STEP_LAST      UINT32_MAX
#define RANK_STEPS     300u /* steps of a rank, by default */
#define RANK_STEPS_MAX 10000u

/* Passes the cluster's error on to the client. */
static int told(struct ask *q, int err)
{
	if (err == -ENOENT || err == -ENOMEM || err == -EFBIG || !err)
		return err;
	ask_mistake(q, "%s", *q->why.text ? q->why.text : strerror(-err));
	return -EHOSTDOWN;
}

static int ask_span(struct ask *q, struct fleet_span *s)
{
	uint64_t since = DAY_S, until = clock_wall_ns() / 1000000000u;

	if (ask_number(q, "since", 1, YEAR_S, &since) < 0 ||
	    ask_number(q, "until", YEAR_S, TIME_S, &until) < 0)
		return -EINVAL;
	*s = (struct fleet_span){ (until - since) * 1000000000u, until * 1000000000u };
	return 0;
}

static bool may(void *arg, const char *user)
{
	const struct viewer *who = arg;
	char buf[4096];
	struct passwd pw, *found = NULL;

	if (who->all || who->uid == geteuid())
		return true;
	return !getpwuid_r(who->uid, &pw, buf, sizeof(buf), &found) && found &&
	       !strcmp(pw.pw_name, user);
}

static struct fleet_viewer viewer_of(const struct ask *q)
{
	return (struct fleet_viewer){ may, (void *)(uintptr_t)q->who };
}

static int need_job(struct ask *q, const char *key, const char **job)
{
	*job = url_get(&q->url, key);
	return *job && **job ? 0 : ask_mistake(q, "%s must name a job", key);
}

/* The report of a job; -ENOENT if the client may not see it. */
static int get_report(struct ask *q, const char *job, struct fleet_span span,
		      struct fleet_report *r)
{
	struct fleet_viewer v = viewer_of(q);
	int err = told(q, fleet_report(r, q->s->fleet, job, span, &q->why));

	if (!err && !fleet_may(&v, r->job.user)) {
		fleet_report_fini(r);
		err = -ENOENT;
	}
	return err;
}

int api_fleet(struct ask *q, struct json *j)
{
	struct fleet_viewer v = viewer_of(q);
	struct fleet_overview o;
	struct fleet_span span;
	int err = ask_span(q, &span);

	err = err ? err : told(q, fleet_overview(&o, q->s->fleet, span, &q->why));
	if (err)
		return err;
	json_members(j, J_BOOL("partial", o.silent > 0),
		     J_STR("cluster", fleet_shown(q->s->fleet)));
	fleet_overview_json(j, &o, &v);
	fleet_overview_fini(&o);
	return 0;
}

int api_fleet_job(struct ask *q, struct json *j)
{
	struct fleet_viewer v = viewer_of(q);
	struct fleet_report r;
	struct fleet_span span;
	const char *job;
	int err = need_job(q, "job", &job);

	err = err ? err : ask_span(q, &span);
	err = err ? err : get_report(q, job, span, &r);
	if (err)
		return err;
	json_bool(j, "partial", false);
	fleet_report_json(j, &r, &v);
	fleet_report_fini(&r);
	return 0;
}

/* A client that may not see a job's name may not see its ranks. */
static int may_see_job(struct ask *q, const char *job)
{
	struct fleet_viewer v = viewer_of(q);
	char user[FLEET_WORD] = "";
	int err = told(q, fleet_job_user(q->s->fleet, job, user, &q->why));

	return err ? err : fleet_may(&v, user) ? 0 : -ENOENT;
}

int api_fleet_heat(struct ask *q, struct json *j)
{
	int err, measure = ask_choice(q, "measure", "own|dur|comm|idle"),
		 order = ask_choice(q, "order", "rank|host|leaf|slow");
	uint64_t wide = WIDE, high = HIGH, s0 = 0, s1 = STEP_LAST, newest = 0;
	struct fleet_heat_ask want;
	struct fleet_heat h;
	const char *job;

	if (measure < 0 || order < 0 || ask_number(q, "w", 1, MOST, &wide) < 0 ||
	    ask_number(q, "h", 1, MOST, &high) < 0 || ask_number(q, "s0", 0, STEP_LAST, &s0) < 0 ||
	    ask_number(q, "s1", 0, STEP_LAST, &s1) < 0 ||
	    ask_number(q, "newest", 0, 1, &newest) < 0)
		return -EINVAL;
	err = need_job(q, "job", &job);
	err = err ? err : may_see_job(q, job);
	if (err)
		return err;
	want = (struct fleet_heat_ask){ job,
					(enum fleet_measure)measure,
					(enum fleet_order)order,
					(uint32_t)wide,
					(uint32_t)high,
					s0,
					s1,
					newest };
	err = told(q, fleet_heat(&h, q->s->fleet, &want, &q->why));
	if (err)
		return err;
	json_bool(j, "partial", h.every > 1 || h.steps < h.all);
	fleet_heat_json(j, &h);
	fleet_heat_fini(&h);
	return 0;
}

int api_fleet_rank(struct ask *q, struct json *j)
{
	uint64_t rank = UINT64_MAX, last = STEP_LAST, most = RANK_STEPS;
	struct fleet_steps x;
	const char *job;
	int err;

	if (ask_number(q, "rank", 0, INT32_MAX, &rank) < 0 ||
	    ask_number(q, "last", 0, STEP_LAST, &last) < 0 ||
	    ask_number(q, "limit", 1, RANK_STEPS_MAX, &most) < 0)
		return -EINVAL;
	if (rank == UINT64_MAX)
		return ask_mistake(q, "rank is missing");
	err = need_job(q, "job", &job);
	err = err ? err : may_see_job(q, job);
	if (!err)
		err = told(q,
			   fleet_steps(&x, q->s->fleet, job, (int32_t)rank, last, most, &q->why));
	if (err)
		return err;
	json_bool(j, "partial", false);
	fleet_steps_json(j, (int32_t)rank, &x);
	fleet_steps_fini(&x);
	return 0;
}

int api_fleet_diff(struct ask *q, struct json *j)
{
	const char *job, *vs = url_get(&q->url, "vs");
	struct fleet_span span, side[2];
	struct fleet_report r[2];
	uint64_t at = 0;
	int err = need_job(q, "job", &job);

	err = err ? err : ask_span(q, &span);
	err = err ? err : ask_number(q, "at", YEAR_S, TIME_S, &at);
	if (err)
		return err;
	side[0] = side[1] = span;
	if (!vs == !at)
		return ask_mistake(q, "give vs (another job) or at (a moment of this job)");
	if (at) {
		side[0].to_ns = side[1].from_ns = at * 1000000000u;
		if (side[0].to_ns <= span.from_ns || side[0].to_ns >= span.to_ns)
			return ask_mistake(q, "at is outside the selected time");
	}
	/* The requested job is B, like the second argument on the command line. */
	err = get_report(q, at ? job : vs, side[0], &r[0]);
	if (err)
		return err;
	err = get_report(q, job, side[1], &r[1]);
	if (!err) {
		json_bool(j, "partial", false);
		fleet_compare_json(j, &r[0], &r[1]);
		fleet_report_fini(&r[1]);
	}
	fleet_report_fini(&r[0]);
	return err;
}

int api_fleet_versions(struct ask *q, struct json *j)
{
	struct fleet_changes cs;
	struct fleet_span span;
	int err = ask_span(q, &span);

	err = err ? err : told(q, fleet_changes(&cs, q->s->fleet, span, &q->why));
	if (err)
		return err;
	json_bool(j, "partial", false);
	fleet_changes_json(j, &cs);
	fleet_changes_fini(&cs);
	return 0;
}
