/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - a report as text: a sentence, the evidence, the accounting. */
#include "cli/report/report.h"

#include <stdlib.h>

#include "base/num.h"

#define BAR        24u
#define PLAIN_COLS 8u /* of a table of rows; more where limits are known, or not all was recorded */

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

void report_seen(const struct gather *g, const struct out *out, char *buf, size_t cap)
{
	char n[FMT_LEN], t[FMT_LEN];
	size_t used = 0;

	*buf = '\0';
	if (g->processes > 1)
		used += (size_t)snprintf(buf, cap, "%u processes, ", g->processes);
	if (g->devices)
		used += (size_t)snprintf(buf + used, cap - used, "%u GPU%s, ", g->devices,
					 plural(g->devices));
	used += (size_t)snprintf(buf + used, cap - used, "%s thread%s", fmt_count(n, g->threads),
				 plural(g->threads));
	out_time(out, t, sizeof(t), g->end_ns > g->begin_ns ? g->end_ns - g->begin_ns : 0);
	if (g->all_steps.count)
		snprintf(buf + used, cap - used, "  %s step%s in %s",
			 fmt_count(n, g->all_steps.count), plural(g->all_steps.count), t);
	else if (g->end_ns > g->begin_ns)
		snprintf(buf + used, cap - used, "  seen for %s", t);
}

/* "+ 41 more, 6 % together (--all)" */
static void folded(const struct out *out, size_t n, uint64_t part, uint64_t total)
{
	char count[FMT_LEN], share[FMT_LEN];

	if (n)
		out_line(out, OUT_PLAIN, "    + %s more, %s %% together (--all)",
			 fmt_count(count, n),
			 fmt_percent(share, total ? (double)part / (double)total : 0));
}

static int step_cmp(const void *a, const void *b)
{
	const struct gather_row *x = *(const struct gather_row *const *)a;
	const struct gather_row *y = *(const struct gather_row *const *)b;

	return x->step_ns < y->step_ns ? 1 : x->step_ns > y->step_ns ? -1 : 0;
}

static void step_row(struct table *t, const struct out *out, const struct gather *g,
		     const char *label, uint64_t ns, const struct fmt_unit *u, unsigned decimals,
		     double *shown)
{
	double share = (double)ns / (double)g->held_step_ns;
	char bar[4 * BAR + 1], pct[FMT_LEN], clean[OUT_TEXT];

	fmt_percent(pct, share);
	*shown += num_front_real(pct, NULL);
	table_add(t, "  %s", fmt_clean(clean, sizeof(clean), label, out->ascii));
	table_add_time(t, ns / g->held_steps, u, decimals);
	table_add(t, "%s", pct);
	table_add(t, "%s", fmt_bar(bar, sizeof(bar), share, BAR, out->ascii));
}

static void step_rows(struct table *t, const struct out *out, const struct gather *g,
		      const struct gather_row **row, size_t n, const struct fmt_unit *u,
		      double *shown)
{
	uint64_t none = g->held_step_ns - g->step_in_ns;
	unsigned decimals = fmt_decimals((double)(g->held_step_ns / g->held_steps) / u->scale);
	char label[OUT_TEXT];

	for (size_t i = 0; i < n; i++)
		step_row(t, out, g, gather_label(g, row[i], label, sizeof(label)), row[i]->step_ns,
			 u, decimals, shown);
	step_row(t, out, g, "not broken down", none, u, decimals, shown);
}

/* The step's own thread, taken apart: ranges without what is inside them, and the rest. */
static void step_table(const struct gather *g, const struct out *out, size_t fold)
{
	const struct fmt_unit *u = fmt_time_unit(g->held_step_ns / g->held_steps);
	char mean[64], count[FMT_LEN];
	const struct col col[] = {
		{ "Where a step goes", COL_LEFT | COL_FLEX, 0 },
		{ out_unit(out, u->name), 0, 0 },
		{ "%", 0, 0 },
		{ mean, COL_LEFT, 1 },
	};
	const struct gather_row **row;
	uint64_t total, rest = 0;
	size_t n, used = 0, show;
	double shown = 0;
	struct table t;

	row = gather_sorted(g, REPORT_RANGE, &n, &total);
	if (!row)
		return;
	qsort(row, n, sizeof(row[0]), step_cmp);
	while (used < n && row[used]->step_ns)
		used++;
	show = out->all || used <= fold + 1 ? used : fold;
	for (size_t i = show; i < used; i++)
		rest += row[i]->step_ns;
	table_init(&t, col, 4);
	step_rows(&t, out, g, row, show, u, &shown);
	snprintf(mean, sizeof(mean), "mean of %s%s step%s%s", g->held_steps > 1 ? "all " : "",
		 fmt_count(count, g->held_steps), plural(g->held_steps),
		 !rest && (shown < 99.5 || shown > 100.5) ? " (rounded)" : "");
	table_print(&t, out, 2);
	folded(out, used - show, rest, g->held_step_ns);
	fputc('\n', out->f);
	table_fini(&t);
	free(row);
}

