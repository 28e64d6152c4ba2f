/* SPDX-License-Identifier: Apache-2.0 */
/* aon overhead - what recording costs each program: measured, accounted, and what it may. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/cluster/fleet_ask.h"
#include "cli/core/locate.h"
#include "cli/report/report.h"
#include "govern/govern.h"

static char *percent(char *buf, size_t cap, double millionths)
{
	snprintf(buf, cap, "%.2f %%", millionths / 1e4);
	return buf;
}

/* --- over time --- */

#define BARS 16u

struct series;
typedef void point_fn(struct series *s, uint64_t at_ns, int64_t millionths);

struct series {
	point_fn *point;
	struct json *j;                  /* of those for programs */
	uint64_t sum[BARS], count[BARS]; /* of those for people */
	struct store *st;
	const struct process *p;
	const char *name;
	uint32_t id; /* of the name; 0: not met yet */
};

static bool is_series(struct series *s, uint32_t name)
{
	if (!s->id && !strcmp(store_name_text(s->st, name), s->name))
		s->id = name;
	return s->id && name == s->id;
}

static int on_window(void *arg, const struct window *w)
{
	struct series *s = arg;

	for (uint32_t i = 0; i < w->rows; i++) {
		const struct rollup *r = &w->row[i];

		if (r->kind != EVENT_COUNTER || !is_series(s, r->name))
			continue;
		s->point(s, w->start_ns, (int64_t)r->max_ns);
	}
	return 0;
}

static void point_json(struct series *s, uint64_t at_ns, int64_t millionths)
{
	json_open(s->j, NULL, '[');
	json_real(s->j, NULL, ((double)at_ns - (double)s->p->first_ns) / 1e9);
	json_real(s->j, NULL, (double)millionths / 1e6);
	json_close(s->j);
}

static int put_series(struct json *j, struct store *st, const struct process *p, const char *key,
		      const char *name)
{
	struct store_filter f = { .process = &p->id, .processes = 1 };
	struct series s = { .point = point_json, .j = j, .st = st, .p = p, .name = name };
	int err;

	json_open(j, key, '[');
	err = store_each_window(st, &f, on_window, &s);
	json_close(j);
	return err < 0 ? err : 0;
}

/* Its life in BARS parts. */
static void point_bar(struct series *s, uint64_t at_ns, int64_t millionths)
{
	uint64_t life = s->p->last_ns - s->p->first_ns + 1, at = at_ns - s->p->first_ns, i;

	i = at < life ? (uint64_t)((double)at / (double)life * BARS) : BARS - 1;
	s->sum[i] += millionths > 0 ? (uint64_t)millionths : 0;
	s->count[i]++;
}

static char *put_bars(char *buf, struct store *st, const struct process *p, bool ascii)
{
	struct store_filter f = { .process = &p->id, .processes = 1 };
	struct series s = { .point = point_bar, .st = st, .p = p, .name = OVERHEAD_MID };
	uint64_t max = 1;

	*buf = '\0';
	if (!p->overhead.pairs || store_each_window(st, &f, on_window, &s) < 0)
		return buf;
	for (uint32_t i = 0; i < BARS; i++) {
		s.sum[i] = s.count[i] ? s.sum[i] / s.count[i] + 1 : 0;
		max = s.sum[i] > max ? s.sum[i] : max;
	}
	for (uint32_t i = 0; i < BARS; i++)
		strcat(buf, s.count[i] ? fmt_spark(s.sum[i], max, ascii) : " ");
	return buf;
}

/* --- for people --- */

static bool by_launches(const struct overhead *o)
{
	return o->by == OVERHEAD_BY_LAUNCHES;
}

static void add_row(struct table *t, const struct out *out, struct store *st,
		    const struct process *p)
{
	const struct overhead *o = &p->overhead;
	char a[32], n[FMT_LEN], bars[4 * BARS + 1];

	table_add_text(t, out, p->comm);
	table_add(t, "%u", p->pid);
	table_add_text(t, out, *p->job ? p->job : *p->run ? p->run : "-");
	if (o->pairs) {
		table_add(t, "%s", percent(a, sizeof(a), o->mid));
		table_add(t, "%.2f to %.2f %%", o->lo / 1e4, o->hi / 1e4);
	} else {
		table_add(t, "-");
		table_add(t, "not known yet");
	}
	table_add(t, "%s", percent(a, sizeof(a), o->residual));
	table_add(t, "%s", percent(a, sizeof(a), o->accounted));
	table_add(t, "%s", o->budget ? percent(a, sizeof(a), o->budget) : "none");
	table_add(t, "%s", report_level(o->fidelity));
	table_add(t, "%s %s", fmt_count(n, o->steps), by_launches(o) ? "slots" : "steps");
	table_add(t, "%.1f %%", o->steps ? 100.0 * (double)o->unsampled / (double)o->steps : 0);
	table_add(t, "%s", put_bars(bars, st, p, out->ascii));
}

