/* SPDX-License-Identifier: Apache-2.0 */
/* aon report - where the time went, process by process. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/report/alarms.h"
#include "cli/report/answer_text.h"
#include "cli/cluster/fleet_ask.h"
#include "cli/core/inputs.h"
#include "cli/core/locate.h"
#include "read/procs.h"
#include "cli/report/report.h"
#include "cli/report/report_html.h"
#include "cli/report/report_stacks.h"
#include "cli/report/sums.h"
#include "cli/report/view.h"
#include "read/stretch.h"

#define FOLD_ROWS      10u
#define FOLD_PROCESSES 5u
#define FOLD_BY        20u

struct report {
	struct store *st;
	char path[PATH_MAX];
	struct procs procs;
	struct out out;
	struct json j;
	enum gather_by by;
	bool answered;
};

static int unreadable(const struct report *r, int err)
{
	if (err == -EBADMSG)
		return cli_say(CLI_FAIL, "%s: damaged. Save what is whole: aon recover %s -o NEW",
			       r->path, r->path);
	return cli_say(CLI_FAIL, "%s: cannot be read on: %s", r->path, strerror(-err));
}

static int gather_one(struct gather *g, struct report *r, const struct process *p, bool events)
{
	int err = gather_init(g, r->st, r->by == BY_TRACK ? BY_TRACK : BY_NAME);

	if (err < 0)
		return err;
	err = gather_process(g, p, 0, events);
	if (err < 0)
		gather_fini(g);
	return err;
}

static int text_one(struct report *r, const struct process *p, bool *steps)
{
	char left[256], right[64] = "", seen[128], comm[64], run[64];
	const struct out *out = &r->out;
	struct gather g;
	int err;

	err = gather_one(&g, r, p, true);
	if (err < 0)
		return err;
	report_seen(&g, out, seen, sizeof(seen));
	snprintf(left, sizeof(left), "%s  pid %u  %s",
		 fmt_clean(comm, sizeof(comm), p->comm, out->ascii), p->pid, seen);
	if (*p->run)
		snprintf(right, sizeof(right), "run %s",
			 fmt_clean(run, sizeof(run), p->run, out->ascii));
	out_ends(out, OUT_BOLD, left, right);
	fputc('\n', out->f);
	if (!gather_kinds(&g) && !g.all_steps.count)
		out_line(out, OUT_PLAIN,
			 "  It joined and emitted nothing that is in this store.\n");
	report_text(&g, out, FOLD_ROWS, r->answered);
	report_data(r->st, &r->procs, p, &g, out);
	fputc('\n', out->f);
	*steps |= g.all_steps.count > 0;
	gather_fini(&g);
	return 0;
}

static int text_all(struct report *r)
{
	size_t show = r->out.all || r->procs.n <= FOLD_PROCESSES + 1 ? r->procs.n : FOLD_PROCESSES;
	bool steps = false;
	int err;

	for (size_t i = 0; i < show; i++) {
		err = text_one(r, &r->procs.p[i], &steps);
		if (err < 0)
			return err;
	}
	if (show < r->procs.n)
		out_line(&r->out, OUT_PLAIN, "+ %zu more processes (--all, or --by process)",
			 r->procs.n - show);
	alarms_brief(r->st, &r->out, r->path);
	fflush(stdout);
	if (!steps && r->procs.n)
		fprintf(stderr, "No step markers: times are totals, not per step. "
				"Mark steps with aon.step() in Python, aon_step_begin() in C.\n");
	return 0;
}

static void process_row(struct table *t, const struct out *out, const struct gather *g,
			const struct process *p, const struct fmt_unit *u)
{
	const struct gather_row **row;
	char n[FMT_LEN];
	uint64_t sum;
	size_t rows;

	row = gather_sorted(g, gather_kinds(g) & REPORT_GPU ? REPORT_GPU : REPORT_RANGE, &rows,
			    &sum);
	table_add_text(t, out, p->comm);
	table_add(t, "%u", p->id);
	table_add(t, "%u", p->pid);
	table_add_text(t, out, *p->run ? p->run : "-");
	table_add(t, "%s", fmt_count(n, g->threads));
	table_add(t, "%s", fmt_count(n, g->all_steps.count));
	table_add_time(t, g->all_steps.count ? gather_quantile(&g->all_steps, 0.5) : UINT64_MAX, u,
		       3);
	table_add(t, "%s", fmt_value(n, (double)sum / 1e9, 2));
	table_add(t, "%s", fmt_count(n, p->account.emitted));
	table_add(t, "%s", fmt_count(n, account_lost(&p->account)));
	free(row);
}

static int text_by_process(struct report *r)
{
	static const struct col col[] = { COL_NAME("PROCESS", 0), COL_NUM("NO", 0),
					  COL_NUM("PID", 0),      COL_TEXT("RUN", 3),
					  COL_NUM("THREADS", 5),  COL_NUM("STEPS", 2),
					  COL_NUM("STEP", 0),     COL_NUM("TIME", 0),
					  COL_NUM("RECORDS", 4),  COL_NUM("LOST", 1) };
	const struct fmt_unit *u = fmt_time_unit(1000000);
	struct gather g;
	struct table t;
	int err = 0;

	table_init(&t, col, sizeof(col) / sizeof(col[0]));
	t.unit[6] = u->name;
	t.unit[7] = "s";
	for (size_t i = 0; i < r->procs.n && !err; i++) {
		err = gather_one(&g, r, &r->procs.p[i], true);
		if (err < 0)
			break;
		process_row(&t, &r->out, &g, &r->procs.p[i], u);
		gather_fini(&g);
	}
	if (!err)
		table_print(&t, &r->out, 0);
	table_fini(&t);
	return err;
}

static int rows_json(struct report *r, const char *key, uint32_t kinds, bool events)
{
	struct gather g;
	int err;

	json_open(&r->j, key, '[');
	for (size_t i = 0; i < r->procs.n; i++) {
		err = gather_one(&g, r, &r->procs.p[i], events);
		if (err < 0)
			return err;
		gather_rows_json(&r->j, &g, &r->procs.p[i], kinds);
		gather_fini(&g);
	}
	json_close(&r->j);
	return 0;
}

static int on_steps(void *arg, uint32_t process, const struct event_columns *c)
{
	struct json *j = arg;

	for (size_t i = 0; i < c->n; i++) {
		json_object(j, NULL, J_U64("process", process), J_U64("step", c->a[i]),
			    J_U64("start_ns", c->start_ns[i]), J_U64("dur_ns", c->dur_ns[i]),
			    J_BOOL("open", c->flags[i] & EVENT_OPEN));
	}
	return 0;
}

static int steps_json(struct report *r)
{
	uint32_t cols = EVENT_COL_START | EVENT_COL_DUR | EVENT_COL_A | EVENT_COL_FLAGS;
	struct store_filter f = { .processes = 1, .kinds = 1u << EVENT_STEP };
	int err = 0;

	json_open(&r->j, "steps", '[');
	for (size_t i = 0; i < r->procs.n && !err; i++) {
		f.process = &r->procs.p[i].id;
		err = store_each_events(r->st, &f, cols, on_steps, &r->j);
	}
	json_close(&r->j);
	return err;
}

static int find_device(void *arg, const struct track *l)
{
	(void)arg;
	return l->device != TRACK_HOST;
}

/* What the events that are still held say of the GPUs. A store without any is not read: it may be
 * large. */
