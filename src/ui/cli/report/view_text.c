/* SPDX-License-Identifier: Apache-2.0 */
/* view_text.c - a trace's breakdown as text: a sentence, where a step goes, the kernels. */
#include <stdlib.h>
#include <string.h>

#include "cli/report/view.h"

#define BAR           24u
#define CLASSES_SHOWN 6u
#define FOLD          5u

/* What a step, or the base, is made of: means over all GPUs; the parts sum to the whole. */
struct goes {
	char what[48];
	double ns;
};

static int longest_first(const void *a, const void *b)
{
	const struct goes *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

static void add_row(struct goes *g, size_t *n, const char *what, double ns)
{
	snprintf(g[*n].what, sizeof(g->what), "%s", what);
	g[(*n)++].ns = ns;
}

/* Of causes from..to of the accounts, both included: a step, the mean of all GPUs. */
static double part_of(const struct insight *in, enum account_cause from, enum account_cause to)
{
	double sum = 0;

	for (size_t i = 0; i < in->devices; i++)
		for (enum account_cause c = from; c <= to; c++)
			sum += (double)in->device[i].account.ns[c] /
			       (double)finding_steps(&in->device[i]);
	return sum / (double)in->devices;
}

/* Kernels of several classes may run at once: each gets its share of the time computed in. */
static size_t class_rows(const struct insight *in, struct goes *g)
{
	double ns[CLASSES] = { 0 }, sum = 0,
	       compute = part_of(in, ACCOUNT_COMPUTE, ACCOUNT_COMPUTE);
	size_t n = 0;

	for (enum kclass c = 0; c < CLASS_COMM; c++) {
		for (size_t i = 0; i < in->devices; i++)
			ns[c] += (double)in->device[i].class[c].ns /
				 (double)finding_steps(&in->device[i]);
		sum += ns[c];
	}
	for (enum kclass c = 0; c < CLASS_COMM; c++)
		if (ns[c] > 0)
			add_row(g, &n, class_people[c], ns[c] / sum * compute);
	qsort(g, n, sizeof(*g), longest_first);
	return n;
}

static void idle_note(const struct view *v, double base, char *buf, size_t cap)
{
	size_t used = 0;

	for (enum account_cause c = ACCOUNT_IDLE; c < ACCOUNT_CAUSES; c++) {
		double ns = part_of(v->in, c, c);
		char t[FMT_LEN];

		if (ns < 0.02 * base || used >= cap)
			continue;
		used += (size_t)snprintf(buf + used, cap - used, "%s%s %s", used ? ", " : "",
					 out_time(&v->out, t, sizeof(t), (uint64_t)ns),
					 account_table[c].people);
	}
}

static size_t fold_classes(const struct view *v, struct goes *g, size_t n)
{
	if (v->out.all || n <= CLASSES_SHOWN + 1)
		return n;
	for (size_t i = CLASSES_SHOWN + 1; i < n; i++)
		g[CLASSES_SHOWN].ns += g[i].ns;
	snprintf(g[CLASSES_SHOWN].what, sizeof(g->what), "+ %zu more (--all)", n - CLASSES_SHOWN);
	return CLASSES_SHOWN + 1;
}

static void where_it_goes(const struct view *v)
{
	struct goes g[CLASSES + 4];
	double span = part_of(v->in, 0, ACCOUNT_CAUSES - 1);
	const struct fmt_unit *u = fmt_time_unit((uint64_t)span);
	size_t n = fold_classes(v, g, class_rows(v->in, g));
	bool steps = v->in->device[0].account.steps;
	char mean[64], bar[4 * BAR + 1], pct[FMT_LEN], value[FMT_LEN], note[256] = "";
	const struct col col[] = {
		{ steps ? "Where a step goes" : "Where the time goes", COL_LEFT | COL_FLEX, 0 },
		{ out_unit(&v->out, u->name), 0, 0 },
		{ "%", 0, 0 },
		{ mean, COL_LEFT, 1 },
	};
	struct table t;

	if (part_of(v->in, ACCOUNT_COMM_SEND, ACCOUNT_COMM) > 0)
		add_row(g, &n, "comm, not hidden", part_of(v->in, ACCOUNT_COMM_SEND, ACCOUNT_COMM));
	if (part_of(v->in, ACCOUNT_COPY, ACCOUNT_COPY) > 0)
		add_row(g, &n, "copy, not hidden", part_of(v->in, ACCOUNT_COPY, ACCOUNT_COPY));
	add_row(g, &n, "idle", part_of(v->in, ACCOUNT_IDLE, ACCOUNT_CAUSES - 1));
	snprintf(mean, sizeof(mean), v->in->devices > 1 ? "mean of %zu GPUs" : "", v->in->devices);
	table_init(&t, col, 4);
	for (size_t i = 0; i < n; i++) {
		double share = span > 0 ? g[i].ns / span : 0;

		table_add(&t, "  %s", g[i].what);
		table_add(&t, "%s",
			  fmt_value(value, g[i].ns / u->scale, fmt_decimals(span / u->scale)));
		table_add(&t, "%s", fmt_percent(pct, share));
		table_add(&t, "%s", fmt_bar(bar, sizeof(bar), share, BAR, v->out.ascii));
	}
	table_print(&t, &v->out, 2);
	table_fini(&t);
	idle_note(v, span, note, sizeof(note));
	if (*note)
		out_line(&v->out, OUT_PLAIN, "      %s", note);
	fputc('\n', v->out.f);
}

static void findings_table(const struct view *v)
{
	static const struct col col[] = {
		{ "Findings", COL_LEFT | COL_FLEX, 0 },
		{ "costs", COL_LEFT, 0 },
		{ "%", 0, 0 },
		{ "sure", COL_LEFT, 1 },
	};
	size_t show = v->out.all || v->fs->n <= 4 ? v->fs->n : 3;
	char clean[OUT_TEXT], t[FMT_LEN], pct[FMT_LEN];
	struct table tab;

	if (!v->fs->n)
		return;
	table_init(&tab, col, 4);
	for (size_t i = 0; i < show; i++) {
		const struct finding *f = &v->fs->f[i];

		table_add(&tab, "  %zu  %s", i + 1,
			  view_clean(&v->out, clean, sizeof(clean), f->title));
		table_add(&tab, "%s", out_time(&v->out, t, sizeof(t), f->cost_ns / f->steps));
		table_add(&tab, "%s", fmt_percent(pct, f->share));
		table_add(&tab, "%s", sure_word[f->sure]);
	}
	table_print(&tab, &v->out, 2);
	table_fini(&tab);
	if (show < v->fs->n)
		out_line(&v->out, OUT_PLAIN, "    + %zu more (aon why --all)", v->fs->n - show);
	fputc('\n', v->out.f);
}

static void accounting(const struct view *v)
{
	uint64_t rows = 0, imported = 0, left = 0, lost = 0, kernels = 0, attributed = 0;
	char a[FMT_LEN], b[FMT_LEN], c[FMT_LEN], d[FMT_LEN];

	for (size_t i = 0; i < v->t->files; i++) {
		rows += v->t->file[i].rows;
		imported += v->t->file[i].imported;
		left += v->t->file[i].left;
		lost += v->t->file[i].lost;
	}
	for (size_t i = 0; i < v->in->devices; i++) {
		kernels += v->in->device[i].b.kernels;
		attributed += v->in->device[i].b.attributed;
	}
	if (attributed < kernels)
		out_line(&v->out, OUT_PLAIN,
			 "  %s of %s kernels have no launch in the trace; they count",
			 fmt_count(a, kernels - attributed), fmt_count(b, kernels));
	out_line(&v->out, OUT_DIM, "  %s rows: %s events, %s of other kinds, %s lost",
		 fmt_count(a, rows), fmt_count(b, imported), fmt_count(c, left),
		 fmt_count(d, lost));
}

void view_text(const struct view *v)
{
	char operands[OUT_TEXT];

	view_head(v);
	fputc('\n', v->out.f);
	view_verdict(v);
	if (v->fs->n)
		view_wrap(&v->out, "try", v->fs->f[0].action);
	fputc('\n', v->out.f);
	if (v->in->devices) {
		where_it_goes(v);
		if (v->in->devices > 1)
			view_table(v, VIEW_RANK, 8);
		view_table(v, VIEW_KERNEL, FOLD);
		view_traffic(v, FOLD);
		findings_table(v);
	}
	accounting(v);
	out_line(&v->out, OUT_COPY, "\n  why  aon why %s",
		 view_operands(v, operands, sizeof(operands)));
	fflush(v->out.f);
	if (v->in->devices && !v->in->steps)
		fprintf(stderr, "No step markers: times are of the whole trace, not of a step.\n");
}
