/* SPDX-License-Identifier: Apache-2.0 */
/* top_draw.c - draws a snapshot as lines of a screen, or as JSON. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/report/report.h"
#include "cli/report/top.h"

#define PLAIN_COLS 6u /* of the table of names; one more where limits are known */

#define KINDS (REPORT_GPU | REPORT_RANGE | REPORT_CALLS)

static const char *const sort_word[TOP_SORTS] = { "total", "count", "avg", "max", "name" };

static const char *const help_lines[] = {
	"q  quit",
	"s  next order: total, count, avg, max, name",
	"/  only names that contain what you type",
	"   Enter keeps, Esc shows all again",
	"p  pause, or go on",
	"arrows, PgUp, PgDn, Home  scroll the names",
	"?  back",
	"",
	"STEP: the mean of the last seconds.",
	"LAST 60 s: a bar a second, the mean step;",
	"  events where no steps are marked.",
	"CODE: where its launching thread was most in",
	"  the newest 5 s that are stored: the state,",
	"  and your function. Samples come up to two",
	"  minutes late.",
	"TOTAL: of the last 15 s, with all inside.",
	"%: 100 is one thread or stream, always busy.",
};

static void spark(const struct top_proc *p, size_t n, bool ascii, char *buf, size_t cap)
{
	uint64_t max = 0;
	size_t used = 0;

	for (size_t i = TOP_SPARK - n; i < TOP_SPARK; i++)
		max = p->spark[i] > max ? p->spark[i] : max;
	for (size_t i = TOP_SPARK - n; i < TOP_SPARK && used + 4 < cap; i++) {
		const char *s = p->spark[i] ? fmt_spark(p->spark[i], max, ascii) : " ";

		memcpy(buf + used, s, strlen(s));
		used += strlen(s);
	}
	buf[used] = '\0';
}

static bool any_code(const struct top_look *l)
{
	for (size_t i = 0; i < l->procs.n; i++)
		if (l->proc[i].code_samples)
			return true;
	return false;
}

static void proc_table(const struct top_look *l, const struct out *out, size_t rows)
{
	static const struct col col[] = {
		{ "PROCESS", COL_LEFT | COL_FLEX, 0 },
		{ "PID", 0, 0 },
		{ "RUN", COL_LEFT, 2 },
		{ "EVENTS/S", 0, 0 },
		{ "STEP", 0, 0 },
		{ "LAST 60 s", COL_LEFT, 1 },
		{ "LOST", 0, 0 },
		{ "CODE", COL_LEFT, 3 },
	};
	char n[FMT_LEN], now[256], bars[4 * TOP_SPARK + 4];
	const struct fmt_unit *u = fmt_time_unit(1000000);
	size_t wide = out->width >= 100 ? 40 : 24;
	struct table t;

	table_init(&t, col, sizeof(col) / sizeof(col[0]) - !any_code(l));
	t.unit[4] = u->name;
	for (size_t i = 0; i < l->procs.n && i < rows; i++) {
		const struct top_proc *p = &l->proc[i];

		table_add_text(&t, out, p->p->comm);
		table_add(&t, "%u", p->p->pid);
		table_add_text(&t, out, p->live ? (*p->p->run ? p->p->run : "-") : "exited");
		table_add(&t, "%s", fmt_count(n, p->seconds ? p->events / p->seconds : 0));
		table_add_time(&t, p->step_count ? p->step_ns / p->step_count : UINT64_MAX, u, 3);
		spark(p, wide, out->ascii, bars, sizeof(bars));
		table_add(&t, "%s", bars);
		table_add(&t, "%s", fmt_count(n, account_lost(&p->p->account)));
		snprintf(now, sizeof(now), "%s%s%s",
			 p->code_samples ? sample_state_word(p->code_state) : "-",
			 p->code_samples ? ": " : "", p->code);
		if (any_code(l))
			table_add_text(&t, out, now);
	}
	table_print(&t, out, 0);
	if (l->procs.n > rows)
		out_line(out, OUT_PLAIN, "+ %zu more processes", l->procs.n - rows);
	table_fini(&t);
}

struct key {
	const struct gather *g;
	enum top_sort sort;
};

static int row_cmp(const void *a, const void *b, void *arg)
{
	const struct gather_row *x = *(const struct gather_row *const *)a;
	const struct gather_row *y = *(const struct gather_row *const *)b;
	const struct key *k = arg;
	uint64_t vx = x->total_ns, vy = y->total_ns;

	if (k->sort == TOP_NAME)
		return strcmp(gather_name(k->g, x), gather_name(k->g, y));
	if (k->sort == TOP_COUNT_) {
		vx = x->count;
		vy = y->count;
	} else if (k->sort == TOP_AVG) {
		vx = x->count ? vx / x->count : 0;
		vy = y->count ? vy / y->count : 0;
	} else if (k->sort == TOP_MAX) {
		vx = x->max_ns;
		vy = y->max_ns;
	}
	return vx < vy ? 1 : vx > vy ? -1 : (x > y) - (x < y);
}

