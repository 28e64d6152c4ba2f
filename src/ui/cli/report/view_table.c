/* SPDX-License-Identifier: Apache-2.0 */
/* view_table.c - one row a kernel, class, op, module, step, rank or stream. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/view.h"
#include "read/sampled.h"

#define ROOF_CELLS 3u
#define PM_ALONE   0.5

/* The rows of several ranks with one name are one. */
static int by_name(const void *a, const void *b)
{
	const struct insight_row *x = a, *y = b;

	return x->name < y->name ? -1 : x->name > y->name;
}

static int by_time(const void *a, const void *b)
{
	const struct insight_row *x = a, *y = b;

	return x->total_ns < y->total_ns ? 1 : x->total_ns > y->total_ns ? -1 : by_name(a, b);
}

static struct insight_row *merged(const struct insight_table *tab, size_t *n)
{
	struct insight_row *row = malloc((tab->rows + 1) * sizeof(*row));
	size_t used = 0;

	*n = 0;
	if (!row)
		return NULL;
	if (tab->rows)
		memcpy(row, tab->row, tab->rows * sizeof(*row));
	qsort(row, tab->rows, sizeof(*row), by_name);
	for (size_t i = 0; i < tab->rows; i++) {
		struct insight_row *into = used ? &row[used - 1] : NULL;

		if (!into || into->name != row[i].name) {
			row[used++] = row[i];
			continue;
		}
		into->count += row[i].count;
		into->total_ns += row[i].total_ns;
		into->min_ns = row[i].min_ns < into->min_ns ? row[i].min_ns : into->min_ns;
		into->max_ns = row[i].max_ns > into->max_ns ? row[i].max_ns : into->max_ns;
	}
	qsort(row, used, sizeof(*row), by_time);
	*n = used;
	return row;
}

/* "+ 41 more, 6 % together (--all)" */
static void folded(const struct out *out, size_t n, uint64_t part, uint64_t total)
{
	char count[FMT_LEN], share[FMT_LEN];

	if (n)
		out_line(out, OUT_PLAIN, "    + %s more, %s %% together (--all)",
			 fmt_count(count, n), fmt_percent(share, ratio(part, total)));
}

static void roof_cells(const struct view *v, struct table *t, uint32_t name)
{
	const struct roof_name *n = roofs_name(&v->in->roofs, name);
	enum roof_limit limit = n ? roof_name_limit(n) : ROOF_UNKNOWN;
	double fraction = n ? roof_name_fraction(n) : 0;
	enum work_how how = n ? roof_name_how(n) : WORK_NONE;
	char c[FMT_LEN];

	table_add(t, "%s", limit ? roof_limit_word[limit] : "-");
	table_add(t, "%s", fraction > 0 ? fmt_percent(c, fraction) : "-");
	table_add(t, "%s", how ? work_how_word[how] : "-");
}

/* "60 SM, 60 tensor, 20 DRAM": what counters said, in percent of the device; ~ if it had others beside it
 * for most of its time. */
static void measured_cell(const struct view *v, struct table *t, uint32_t name)
{
	static const struct {
		enum pm_counter of;
		const char *word;
	} show[] = { { PM_SM_ISSUE, "SM" }, { PM_TENSOR, "tensor" }, { PM_DRAM, "DRAM" } };
	const struct pm_use *u = pm_of_name(&v->in->pm, name);
	char text[64] = "";
	size_t len = 0;

	for (size_t i = 0; u && i < sizeof(show) / sizeof(show[0]); i++)
		if (u->mean[show[i].of] >= 0)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%.0f %s",
						len ? ", " : "",
						len || u->alone >= PM_ALONE ? "" : "~",
						u->mean[show[i].of], show[i].word);
	table_add(t, "%s", len ? text : "-");
}

static void names_rows(const struct view *v, struct table *t, const struct insight_row *row,
		       size_t n, uint64_t sum, bool classes)
{
	const struct fmt_unit *total = fmt_time_unit(n ? row[0].total_ns : 0), *avg, *max;
	uint64_t avg_most = 0, max_most = 0;
	char clean[OUT_TEXT], c[FMT_LEN];

	for (size_t i = 0; i < n; i++) {
		uint64_t a = row[i].total_ns / row[i].count;

		avg_most = a > avg_most ? a : avg_most;
		max_most = row[i].max_ns > max_most ? row[i].max_ns : max_most;
	}
	avg = fmt_time_unit(avg_most);
	max = fmt_time_unit(max_most);
	t->unit[3] = out_unit(&v->out, total->name);
	t->unit[4] = out_unit(&v->out, avg->name);
	t->unit[5] = out_unit(&v->out, max->name);
	for (size_t i = 0; i < n; i++) {
		const char *name = trace_text(v->t, row[i].name);

		table_add(
			t, "  %s",
			fmt_clean(clean, sizeof(clean), *name ? name : "(no name)", v->out.ascii));
		table_add(t, "%s", classes ? class_word[row[i].class] : "");
		table_add(t, "%s", fmt_count(c, row[i].count));
		table_add_time(t, row[i].total_ns, total, 2);
		table_add_time(t, row[i].total_ns / row[i].count, avg, 2);
		table_add_time(t, row[i].max_ns, max, 2);
		table_add(t, "%s", fmt_percent(c, ratio(row[i].total_ns, sum)));
		if (classes)
			roof_cells(v, t, row[i].name);
		if (classes && v->in->pm.uses)
			measured_cell(v, t, row[i].name);
	}
}