static int devices_json(struct report *r)
{
	int any = store_each_track(r->st, 0, find_device, NULL);
	struct stretch_opts all = { .part = NULL };
	struct insight *in = NULL;
	struct trace *t;
	int err = any < 0 ? any : trace_new(&t);

	if (err < 0)
		return err;
	if (any)
		err = read_stretches(t, r->st, r->path, &all, &in);
	else if (!(err = trace_seal(t)))
		err = insight_new(&in, t);
	if (!err) {
		insight_devices_json(&r->j, in);
		accounts_json(&r->j, in);
		insight_work_json(&r->j, in);
	}
	insight_free(in);
	trace_free(t);
	return err;
}

static int json_all(struct report *r)
{
	struct account sum = { 0 };
	struct store_stat stat;
	int err;

	err = store_stat(r->st, &stat);
	if (err < 0)
		return err;
	json_begin(&r->j, stdout, "aon.report/1");
	json_open(&r->j, "files", '[');
	json_object(&r->j, NULL, J_STR("path", r->path), J_U64("bytes", stat.bytes),
		    J_U64("events", stat.events));
	json_close(&r->j);
	json_open(&r->j, "processes", '[');
	for (size_t i = 0; i < r->procs.n; i++) {
		json_open(&r->j, NULL, '{');
		process_json(&r->j, &r->procs.p[i], 0);
		json_i64(&r->j, "wall_offset_ns", r->procs.p[i].wall_offset_ns);
		account_json(&r->j, "accounting", &r->procs.p[i].account);
		json_close(&r->j);
		account_add(&sum, &r->procs.p[i].account);
	}
	json_close(&r->j);
	err = devices_json(r);
	err = err ? err : rows_json(r, "kernels", REPORT_GPU, false);
	err = err ? err : rows_json(r, "graphs", REPORT_GRAPH, false);
	err = err ? err : rows_json(r, "ranges", REPORT_RANGE | REPORT_SPAN, true);
	err = err ? err : rows_json(r, "ops", REPORT_OP, true);
	err = err ? err : rows_json(r, "modules", REPORT_MODULE, true);
	err = err ? err : rows_json(r, "calls", REPORT_CALLS, false);
	err = err ? err : rows_json(r, "marks", REPORT_OTHER, false);
	err = err ? err : report_data_json(&r->j, r->st, &r->procs);
	err = err ? err : steps_json(r);
	err = err ? err : alarms_json(&r->j, r->st);
	account_json(&r->j, "accounting", &sum);
	json_end(&r->j);
	return err;
}

