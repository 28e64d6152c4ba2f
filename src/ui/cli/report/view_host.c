/* SPDX-License-Identifier: Apache-2.0 */
/* view_host.c - operators and modules by time on the host, and the work of their shapes. */
#include <stdlib.h>
#include <string.h>

#include "cli/report/view.h"

static uint64_t time_of(const struct insight_host_row *r)
{
	return r->self_ns + r->backward_ns;
}

static int by_name(const void *a, const void *b)
{
	const struct insight_host_row *x = a, *y = b;

	return x->name < y->name ? -1 : x->name > y->name;
}

static int by_time(const void *a, const void *b)
{
	const struct insight_host_row *x = a, *y = b;

	return time_of(x) < time_of(y) ? 1 : time_of(x) > time_of(y) ? -1 : by_name(a, b);
}

/* The rows of several ranks with one name are one. Caller frees. */
static struct insight_host_row *merged(const struct insight_host_table *tab, size_t *n)
{
	struct insight_host_row *row = malloc((tab->rows + 1) * sizeof(*row));
	size_t used = 0;

	*n = 0;
	if (!row || !tab->rows)
		return row;
	memcpy(row, tab->row, tab->rows * sizeof(*row));
	qsort(row, tab->rows, sizeof(*row), by_name);
	for (size_t i = 0; i < tab->rows; i++) {
		struct insight_host_row *into = used ? &row[used - 1] : NULL;

		if (!into || into->name != row[i].name) {
			row[used++] = row[i];
			continue;
		}
		into->count += row[i].count;
		into->total_ns += row[i].total_ns;
		into->self_ns += row[i].self_ns;
		into->backward_ns += row[i].backward_ns;
		into->flops += row[i].flops;
		into->bytes += row[i].bytes;
		into->work_ns += row[i].work_ns;
	}
	qsort(row, used, sizeof(*row), by_time);
	*n = used;
	return row;
}

/* Nothing is shown as nothing, not as 0. */
static void add_value(struct table *t, double v, bool known)
{
	char n[FMT_LEN];

	table_add(t, "%s", known ? fmt_value(n, v, 2) : "");
}

static void add_row(const struct view *v, struct table *t, const struct insight_host_row *r,
		    uint64_t sum, const struct fmt_unit *const u[3], bool modules)
{
	const char *name = trace_text(v->t, r->name);
	char clean[OUT_TEXT], c[FMT_LEN];

	table_add(t, "  %s",
		  fmt_clean(clean, sizeof(clean), *name ? name : "(no name)", v->out.ascii));
	table_add(t, "%s", fmt_count(c, r->count));
	table_add_time(t, r->total_ns, u[0], 2);
	table_add_time(t, r->self_ns, u[1], 2);
	if (modules)
		table_add_time(t, r->backward_ns, u[2], 2);
	table_add(t, "%s", fmt_percent(c, ratio(time_of(r), sum)));
	add_value(t, (double)r->flops / 1e9, r->flops);
	add_value(t, (double)r->bytes / 1e9, r->bytes);
	add_value(t, r->work_ns ? (double)r->flops / (double)r->work_ns : 0, r->flops);
}

static void pick_units(const struct fmt_unit *u[3], const struct insight_host_row *row, size_t n)
{
	uint64_t total = 0, self = 0, back = 0;

	for (size_t i = 0; i < n; i++) {
		total = row[i].total_ns > total ? row[i].total_ns : total;
		self = row[i].self_ns > self ? row[i].self_ns : self;
		back = row[i].backward_ns > back ? row[i].backward_ns : back;
	}
	u[0] = fmt_time_unit(total);
	u[1] = fmt_time_unit(self);
	u[2] = fmt_time_unit(back);
}

static void print(const struct view *v, const char *title, const struct insight_host_row *row,
		  size_t n, size_t fold, bool modules)
{
	const struct col all[] = {
		{ title, COL_LEFT | COL_FLEX, 0 },
		{ modules ? "calls" : "count", 0, 2 },
		{ modules ? "forward" : "total", 0, 0 },
		{ "self", 0, 0 },
		{ "backward", 0, 0 },
		{ "%", 0, 0 },
		{ "GFLOP", 0, 3 },
		{ "GB", 0, 4 },
		{ "GFLOP/s", 0, 1 },
	};
	size_t show = v->out.all || n <= fold + 1 ? n : fold, cols = 0;
	const struct fmt_unit *u[3];
	struct col col[9];
	uint64_t sum = 0, rest = 0;
	char count[FMT_LEN], share[FMT_LEN];
	struct table t;

	for (size_t i = 0; i < 9; i++)
		if (modules || i != 4)
			col[cols++] = all[i];
	for (size_t i = 0; i < n; i++) {
		sum += time_of(&row[i]);
		rest += i >= show ? time_of(&row[i]) : 0;
	}
	pick_units(u, row, show);
	table_init(&t, col, cols);
	for (size_t i = 0; i < (modules ? 3u : 2u); i++)
		t.unit[2 + i] = out_unit(&v->out, u[i]->name);
	for (size_t i = 0; i < show; i++)
		add_row(v, &t, &row[i], sum, u, modules);
	table_print(&t, &v->out, 2);
	table_fini(&t);
	if (show < n)
		out_line(&v->out, OUT_PLAIN, "    + %s more, %s %% together (--all)",
			 fmt_count(count, n - show), fmt_percent(share, ratio(rest, sum)));
	fputc('\n', v->out.f);
}

bool view_host_table(const struct view *v, enum insight_host_by by, size_t fold)
{
	size_t n;
	struct insight_host_row *row = merged(&v->in->on_host[by], &n);

	if (row && n)
		print(v, by == HOST_OP ? "Operators, on the host" : "Modules, on the host", row, n,
		      fold, by == HOST_MODULE);
	free(row);
	return n > 0;
}
