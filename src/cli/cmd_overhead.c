/* SPDX-License-Identifier: Apache-2.0 */
/* aon overhead - what recording costs each program: measured, accounted, and what it may. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/locate.h"
#include "cli/report.h"
#include "govern/govern.h"

static const char *rung_of(const struct overhead *o)
{
	return o->rung < RUNGS ? rung_table[o->rung].word : "?";
}

static char *percent(char *buf, size_t cap, double millionths)
{
	snprintf(buf, cap, "%.2f %%", millionths / 1e4);
	return buf;
}

static void add_row(struct table *t, const struct out *out, const struct process *p)
{
	const struct overhead *o = &p->overhead;
	char a[32], n[FMT_LEN];

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
	table_add(t, "%s", percent(a, sizeof(a), o->accounted));
	table_add(t, "%s", o->budget ? percent(a, sizeof(a), o->budget) : "none");
	table_add(t, "%s", rung_of(o));
	table_add(t, "%s", fmt_count(n, o->steps));
	table_add(t, "%.1f %%", o->steps ? 100.0 * (double)o->left_out / (double)o->steps : 0);
}

static void text(const struct procs *ps, const struct out *out)
{
	static const struct col col[] = {
		{ "COMMAND", COL_LEFT | COL_FLEX, 0 },
		{ "PID", 0, 3 },
		{ "JOB", COL_LEFT, 4 },
		{ "SLOWDOWN", 0, 0 },
		{ "95 % SURE", COL_LEFT, 0 },
		{ "ACCOUNTED", 0, 0 },
		{ "BUDGET", 0, 2 },
		{ "RECORDS", COL_LEFT, 0 },
		{ "STEPS", 0, 1 },
		{ "LEFT OUT", 0, 0 },
	};
	struct table t;

	table_init(&t, col, sizeof(col) / sizeof(col[0]));
	for (size_t i = 0; i < ps->n; i++)
		if (ps->p[i].overhead.steps)
			add_row(&t, out, &ps->p[i]);
	table_print(&t, out, 0);
	table_fini(&t);
	out_line(out, OUT_DIM,
		 "SLOWDOWN: steps that are recorded against steps that are left out, by chance.");
}

/* --- over time --- */

struct series {
	struct json *j;
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
		json_open(s->j, NULL, '[');
		json_real(s->j, NULL, ((double)w->start_ns - (double)s->p->first_ns) / 1e9);
		json_real(s->j, NULL, (double)(int64_t)r->max_ns / 1e6);
		json_close(s->j);
	}
	return 0;
}

static int put_series(struct json *j, struct store *st, const struct process *p, const char *key,
		      const char *name)
{
	struct store_filter f = { .process = p->id };
	struct series s = { .j = j, .st = st, .p = p, .name = name };
	int err;

	json_open(j, key, '[');
	err = store_each_window(st, &f, on_window, &s);
	json_close(j);
	return err < 0 ? err : 0;
}

static int json(struct store *st, const struct procs *ps, const char *path)
{
	struct json j;
	int err = 0;

	json_init(&j, stdout);
	json_open(&j, NULL, '{');
	json_str(&j, "schema", "aon.overhead/1");
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
	rc = locate_open(o->argc ? o->argv[0] : NULL, &st, path);
	if (rc != CLI_OK)
		return rc;
	out_init(&out, stdout, o);
	err = procs_load(&ps, st, &want);
	keep_job(&ps, o->val[OPT_OF_JOB]);
	if (!err && !with_steps(&ps))
		rc = cli_say(
			CLI_UNSURE,
			"%s: nothing with steps%s%s: what recording costs is measured by the step",
			path, o->val[OPT_OF_JOB] ? " of job " : "",
			o->val[OPT_OF_JOB] ? o->val[OPT_OF_JOB] : "");
	else if (!err && o->val[OPT_JSON])
		err = json(st, &ps, path);
	else if (!err)
		text(&ps, &out);
	if (err < 0)
		rc = cli_say(CLI_FAIL, "%s: cannot be read on: %s. Check it: aon store check %s",
			     path, strerror(-err), path);
	procs_fini(&ps);
	store_close(st);
	return rc;
}