static int nothing(const struct report *r, const struct procs_want *w)
{
	if (!r->procs.in_store) {
		fprintf(stderr, "%s holds no process yet. Record one: aon run -- CMD\n", r->path);
		return CLI_OK;
	}
	if (w->run)
		return cli_say(CLI_FAIL, "%s: no run '%s'. List them: aon report %s --by process",
			       r->path, w->run, r->path);
	return cli_say(CLI_FAIL, "%s: no such process. List them: aon report %s --by process",
		       r->path, r->path);
}

static int report(struct report *r, const struct opts *o, const struct procs_want *want)
{
	int err;

	err = procs_load(&r->procs, r->st, want);
	if (err < 0)
		return unreadable(r, err);
	out_init(&r->out, stdout, o);
	if (o->val[OPT_JSON])
		err = json_all(r);
	else if (!r->procs.n)
		return nothing(r, want);
	else if (r->by == BY_PROCESS)
		err = text_by_process(r);
	else {
		r->answered = answer_newest(&r->out, r->st, r->path, &r->procs);
		err = text_all(r);
	}
	procs_fini(&r->procs);
	return err < 0 ? unreadable(r, err) : CLI_OK;
}

/* Rows that only a trace's analysis has come after those of a store in --by's list. */
#define BY_VIEW  (BY_PROCESS + 1)
#define BY_RANK  (BY_VIEW + (int)VIEW_RANK - (int)VIEW_KERNEL)
#define BY_STACK (BY_VIEW + (int)VIEW_STREAM - (int)VIEW_KERNEL + 1)

/* True if the file is a store, and all that it holds was recorded by aon. */
static bool add_ranks(struct ranks *rs, const char *path, const struct procs_want *want, int *err)
{
	struct procs ps = { 0 };
	struct store *st;
	bool own;

	if (store_open_ro(&st, path, NULL) < 0)
		return false;
	own = !procs_load(&ps, st, want) && ps.n && !ps.p[0].origin.file;
	if (own)
		*err = ranks_add(rs, st, &ps);
	procs_fini(&ps);
	store_close(st);
	return own && !*err;
}

/* Stores of processes that aon recorded as ranks say so themselves: true if that is done. */
static bool own_ranks(const struct opts *o, int *rc)
{
	struct procs_want want = { .run = o->val[OPT_RUN] };
	struct ranks rs = { 0 };
	struct json j;
	struct out out;
	bool own = o->argc > 0;
	int err = 0;

	for (int i = 0; i < o->argc && own; i++)
		own = add_ranks(&rs, o->argv[i], &want, &err);
	own = own && rs.n && !ranks_compare(&rs);
	if (own && o->val[OPT_JSON]) {
		json_begin(&j, stdout, "aon.ranks/1");
		report_ranks_json(&j, &rs);
		json_end(&j);
	} else if (own) {
		out_init(&out, stdout, o);
		report_ranks(&rs, &out);
	}
	ranks_fini(&rs);
	*rc = CLI_OK;
	return own;
}

#define IMPORTED 1 /* not an error: ends the walk */