static void names_table(const struct view *v, const char *title, const struct insight_row *row,
			size_t n, size_t fold, bool classes)
{
	const struct col col[] = {
		{ title, COL_LEFT | COL_FLEX, 0 },
		{ classes ? "class" : "", COL_LEFT, 4 },
		{ "count", 0, 2 },
		{ "total", 0, 0 },
		{ "avg", 0, 1 },
		{ "max", 0, 3 },
		{ "%", 0, 0 },
		{ "limit", COL_LEFT, 5 },
		{ "% of bound", 0, 6 },
		{ "how", COL_LEFT, 7 },
		{ "measured, %", COL_LEFT, 8 },
	};
	size_t cols = sizeof(col) / sizeof(col[0]);
	size_t show = v->out.all || n <= fold + 1 ? n : fold;
	uint64_t sum = 0, rest = 0;
	struct table t;

	for (size_t i = 0; i < n; i++) {
		sum += row[i].total_ns;
		rest += i >= show ? row[i].total_ns : 0;
	}
	if (!n) {
		out_line(&v->out, OUT_PLAIN, "  %s: none in this trace.\n", title);
		return;
	}
	table_init(&t, col, !classes ? cols - ROOF_CELLS - 1 : v->in->pm.uses ? cols : cols - 1);
	names_rows(v, &t, row, show, sum, classes);
	table_print(&t, &v->out, 2);
	table_fini(&t);
	folded(&v->out, n - show, rest, sum);
	fputc('\n', v->out.f);
}

static void roll_table(const struct view *v, const char *title, enum insight_by by, size_t fold)
{
	size_t n;
	struct insight_row *row = merged(&v->in->roll[by], &n);

	if (row)
		names_table(v, title, row, n, fold, by == ROLL_KERNEL);
	free(row);
}

/* Without GPUs, what the host did is all there is. */
static void by_host(const struct view *v, const char *title, enum insight_by by,
		    enum insight_host_by host, size_t fold)
{
	if (v->in->devices || !v->in->on_host[host].rows)
		roll_table(v, title, by, fold);
	view_host_table(v, host, fold);
}

static void class_table(const struct view *v)
{
	static const struct col col[] = {
		{ "Classes", COL_LEFT | COL_FLEX, 0 },
		{ "count", 0, 1 },
		{ "total", 0, 0 },
		{ "%", 0, 0 },
		{ "+-", 0, 0 },
	};
	bool sampled = false;
	struct insight_class sum[CLASSES] = { { 0 } }, all = { 0 };
	const struct fmt_unit *u;
	char c[FMT_LEN];
	struct table t;

	for (size_t i = 0; i < v->in->devices; i++) {
		for (enum kclass k = 0; k < CLASSES; k++) {
			sum[k].count += v->in->device[i].class[k].count;
			sum[k].ns += v->in->device[i].class[k].ns;
			all.ns += v->in->device[i].class[k].ns;
			sum[k].variance += v->in->device[i].class[k].variance;
			sampled |= v->in->device[i].class[k].variance > 0;
		}
	}
	u = fmt_time_unit(all.ns);
	table_init(&t, col, sampled ? 5 : 4);
	t.unit[2] = t.unit[4] = out_unit(&v->out, u->name);
	for (enum kclass done = 0; done < CLASSES; done++) {
		enum kclass top = 0;

		for (enum kclass k = 1; k < CLASSES; k++)
			if (sum[k].ns > sum[top].ns)
				top = k;
		if (!sum[top].count)
			break;
		table_add(&t, "  %s", class_people[top]);
		table_add(&t, "%s", fmt_count(c, sum[top].count));
		table_add_time(&t, sum[top].ns, u, 2);
		table_add(&t, "%s", fmt_percent(c, ratio(sum[top].ns, all.ns)));
		if (sampled)
			table_add_time(&t, (uint64_t)sampled_error(sum[top].variance), u, 2);
		sum[top] = (struct insight_class){ 0 };
	}
	table_print(&t, &v->out, 2);
	table_fini(&t);
	if (sampled)
		out_line(&v->out, OUT_DIM,
			 "  Steps were skipped at random: totals are estimates for all, +- is 95 "
			 "%%.");
	fputc('\n', v->out.f);
}