/* Of a step that is the device's and in hardly any range, a line says as much as the table. */
static void step_line(const struct gather *g, const struct out *out)
{
	char p50[FMT_LEN], p99[FMT_LEN], mean[FMT_LEN], n[FMT_LEN];

	out_line(out, OUT_PLAIN, "  A step takes %s (p50; mean %s, p99 %s of %s).\n",
		 out_time(out, p50, sizeof(p50), gather_quantile(&g->all_steps, 0.5)),
		 out_time(out, mean, sizeof(mean), g->held_step_ns / g->held_steps),
		 out_time(out, p99, sizeof(p99), gather_quantile(&g->all_steps, 0.99)),
		 fmt_count(n, g->all_steps.count));
}

struct units {
	const struct fmt_unit *total, *avg, *p50, *p99, *max;
};

static void row_cells(struct table *t, const struct out *out, const struct gather *g,
		      const struct gather_row *r, const struct units *u, uint64_t sum)
{
	char label[OUT_TEXT], clean[OUT_TEXT], n[FMT_LEN], limit[32];

	gather_label(g, r, label, sizeof(label));
	table_add(t, "  %s", fmt_clean(clean, sizeof(clean), label, out->ascii));
	table_add(t, "%s", fmt_count(n, r->count));
	table_add_time(t, r->total_ns, u->total, 2);
	table_add_time(t, r->count ? r->total_ns / r->count : 0, u->avg, 2);
	table_add_time(t, gather_quantile(r, 0.5), u->p50, 2);
	table_add_time(t, gather_quantile(r, 0.99), u->p99, 2);
	table_add_time(t, r->max_ns, u->max, 2);
	table_add(t, "%s", fmt_percent(n, sum ? (double)gather_time(r) / (double)sum : 0));
	if (gather_sampled(g, r->kind))
		table_add_time(t, (uint64_t)sampled_error(r->variance), u->total, 2);
	if (t->cols > PLAIN_COLS + gather_sampled(g, r->kind))
		table_add(t, "%s", gather_limit(r, limit));
}

static void pick_units(struct units *u, const struct gather_row *const *row, size_t n)
{
	uint64_t total = 0, avg = 0, p50 = 0, p99 = 0, max = 0, v;

	for (size_t i = 0; i < n; i++) {
		const struct gather_row *r = row[i];

		total = r->total_ns > total ? r->total_ns : total;
		v = r->count ? r->total_ns / r->count : 0;
		avg = v > avg ? v : avg;
		v = gather_quantile(r, 0.5);
		p50 = v > p50 ? v : p50;
		v = gather_quantile(r, 0.99);
		p99 = v > p99 ? v : p99;
		max = r->max_ns > max ? r->max_ns : max;
	}
	u->total = fmt_time_unit(total);
	u->avg = fmt_time_unit(avg);
	u->p50 = fmt_time_unit(p50);
	u->p99 = fmt_time_unit(p99);
	u->max = fmt_time_unit(max);
}

static void row_cols(struct table *t, const struct out *out, const struct units *u, bool self)
{
	const struct fmt_unit *unit[] = { u->total, u->avg, u->p50, u->p99, u->max };

	for (size_t i = 0; i < 5; i++)
		t->unit[2 + i] = out_unit(out, unit[i]->name);
	t->unit[7] = self ? "%" : NULL;
}