/* The rows that pass the filter, in order. Caller frees. */
static const struct gather_row **choose(const struct top_look *l, const struct top_view *v,
					size_t *n)
{
	const struct gather_row **row;
	struct key k = { &l->g, v->sort };
	size_t all, kept = 0;
	uint64_t total;

	row = gather_sorted(&l->g, KINDS, &all, &total);
	for (size_t i = 0; row && i < all; i++)
		if (!*v->filter || strcasestr(gather_name(&l->g, row[i]), v->filter))
			row[kept++] = row[i];
	*n = kept;
	if (row)
		qsort_r(row, kept, sizeof(row[0]), row_cmp, &k);
	return row;
}

static void name_rows(struct table *t, const struct top_look *l, const struct out *out,
		      const struct gather_row **row, size_t from, size_t to)
{
	const struct fmt_unit *u[3];
	uint64_t most[3] = { 0 }, seen = l->g.last_ns - l->g.first_ns;
	char label[OUT_TEXT], n[FMT_LEN], limit[32];

	for (size_t i = from; i < to; i++) {
		uint64_t v[3] = { row[i]->total_ns,
				  row[i]->count ? row[i]->total_ns / row[i]->count : 0,
				  row[i]->max_ns };

		for (int k = 0; k < 3; k++)
			most[k] = v[k] > most[k] ? v[k] : most[k];
	}
	for (int k = 0; k < 3; k++) {
		u[k] = fmt_time_unit(most[k]);
		t->unit[2 + k] = out_unit(out, u[k]->name);
	}
	for (size_t i = from; i < to; i++) {
		const struct gather_row *r = row[i];

		table_add_text(t, out, gather_label(&l->g, r, label, sizeof(label)));
		table_add(t, "%s", fmt_count(n, r->count));
		table_add_time(t, r->total_ns, u[0], 2);
		table_add_time(t, r->count ? r->total_ns / r->count : 0, u[1], 2);
		table_add_time(t, r->max_ns, u[2], 2);
		table_add(t, "%s", fmt_percent(n, seen ? (double)r->total_ns / (double)seen : 0));
		if (t->cols > PLAIN_COLS)
			table_add(t, "%s", gather_limit(r, limit));
	}
}

static void name_table(const struct top_look *l, const struct top_view *v, const struct out *out,
		       size_t rows)
{
	static const struct col col[] = {
		{ "NAME", COL_LEFT | COL_FLEX, 0 },
		{ "COUNT", 0, 2 },
		{ "TOTAL", 0, 0 },
		{ "AVG", 0, 1 },
		{ "MAX", 0, 3 },
		{ "%", 0, 0 },
		{ "LIMIT", COL_LEFT, 4 },
	};
	const struct gather_row **row;
	uint64_t rest = 0, seen = l->g.last_ns - l->g.first_ns;
	size_t n, from, to;
	char pct[FMT_LEN];
	struct table t;

	row = choose(l, v, &n);
	if (!row)
		return;
	from = v->scroll < n ? v->scroll : n ? n - 1 : 0;
	to = n - from > rows ? from + rows : n;
	table_init(&t, col, PLAIN_COLS + gather_judged(row, n));
	name_rows(&t, l, out, row, from, to);
	if (n)
		table_print(&t, out, 0);
	else if (*v->filter)
		out_line(out, OUT_PLAIN, "No name contains '%s'.", v->filter);
	for (size_t i = to; i < n; i++)
		rest += row[i]->total_ns;
	if (to < n)
		out_line(out, OUT_PLAIN, "+ %zu more, %s %% together", n - to,
			 fmt_percent(pct, seen ? (double)rest / (double)seen : 0));
	table_fini(&t);
	free(row);
}