/* Shares of a breakdown's span. */
static void shares(struct table *t, const struct breakdown *b, const struct fmt_unit *u)
{
	char c[FMT_LEN];
	const uint64_t ns[] = { b->busy_ns,         b->compute_ns, b->comm_ns,
				b->exposed_comm_ns, b->memory_ns,  b->idle_ns };

	table_add_time(t, b->span_ns, u, 2);
	for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++)
		table_add(t, "%s", fmt_percent(c, ratio(ns[i], b->span_ns)));
	table_add(t, "%s", fmt_count(c, b->kernels));
}

#define SHARE_COLS                                                                 \
	{ "span", 0, 0 }, { "busy", 0, 0 }, { "compute", 0, 4 }, { "comm", 0, 5 }, \
		{ "exposed", 0, 1 }, { "copy", 0, 6 }, { "idle", 0, 0 },           \
	{                                                                          \
		"kernels", 0, 3                                                    \
	}

static void share_units(const struct view *v, struct table *t, size_t at, const struct fmt_unit *u,
			size_t shares)
{
	t->unit[at] = out_unit(&v->out, u->name);
	for (size_t i = 1; i <= shares; i++)
		t->unit[at + i] = "%";
}

static void rank_label(const struct view *v, char *buf, size_t cap, int32_t rank, uint32_t device)
{
	if (rank == TRACE_NO_RANK)
		snprintf(buf, cap, "GPU %u", v->t->device[device].device);
	else
		snprintf(buf, cap, "rank %d GPU %u", rank, v->t->device[device].device);
}

/* Shares of the account's base, as aon why has them. */
static void account_shares(struct table *t, const struct insight_device *d,
			   const struct fmt_unit *u)
{
	const struct time_account *a = &d->account;
	uint64_t comm = a->ns[ACCOUNT_COMM_SEND] + a->ns[ACCOUNT_COMM_WAIT] + a->ns[ACCOUNT_COMM];
	uint64_t busy = a->ns[ACCOUNT_COMPUTE] + comm + a->ns[ACCOUNT_COPY];
	const uint64_t ns[] = { busy, a->ns[ACCOUNT_COMPUTE], comm, a->ns[ACCOUNT_COPY],
				a->base_ns - busy };
	char c[FMT_LEN];

	table_add_time(t, a->base_ns, u, 2);
	for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++)
		table_add(t, "%s", fmt_percent(c, ratio(ns[i], a->base_ns)));
	table_add(t, "%s", fmt_count(c, d->b.kernels));
}

static uint64_t base_of(const struct view *v, size_t device)
{
	const struct insight_device *d = &v->in->device[device];

	return v->in->swept ? d->b.span_ns : d->account.base_ns;
}

/* Of a store that is too large for its events to be read there is no account. */
static void rank_table(const struct view *v, size_t fold)
{
	static const struct col of_span[] = { { "Ranks", COL_LEFT | COL_FLEX, 0 }, SHARE_COLS };
	static const struct col of_base[] = {
		{ "Ranks", COL_LEFT | COL_FLEX, 0 },
		{ "base", 0, 0 },
		{ "busy", 0, 0 },
		{ "compute", 0, 3 },
		{ "exposed comm", 0, 1 },
		{ "exposed copy", 0, 4 },
		{ "idle", 0, 0 },
		{ "kernels", 0, 2 },
	};
	bool swept = v->in->swept;
	size_t n = v->in->devices, show = v->out.all || n <= fold + 1 ? n : fold;
	const struct fmt_unit *u;
	uint64_t most = 0;
	struct table t;
	char label[64];

	if (!n) {
		out_line(&v->out, OUT_PLAIN, "  Ranks: no GPU work is in this trace.\n");
		return;
	}
	for (size_t i = 0; i < n; i++)
		most = base_of(v, i) > most ? base_of(v, i) : most;
	u = fmt_time_unit(most);
	if (swept)
		table_init(&t, of_span, sizeof(of_span) / sizeof(of_span[0]));
	else
		table_init(&t, of_base, sizeof(of_base) / sizeof(of_base[0]));
	share_units(v, &t, 1, u, swept ? 6 : 5);
	for (size_t i = 0; i < show; i++) {
		const struct insight_device *d = &v->in->device[i];

		rank_label(v, label, sizeof(label), d->rank, d->device);
		table_add(&t, "  %s", label);
		if (swept)
			shares(&t, &d->b, u);
		else
			account_shares(&t, d, u);
	}
	table_print(&t, &v->out, 2);
	table_fini(&t);
	if (show < n)
		out_line(&v->out, OUT_PLAIN, "    + %zu more (--all)", n - show);
	fputc('\n', v->out.f);
}

