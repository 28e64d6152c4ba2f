/* SPDX-License-Identifier: Apache-2.0 */
/* report_rank.c - the ranks of a job side by side, and the one that the others wait for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report.h"

#define FETCH      "enumerate(DataLoader)#"
#define SLOW_SHARE 0.10 /* of a step, that the others must wait longer, to name a rank */

struct rank {
	const struct process *p;
	uint64_t steps, p50_ns, mean_ns;
	uint64_t comm_ns, data_ns; /* a step */
};

static int rank_cmp(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->p->origin.rank != y->p->origin.rank)
		return x->p->origin.rank < y->p->origin.rank ? -1 : 1;
	return x->p->id < y->p->id ? -1 : x->p->id > y->p->id;
}

static int take(struct rank *r, struct store *st, const struct process *p)
{
	struct gather g;
	int err = gather_init(&g, st, BY_NAME);

	if (!err)
		err = gather_process(&g, p, 0, false);
	*r = (struct rank){ .p = p, .steps = g.all_steps.count };
	for (size_t i = 0; i < g.rows && r->steps; i++) {
		const struct gather_row *row = &g.row[i];

		/* The usual one of those that every step has: a job's start has others. */
		if (row->kind == EVENT_COLLECTIVE && row->count >= r->steps)
			r->comm_ns += gather_quantile(row, 0.5) * (row->count / r->steps);
		if (row->kind == EVENT_RANGE && row->name &&
		    !strncmp(store_name_text(st, row->name), FETCH, strlen(FETCH)))
			r->data_ns += row->total_ns / r->steps;
	}
	if (r->steps) {
		r->p50_ns = gather_quantile(&g.all_steps, 0.5);
		r->mean_ns = g.all_steps.total_ns / r->steps;
	}
	gather_fini(&g);
	return err;
}

/* In a collective all wait for the last to come: it waits least itself. */
static void verdict(const struct rank *r, size_t n, const struct out *out)
{
	const struct rank *least = NULL, *most = NULL;
	char a[FMT_LEN], b[FMT_LEN];

	for (size_t i = 0; i < n; i++) {
		if (!r[i].steps || !r[i].comm_ns)
			return;
		if (!least || r[i].comm_ns < least->comm_ns)
			least = &r[i];
		if (!most || r[i].comm_ns > most->comm_ns)
			most = &r[i];
	}
	if (n < 2 || least->steps < REPORT_STEPS_MIN ||
	    (double)(most->comm_ns - least->comm_ns) < SLOW_SHARE * (double)least->p50_ns)
		return;
	out_line(out, OUT_BOLD, "  The others wait for rank %u: up to %s of a step of %s.\n",
		 least->p->origin.rank - 1,
		 out_time(out, a, sizeof(a), most->comm_ns - least->comm_ns),
		 out_time(out, b, sizeof(b), least->p50_ns));
}

static void print(const struct rank *r, size_t n, const struct out *out)
{
	static const struct col col[] = {
		{ "  Rank", COL_LEFT, 0 },
		{ "process", COL_LEFT | COL_FLEX, 2 },
		{ "pid", 0, 3 },
		{ "steps", 0, 0 },
		{ "step p50", 0, 0 },
		{ "mean", 0, 0 },
		{ "in collectives", 0, 0 },
		{ "for data", 0, 1 },
	};
	const struct fmt_unit *u;
	uint64_t most = 0;
	struct table t;
	char c[FMT_LEN];

	for (size_t i = 0; i < n; i++)
		most = r[i].mean_ns > most ? r[i].mean_ns : most;
	u = fmt_time_unit(most ? most : 1);
	table_init(&t, col, sizeof(col) / sizeof(col[0]));
	for (size_t i = 4; i < 8; i++)
		t.unit[i] = out_unit(out, u->name);
	for (size_t i = 0; i < n; i++) {
		const uint64_t ns[] = { r[i].p50_ns, r[i].mean_ns, r[i].comm_ns, r[i].data_ns };

		table_add(&t, "  %u", r[i].p->origin.rank - 1);
		table_add_text(&t, out, r[i].p->comm);
		table_add(&t, "%u", r[i].p->pid);
		table_add(&t, "%s", fmt_count(c, r[i].steps));
		for (size_t k = 0; k < 4; k++)
			table_add_time(&t, r[i].steps ? ns[k] : UINT64_MAX, u, 2);
	}
	table_print(&t, out, 2);
	table_fini(&t);
}

int report_ranks(struct store *st, const struct procs *ps, const struct out *out)
{
	struct rank *r = calloc(ps->n + 1, sizeof(*r));
	size_t n = 0;
	int err = r ? 0 : -ENOMEM;

	for (size_t i = 0; i < ps->n && !err; i++)
		if (ps->p[i].origin.rank)
			err = take(&r[n++], st, &ps->p[i]);
	if (!err && n) {
		qsort(r, n, sizeof(*r), rank_cmp);
		verdict(r, n, out);
		print(r, n, out);
	}
	free(r);
	return err ? err : (int)n;
}