static void head(const struct top_look *l, const struct top_view *v, const struct out *out)
{
	char left[160], right[96], host[65] = "?", when[FMT_LEN], n[FMT_LEN];
	uint64_t lost = account_lost(&l->account);
	time_t now = time(NULL);
	struct tm tm;

	gethostname(host, sizeof(host) - 1);
	strftime(when, sizeof(when), "%H:%M:%S", localtime_r(&now, &tm));
	snprintf(left, sizeof(left), "aon top   %s   %zu process%s", host, l->procs.n,
		 l->procs.n == 1 ? "" : "es");
	if (v->rows && out->width < 72)
		snprintf(right, sizeof(right), "? help  q quit");
	else if (v->rows)
		snprintf(right, sizeof(right), "%s   %s   ? help   q quit",
			 v->paused ? "paused" : "live", when);
	else
		snprintf(right, sizeof(right), "%s", when);
	out_ends(out, OUT_BOLD, left, right);
	if (lost)
		out_line(out, OUT_WARN, "%s of %s records lost (aon report says why)",
			 fmt_count(when, lost), fmt_count(n, l->account.emitted));
	else
		out_line(out, OUT_DIM, "%s records, nothing lost",
			 fmt_count(n, l->account.emitted));
	fputc('\n', out->f);
}

void top_draw(const struct top_look *l, const struct top_view *v, const struct out *out)
{
	size_t rows = v->rows ? v->rows : SIZE_MAX / 2, procs = v->rows ? rows / 3 : SIZE_MAX / 2;
	char clean[OUT_TEXT];
	size_t used;

	head(l, v, out);
	if (v->help) {
		for (size_t i = 0; i < sizeof(help_lines) / sizeof(help_lines[0]); i++)
			out_line(out, OUT_PLAIN, "%s", help_lines[i]);
		return;
	}
	if (!l->procs.n) {
		out_line(out, OUT_PLAIN, "Nobody is connected. %s knows %zu that left (--all).",
			 l->path, l->procs.in_store);
		out_line(out, OUT_PLAIN, "Start one: aon run -- CMD");
		return;
	}
	for (size_t i = 0; i < l->jobs; i++)
		out_line(out, OUT_BOLD, "%s: %s", l->job[i].run,
			 fmt_clean(clean, sizeof(clean), l->job[i].text, out->ascii));
	if (l->jobs)
		fputc('\n', out->f);
	proc_table(l, out, procs);
	fputc('\n', out->f);
	/* head 4, process table 3 with its units and fold, blank, names head 2, fold, keys */
	used = 11 + (l->jobs ? 2 * l->jobs + 1 : 0) + (l->procs.n < procs ? l->procs.n : procs);
	if (rows > used)
		name_table(l, v, out, v->rows || !out->all ? (v->rows ? rows - used : 10) : rows);
	if (v->typing)
		out_line(out, OUT_PLAIN, "/%s_", v->filter);
	else if (v->rows)
		out_line(out, OUT_DIM, "[s] sort: %s  [/] filter%s%s  [p] %s", sort_word[v->sort],
			 *v->filter ? ": " : "", v->filter, v->paused ? "go on" : "pause");
}

void top_json(const struct top_look *l)
{
	struct json j;

	json_init(&j, stdout);
	json_open(&j, NULL, '{');
	json_members(&j, J_STR("schema", "aon.top/1"), J_STR("store", l->path),
		     J_U64("now_ns", l->now_ns));
	json_open(&j, "processes", '[');
	for (size_t i = 0; i < l->procs.n; i++) {
		const struct top_proc *p = &l->proc[i];

		json_open(&j, NULL, '{');
		json_members(&j, J_U64("process", p->p->id), J_U64("pid", p->p->pid),
			     J_STR("comm", p->p->comm), J_STR("run", *p->p->run ? p->p->run : NULL),
			     J_BOOL("connected", p->live),
			     J_REAL("events_per_s",
				    p->seconds ? (double)p->events / (double)p->seconds : 0));
		if (p->step_count)
			json_u64(&j, "step_ns", p->step_ns / p->step_count);
		else
			json_null(&j, "step_ns");
		json_open(&j, p->steps ? "step_ns_60s" : "events_60s", '[');
		for (size_t k = 0; k < TOP_SPARK; k++)
			json_u64(&j, NULL, p->spark[k]);
		json_close(&j);
		if (p->code_samples) {
			json_open(&j, "code", '{');
			json_members(&j, J_STR("function", p->code),
				     J_STR("state", sample_state_word(p->code_state)),
				     J_REAL("share", p->code_share),
				     J_U64("samples", p->code_samples),
				     J_U64("age_ns", p->code_age_ns));
			json_close(&j);
		} else {
			json_null(&j, "code");
		}
		json_close(&j);
	}
	json_close(&j);
	json_open(&j, "jobs", '[');
	for (size_t i = 0; i < l->jobs; i++)
		json_object(&j, NULL, J_STR("run", l->job[i].run), J_STR("answer", l->job[i].text));
	json_close(&j);
	json_open(&j, "names", '[');
	gather_rows_json(&j, &l->g, NULL, KINDS);
	json_close(&j);
	account_json(&j, "accounting", &l->account);
	json_end(&j);
}