static void stream_table(const struct view *v)
{
	static const struct col col[] = { { "Streams", COL_LEFT | COL_FLEX, 0 },
					  SHARE_COLS,
					  { "queue", 0, 2 } };
	const struct fmt_unit *u;
	uint64_t most = 0;
	struct table t;
	char label[96];

	for (size_t i = 0; i < v->in->streams; i++)
		most = v->in->stream[i].b.span_ns > most ? v->in->stream[i].b.span_ns : most;
	u = fmt_time_unit(most);
	table_init(&t, col, sizeof(col) / sizeof(col[0]));
	share_units(v, &t, 1, u, 6);
	for (size_t i = 0; i < v->in->streams; i++) {
		const struct insight_stream *s = &v->in->stream[i];
		const struct trace_track *l = &v->t->track[s->track];

		rank_label(v, label, sizeof(label), insight_rank(v->t, l->process), l->device);
		table_add(&t, "  %s stream %" PRIu64, label, l->stream);
		shares(&t, &s->b, u);
		table_add(&t, "%.1f", ratio(s->launch.queued_ns, s->b.span_ns));
	}
	table_print(&t, &v->out, 2);
	table_fini(&t);
	fputc('\n', v->out.f);
}

static void step_name(struct table *t, const struct insight_step *s)
{
	if (s->rank == TRACE_NO_RANK)
		table_add(t, "  step %" PRIu64, s->number);
	else
		table_add(t, "  rank %d step %" PRIu64, s->rank, s->number);
}

/* Without GPUs there is nothing that could be busy or idle. */
static void host_step(struct table *t, const struct insight_step *s, const struct fmt_unit *u)
{
	char c[FMT_LEN];

	step_name(t, s);
	table_add_time(t, s->dur_ns, u, 2);
	table_add(t, "%s", fmt_percent(c, ratio(s->input_ns, s->dur_ns)));
	table_add(t, "%s", fmt_percent(c, ratio(s->b.comm_ns, s->dur_ns)));
}

static void step_table(const struct view *v)
{
	static const struct col gpu[] = { { "Steps", COL_LEFT | COL_FLEX, 0 }, SHARE_COLS };
	static const struct col host[] = {
		{ "Steps", COL_LEFT | COL_FLEX, 0 },
		{ "span", 0, 0 },
		{ "input", 0, 0 },
		{ "comm", 0, 0 },
	};
	bool gpus = v->in->devices;
	const struct fmt_unit *u;
	uint64_t most = 0;
	struct table t;

	if (!v->in->steps) {
		out_line(&v->out, OUT_PLAIN, "  Steps: none in this trace.\n");
		return;
	}
	for (size_t i = 0; i < v->in->steps; i++)
		most = v->in->step[i].dur_ns > most ? v->in->step[i].dur_ns : most;
	u = fmt_time_unit(most);
	table_init(&t, gpus ? gpu : host,
		   gpus ? sizeof(gpu) / sizeof(gpu[0]) : sizeof(host) / sizeof(host[0]));
	if (gpus) {
		share_units(v, &t, 1, u, 6);
	} else {
		t.unit[1] = out_unit(&v->out, u->name);
		t.unit[2] = t.unit[3] = "%";
	}
	for (size_t i = 0; i < v->in->steps; i++) {
		const struct insight_step *s = &v->in->step[i];

		if (!gpus) {
			host_step(&t, s, u);
			continue;
		}
		step_name(&t, s);
		shares(&t, &s->b, u);
	}
	table_print(&t, &v->out, 2);
	table_fini(&t);
	fputc('\n', v->out.f);
}

void view_table(const struct view *v, enum view_by by, size_t fold)
{
	switch (by) {
	case VIEW_ALL:
	case VIEW_EVENTS:
	case VIEW_KERNEL:
		roll_table(v, "Kernels and copies", ROLL_KERNEL, fold);
		break;
	case VIEW_CLASS:
		class_table(v);
		break;
	case VIEW_OP:
		by_host(v, "GPU time by op", ROLL_OP, HOST_OP, fold);
		break;
	case VIEW_MODULE:
		by_host(v, "GPU time by module", ROLL_MODULE, HOST_MODULE, fold);
		break;
	case VIEW_STEP:
		step_table(v);
		break;
	case VIEW_RANK:
		rank_table(v, fold);
		break;
	case VIEW_STREAM:
		stream_table(v);
		break;
	}
}
