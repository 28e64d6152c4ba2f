/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_traffic.c - copies and collectives compared with their links: a row for each direction, or
 * each operation, size and group, all devices together.
 */
#include <stdlib.h>

#include "base/order.h"
#include "cli/report/view.h"

struct line {
	struct traffic_row r; /* sums; its verdict is that of most of the time */
	size_t devices;
	uint64_t ns[TRAFFIC_WORDS]; /* by verdict */
};

static void add_value(struct table *t, double v)
{
	char n[FMT_LEN];

	table_add(t, "%s", v > 0 ? fmt_value(n, v, 2) : "-");
}

static void name_row(const struct view *v, char *out, size_t cap, const struct traffic_row *r)
{
	char bytes[FMT_LEN], group[32] = "";

	if (!r->collective) {
		snprintf(out, cap, "%s%s", traffic_direction(r), r->pageable ? ", not pinned" : "");
		return;
	}
	if (r->group)
		snprintf(group, sizeof(group), ", group %.16s", trace_text(v->t, r->group));
	snprintf(out, cap, "%s%s%s, %u ranks%s",
		 r->op < COLL_OPS ? coll_op_word[r->op] : "communication", r->bytes ? " " : "",
		 r->bytes ? fmt_bytes(bytes, r->bytes / r->count) : "", r->ranks, group);
}

static void add_row(const struct view *v, struct table *t, const struct line *l,
		    const struct fmt_unit *total)
{
	const struct traffic_row *r = &l->r;
	char name[128], clean[OUT_TEXT], c[FMT_LEN];

	name_row(v, name, sizeof(name), r);
	table_add(t, "  %s", fmt_clean(clean, sizeof(clean), name, v->out.ascii));
	table_add(t, "%zu", l->devices);
	table_add(t, "%s", fmt_count(c, r->count));
	table_add_time(t, r->total_ns, total, 2);
	add_value(t, r->bytes ? traffic_Bps(r) / 1e9 : 0);
	add_value(t, traffic_bus_Bps(r) / 1e9);
	table_add(t, "%s", traffic_fraction(r) > 0 ? fmt_percent(c, traffic_fraction(r)) : "-");
	table_add(t, "%s", out_time(&v->out, c, sizeof(c), r->total_ns / r->count));
	table_add(t, "%s",
		  r->should_ns > 0 ? out_time(&v->out, c, sizeof(c),
					      (uint64_t)(r->should_ns / (double)r->count))
				   : "-");
	table_add(t, "%s",
		  r->matched_ns ? fmt_percent(c, ratio(r->waited_ns, r->matched_ns)) : "-");
	table_add(t, "%s", r->is ? traffic_word[r->is] : "-");
}

static void merge(struct line *to, const struct traffic_row *r)
{
	to->devices++;
	to->ns[r->is] += r->total_ns;
	if (to->ns[r->is] > to->ns[to->r.is])
		to->r.is = r->is;
	to->r.bytes += r->bytes;
	to->r.count += r->count;
	to->r.total_ns += r->total_ns;
	to->r.matched_ns += r->matched_ns;
	to->r.waited_ns += r->waited_ns;
	to->r.carry_ns += r->carry_ns;
	to->r.should_ns += r->should_ns;
}

static int longest(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return cmp_num(y->r.total_ns, x->r.total_ns) ?: cmp_num(x->r.class, y->r.class);
}

static int by_class(const void *a, const void *b)
{
	const struct traffic_row *x = &((const struct line *)a)->r;
	const struct traffic_row *y = &((const struct line *)b)->r;

	return x->class != y->class ? (x->class < y->class ? -1 : 1) : longest(a, b);
}

/* NULL: no memory. */
static struct line *lines_of(const struct traffic *tr, size_t *n)
{
	struct line *l = calloc(tr->rows, sizeof(*l));

	*n = 0;
	for (size_t i = 0; l && i < tr->rows; i++) {
		l[i] = (struct line){ .r = tr->row[i], .devices = 1 };
		l[i].ns[l[i].r.is] = l[i].r.total_ns;
	}
	if (l)
		qsort(l, tr->rows, sizeof(*l), by_class);
	for (size_t i = 0; l && i < tr->rows; i++) {
		if (*n && l[*n - 1].r.class == l[i].r.class)
			merge(&l[*n - 1], &l[i].r);
		else
			l[(*n)++] = l[i];
	}
	if (l)
		qsort(l, *n, sizeof(*l), longest);
	return l;
}

void view_traffic(const struct view *v, size_t fold)
{
	static const struct col col[] = {
		{ "Copies and collectives", COL_LEFT | COL_FLEX, 0 },
		{ "GPUs", 0, 5 },
		{ "count", 0, 7 },
		{ "total", 0, 0 },
		{ "GB/s", 0, 1 },
		{ "bus GB/s", 0, 4 },
		{ "% of link", 0, 2 },
		{ "mean", 0, 6 },
		{ "expected", 0, 3 },
		{ "% waiting", 0, 3 },
		{ "verdict", COL_LEFT, 0 },
	};
	const struct fmt_unit *u;
	struct line *l;
	struct table t;
	size_t n, show;
	char c[FMT_LEN];

	if (!v->in->traffic.rows)
		return;
	l = lines_of(&v->in->traffic, &n);
	if (!l)
		return;
	show = v->out.all || n <= fold + 1 ? n : fold;
	u = fmt_time_unit(l[0].r.total_ns);
	table_init(&t, col, sizeof(col) / sizeof(col[0]));
	t.unit[3] = out_unit(&v->out, u->name);
	for (size_t i = 0; i < show; i++)
		add_row(v, &t, &l[i], u);
	table_print(&t, &v->out, 2);
	table_fini(&t);
	if (show < n)
		out_line(&v->out, OUT_PLAIN, "    + %s more (--all)", fmt_count(c, n - show));
	fputc('\n', v->out.f);
	free(l);
}