/* What stands below: what the columns are, of those that are there. */
static void explain(const struct procs *ps, const struct out *out)
{
	bool steps = false, launches = false, residual = false;
	uint32_t emit_ps = 0;

	for (size_t i = 0; i < ps->n; i++) {
		const struct overhead *o = &ps->p[i].overhead;

		launches |= o->steps && by_launches(o);
		steps |= o->steps && !by_launches(o);
		residual |= o->residual;
		emit_ps = o->emit_ps ? o->emit_ps : emit_ps;
	}
	if (steps)
		out_line(out, OUT_DIM,
			 "SLOWDOWN: recorded steps compared with steps skipped at random.");
	if (launches)
		out_line(out, OUT_DIM,
			 "SLOWDOWN by slots: no steps were seen; launches in recorded times "
			 "compared with others.");
	if (residual)
		out_line(out, OUT_DIM,
			 "FIXED COST: the part of SLOWDOWN that probes cost even where nothing is "
			 "recorded, as they estimate it.");
	if (emit_ps)
		out_line(out, OUT_DIM,
			 "ACCOUNTED: records x what one costs here, %.1f ns when aond started; a "
			 "part of the whole.",
			 emit_ps / 1e3);
}

static void text(struct store *st, const struct procs *ps, const struct out *out)
{
	static const struct col col[] = { COL_NAME("COMMAND", 0),  COL_NUM("PID", 3),
					  COL_TEXT("JOB", 4),      COL_NUM("SLOWDOWN", 0),
					  COL_TEXT("95 % CI", 0),  COL_NUM("FIXED COST", 6),
					  COL_NUM("ACCOUNTED", 0), COL_NUM("BUDGET", 2),
					  COL_TEXT("RECORDS", 0),  COL_NUM("BY", 1),
					  COL_NUM("SKIPPED", 0),   COL_TEXT("OVER TIME", 5) };
	struct table t;

	table_init(&t, col, sizeof(col) / sizeof(col[0]));
	for (size_t i = 0; i < ps->n; i++)
		if (ps->p[i].overhead.steps)
			add_row(&t, out, st, &ps->p[i]);
	table_done(&t, out, 0);
	explain(ps, out);
}

/* --- for programs --- */

static int json(struct store *st, const struct procs *ps, const char *path)
{
	struct json j;
	int err = 0;

	json_begin(&j, stdout, "aon.overhead/1");
	json_str(&j, "store", path);
	json_open(&j, "processes", '[');
	for (size_t i = 0; i < ps->n && !err; i++) {
		const struct process *p = &ps->p[i];

		if (!p->overhead.steps)
			continue;
		json_open(&j, NULL, '{');
		process_json(&j, p, p->first_ns);
		json_open(&j, "series", '{');
		err = put_series(&j, st, p, "slowdown", OVERHEAD_MID);
		err = err ? err : put_series(&j, st, p, "slowdown_lo", OVERHEAD_LO);
		err = err ? err : put_series(&j, st, p, "slowdown_hi", OVERHEAD_HI);
		err = err ? err : put_series(&j, st, p, "accounted", OVERHEAD_ACCOUNTED);
		json_close(&j);
		json_close(&j);
	}
	json_end(&j);
	return err;
}

/* Only those of the job. */
static void keep_job(struct procs *ps, const char *job)
{
	size_t n = 0;

	for (size_t i = 0; i < ps->n; i++)
		if (!job || !strcmp(ps->p[i].job, job) || !strcmp(ps->p[i].run, job))
			ps->p[n++] = ps->p[i];
	ps->n = n;
}

static size_t with_steps(const struct procs *ps)
{
	size_t n = 0;

	for (size_t i = 0; i < ps->n; i++)
		n += ps->p[i].overhead.steps != 0;
	return n;
}

int cmd_overhead(const struct opts *o)
{
	struct procs_want want = { 0 };
	char path[PATH_MAX];
	struct store *st;
	struct procs ps;
	struct out out;
	int rc, err;

	if (o->argc > 1)
		return cli_misuse("takes one store, not '%s' too", o->argv[1]);
	if (fleet_listed(o))
		return fleet_list_cmd(o);
	rc = fleet_not_asked(o);
	if (rc == CLI_OK)
		rc = locate_open(o->argc ? o->argv[0] : NULL, &st, path);
	if (rc != CLI_OK)
		return rc;
	out_init(&out, stdout, o);
	err = procs_load(&ps, st, &want);
	keep_job(&ps, o->val[OPT_OF_JOB]);
	if (!err && !with_steps(&ps))
		rc = cli_say(CLI_UNSURE,
			     "%s: nothing with steps or launches%s%s: what recording costs is "
			     "measured by these",
			     path, o->val[OPT_OF_JOB] ? " of job " : "",
			     o->val[OPT_OF_JOB] ? o->val[OPT_OF_JOB] : "");
	else if (!err && o->val[OPT_JSON])
		err = json(st, &ps, path);
	else if (!err)
		text(st, &ps, &out);
	if (err < 0)
		rc = locate_broke(path, err);
	procs_fini(&ps);
	store_close(st);
	return rc;
}