static void row_table(const struct gather *g, const struct out *out, const char *title,
		      uint32_t kinds, size_t fold)
{
	bool self = kinds & (REPORT_RANGE | REPORT_OP | REPORT_MODULE);
	bool sampled = gather_sampled(g, (uint32_t)__builtin_ctz(kinds));
	const struct col col[] = {
		{ title, COL_LEFT | COL_FLEX, 0 },
		{ "count", 0, 2 },
		{ "total", 0, 0 },
		{ "avg", 0, 1 },
		{ "p50", 0, 4 },
		{ "p99", 0, 3 },
		{ "max", 0, 5 },
		{ self ? "self" : "%", 0, 0 },
		{ sampled ? "+-" : "limit", sampled ? 0 : COL_LEFT, sampled ? 0 : 6 },
		{ "limit", COL_LEFT, 6 },
	};
	const struct gather_row **row;
	uint64_t sum, rest = 0;
	struct units u;
	struct table t;
	size_t n, show;

	row = gather_sorted(g, kinds, &n, &sum);
	if (!row)
		return;
	show = out->all || n <= fold + 1 ? n : fold;
	pick_units(&u, row, show);
	table_init(&t, col, PLAIN_COLS + sampled + gather_judged(row, n));
	row_cols(&t, out, &u, self);
	if (sampled)
		t.unit[PLAIN_COLS] = out_unit(out, u.total->name);
	for (size_t i = 0; i < show; i++)
		row_cells(&t, out, g, row[i], &u, sum);
	for (size_t i = show; i < n; i++)
		rest += gather_time(row[i]);
	if (n) {
		table_print(&t, out, 2);
		folded(out, n - show, rest, sum);
		fputc('\n', out->f);
	}
	table_fini(&t);
	free(row);
}

/* Of the steps whose operators were recorded. */
static void op_table(const struct gather *g, const struct out *out, size_t fold)
{
	char title[64], n[FMT_LEN];

	snprintf(title, sizeof(title), "%s of %s step%s",
		 g->by == BY_TRACK ? "Operators' threads" : "Operators", fmt_count(n, g->op_steps),
		 plural(g->op_steps));
	row_table(g, out, g->op_steps ? title : "Operators", REPORT_OP, fold);
}

/* What a step is mostly made of. */
static void step_verdict(const struct gather *g, const struct out *out, const struct gather_row *r)
{
	char label[OUT_TEXT], clean[OUT_TEXT], name[OUT_TEXT], a[FMT_LEN], b[FMT_LEN],
		share[FMT_LEN];
	uint64_t none = g->held_step_ns - g->step_in_ns, most = r ? r->step_ns : 0;

	out_time(out, b, sizeof(b), g->held_step_ns / g->held_steps);
	if (none > most) {
		out_line(out, OUT_BOLD, "  Most of a step is not broken down yet: %s of %s.",
			 out_time(out, a, sizeof(a), none / g->held_steps), b);
		out_line(out, OUT_PLAIN,
			 "  To split it, run aon capture; or mark its parts with "
			 "aon_range_push().\n");
		return;
	}
	fmt_clean(clean, sizeof(clean), gather_label(g, r, label, sizeof(label)), out->ascii);
	fmt_ellipsis(name, sizeof(name), clean, out->width == SIZE_MAX ? SIZE_MAX : 32, out->ascii);
	out_line(out, OUT_BOLD, "  Most of a step is %s: %s of %s (%s %%).\n", name,
		 out_time(out, a, sizeof(a), most / g->held_steps), b,
		 fmt_percent(share, (double)most / (double)g->held_step_ns));
}

static void total_verdict(const struct gather *g, const struct out *out, const struct gather_row *r,
			  uint64_t sum)
{
	char label[OUT_TEXT], clean[OUT_TEXT], name[OUT_TEXT], share[FMT_LEN], n[FMT_LEN],
		seen[FMT_LEN], where[96];
	uint64_t life = g->end_ns > g->begin_ns ? g->end_ns - g->begin_ns : 0;

	out_time(out, n, sizeof(n), sum);
	out_time(out, seen, sizeof(seen), life);
	if (r->kind != EVENT_RANGE && g->devices == 1 && sum <= life)
		snprintf(where, sizeof(where), "GPU time; GPU busy %s of %s", n, seen);
	else if (r->kind != EVENT_RANGE)
		snprintf(where, sizeof(where), "GPU time");
	else if (g->threads == 1)
		snprintf(where, sizeof(where), "the thread's range time");
	else
		snprintf(where, sizeof(where), "%s threads' range time", fmt_count(n, g->threads));
	fmt_clean(clean, sizeof(clean), gather_label(g, r, label, sizeof(label)), out->ascii);
	fmt_ellipsis(name, sizeof(name), clean, out->width == SIZE_MAX ? SIZE_MAX : 32, out->ascii);
	out_line(out, OUT_BOLD, "  Most time: %s, %s %% of %s.\n", name,
		 fmt_percent(share, (double)gather_time(r) / (double)sum), where);
}