static int is_imported(void *arg, const struct process *p)
{
	(void)arg;
	return p->origin.file ? IMPORTED : 0;
}

/* Of a store that aon recorded there is more to say than of a trace, or of what was one. */
static bool wants_view(const struct opts *o, int by)
{
	struct store_why why = { "" };
	struct store *st;
	struct stat sb;
	int err;

	if (by >= BY_VIEW || o->argc > 1)
		return true;
	if (!o->argc)
		return false;
	if (!strcmp(o->argv[0], "-"))
		return true;
	if (!stat(o->argv[0], &sb) && !S_ISREG(sb.st_mode)) /* a pipe may never be written to */
		return S_ISDIR(sb.st_mode);
	err = store_open_ro(&st, o->argv[0], &why);
	if (err < 0)
		return err == -EMEDIUMTYPE;
	err = store_each_process(st, is_imported, NULL);
	store_close(st);
	return err == IMPORTED;
}

/* What a view of everything cannot leave out. */
static int view_only(const struct opts *o)
{
	for (int i = OPT_PROCESS; i <= OPT_RUN; i++)
		if (o->val[i])
			return cli_misuse("--%s is for one store of aon", opt_table[i].name);
	if (o->val[OPT_MEMORY] && o->val[OPT_BY])
		return cli_misuse("--memory and --by are two reports");
	return CLI_OK;
}

static void view_json(const struct view *v)
{
	struct json j;

	json_begin(&j, stdout, "aon.report/1");
	insight_json(&j, v->in);
	accounts_json(&j, v->in);
	sums_json(&j, v->t);
	json_end(&j);
}

static int report_view(const struct opts *o, int by)
{
	static const enum view_by of_store[] = {
		[BY_NAME] = VIEW_KERNEL,
		[BY_TRACK] = VIEW_STREAM,
		[BY_PROCESS] = VIEW_RANK,
	};
	enum view_by rows =
		by < BY_VIEW ? of_store[by] : (enum view_by)(VIEW_KERNEL + by - BY_VIEW);
	struct view v;
	int rc;

	rc = view_only(o);
	if (rc != CLI_OK)
		return rc;
	if (o->val[OPT_JSON])
		rows = VIEW_KERNEL; /* all tables, and no findings: a replay costs more than both */
	rc = view_open(&v, o, o->val[OPT_JSON] || o->val[OPT_BY] ? rows : VIEW_ALL);
	if (rc != CLI_OK)
		return rc;
	if (o->val[OPT_JSON])
		view_json(&v);
	else if (trace_sums(v.t).n)
		sums_text(&v);
	else if (!o->val[OPT_BY])
		view_text(&v);
	else {
		view_table(&v, rows, FOLD_BY);
		view_recorded(&v);
	}
	rc = view_exit(&v);
	view_close(&v);
	return rc;
}

int cmd_report(const struct opts *o)
{
	struct procs_want want = { .run = o->val[OPT_RUN] };
	int by = opt_choice(o, OPT_BY, BY_NAME), rc;
	struct report r;

	memset(&r, 0, sizeof(r));
	if (by < 0 || opt_u32(o, OPT_PROCESS, &want.id) || opt_u32(o, OPT_PID, &want.pid))
		return CLI_USAGE;
	if (o->val[OPT_HTML] && (o->val[OPT_JSON] || o->val[OPT_BY] || o->val[OPT_MEMORY]))
		return cli_misuse("--html is of the whole: without --json, --by and --memory");
	if (by != BY_STACK && (o->val[OPT_GAP] || o->val[OPT_PART]))
		return cli_misuse("--gap and --part are for --by stack");
	if (fleet_asked(o))
		return fleet_report_cmd(o);
	if (by == BY_STACK)
		return report_stacks(o, &want);
	if (o->val[OPT_HTML])
		return report_html(o, o->val[OPT_HTML]);
	if (o->val[OPT_MEMORY])
		return view_only(o) ? CLI_USAGE : report_memory(o);
	if (by == BY_RANK && own_ranks(o, &rc))
		return rc;
	if (wants_view(o, by))
		return report_view(o, by);
	r.by = (enum gather_by)by;
	rc = locate_open(o->argc ? o->argv[0] : NULL, &r.st, r.path);
	if (rc != CLI_OK)
		return rc;
	rc = report(&r, o, &want);
	store_close(r.st);
	return rc;
}