/* The sentence that a reader should take away. */
static void verdict(const struct gather *g, const struct out *out)
{
	uint32_t kinds = gather_kinds(g);
	uint32_t of = kinds & REPORT_GPU && g->devices ? REPORT_GPU : REPORT_RANGE;
	const struct gather_row **row;
	uint64_t sum;
	size_t n;

	row = gather_sorted(g, of, &n, &sum);
	if (!row)
		return;
	if (g->held_steps && of == REPORT_RANGE && g->by == BY_NAME) {
		qsort(row, n, sizeof(row[0]), step_cmp);
		step_verdict(g, out, n ? row[0] : NULL);
	} else if (n && sum) {
		total_verdict(g, out, row[0], sum);
	}
	free(row);
}

static void others(const struct gather *g, const struct out *out)
{
	uint64_t count[EVENT_MAX] = { 0 };
	char text[256] = "", n[FMT_LEN];
	size_t used = 0;

	for (size_t i = 0; i < g->rows; i++)
		if (REPORT_OTHER & 1u << g->row[i].kind)
			count[g->row[i].kind] += g->row[i].count;
	for (uint32_t k = 0; k < EVENT_MAX; k++)
		if (count[k])
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s%s",
						 used ? ", " : "", fmt_count(n, count[k]),
						 event_word(k), plural(count[k]));
	if (*text)
		out_line(out, OUT_PLAIN, "  Also: %s\n", text);
}

/* What totals are of. */
static void sampled_line(const struct gather *g, const struct out *out)
{
	char a[FMT_LEN], b[FMT_LEN];

	if (g->unsampled)
		out_line(out, OUT_DIM,
			 "  %s of %s steps were skipped at random to measure overhead: counts and "
			 "totals are estimates for all, +- is 95 %%.",
			 fmt_count(a, g->unsampled), fmt_count(b, g->all_steps.count));
	if (g->left_slots)
		out_line(out, OUT_DIM,
			 "  No steps: %s of %s slots of 50 ms were skipped at random to measure "
			 "overhead: counts and totals are estimates for all, +- is 95 %%.",
			 fmt_count(a, g->left_slots), fmt_count(b, g->all_slots));
	if (g->unseen)
		out_line(out, OUT_DIM,
			 "  Of %s steps only the count is known: fidelity level heartbeat.",
			 fmt_count(a, g->unseen));
}

void report_text(const struct gather *g, const struct out *out, size_t fold, bool answered)
{
	uint32_t kinds = gather_kinds(g);

	if (!answered)
		verdict(g, out);
	if (g->held_steps && g->by == BY_NAME && kinds & REPORT_GPU &&
	    g->step_in_ns < g->held_step_ns / 2)
		step_line(g, out);
	else if (g->held_steps && g->by == BY_NAME)
		step_table(g, out, fold);
	if (kinds & REPORT_GPU)
		row_table(g, out,
			  g->by == BY_TRACK ? "Streams"
			  : g->devices      ? "Kernels and copies"
					    : "Collectives",
			  REPORT_GPU, fold);
	if (kinds & REPORT_GRAPH)
		row_table(g, out, "CUDA graphs seen whole", REPORT_GRAPH, fold);
	if (kinds & REPORT_RANGE)
		row_table(g, out, g->by == BY_TRACK ? "Threads" : "Ranges", REPORT_RANGE, fold);
	if (kinds & REPORT_MODULE)
		row_table(g, out, g->by == BY_TRACK ? "Modules' threads" : "Modules", REPORT_MODULE,
			  fold);
	if (kinds & REPORT_OP)
		op_table(g, out, fold);
	if (kinds & REPORT_SPAN)
		row_table(g, out, "From start to end, on any thread", REPORT_SPAN, fold);
	if (kinds & REPORT_CALLS)
		row_table(g, out, "Calls", REPORT_CALLS, fold);
	report_compile(g, out);
	others(g, out);
	sampled_line(g, out);
	report_overhead(&g->overhead, out);
	report_account(&g->account, out);
}
