/* SPDX-License-Identifier: Apache-2.0 */
/* aon diff - what got slower or faster between two runs, two ranks or two windows of steps. */
#include <math.h>
#include <string.h>

#include "cli/cluster/fleet_ask.h"
#include "cli/report/compare_inputs.h"
#include "read/json.h"

#define BAR_WIDTH  26u
#define FOLD       5u
#define CHANGE_MIN 0.002 /* of a step: kernels that changed less are not worth a line */

static const struct fmt_unit *unit_of(const struct sides *s)
{
	double most = fmax(s->p[0].step_ns, s->p[1].step_ns);

	return fmt_time_unit((uint64_t)most);
}

static void add_signed(struct table *t, double ns, const struct fmt_unit *u, unsigned decimals)
{
	char v[FMT_LEN];

	if (fabs(ns) / u->scale < 0.5 / pow(10, decimals))
		table_add(t, "0");
	else
		table_add(t, "%c%s", ns < 0 ? '-' : '+',
			  fmt_value(v, fabs(ns) / u->scale, decimals));
}

static void add_bar(struct table *t, const struct out *out, double ns, double most)
{
	size_t n = most > 0 ? (size_t)(fabs(ns) / most * BAR_WIDTH + 0.5) : 0;
	const char *sign = out->ascii ? (ns < 0 ? "<" : ">") : (ns < 0 ? "\u25c2" : "\u25b8");
	char bar[BAR_WIDTH * 4 + 1] = "";

	for (size_t i = 0; i < n && i < BAR_WIDTH; i++)
		strcat(bar, sign);
	table_add(t, "%s", bar);
}

static void add_row(struct table *t, const struct sides *s, const char *name, double a, double b,
		    const struct fmt_unit *u, double most)
{
	unsigned decimals = fmt_decimals(fmax(s->p[0].step_ns, s->p[1].step_ns) / u->scale) + 1;

	table_add_text(t, &s->v[0].out, name);
	table_add_time(t, (uint64_t)a, u, decimals);
	table_add_time(t, (uint64_t)b, u, decimals);
	add_signed(t, b - a, u, decimals);
	add_bar(t, &s->v[0].out, b - a, most);
}

static const struct col cols[] = { COL_NAME("", 0), COL_NUM("A", 0), COL_NUM("B", 0),
				   COL_NUM("+-", 0), COL_TEXT("", 1) };

static void parts_text(const struct sides *s)
{
	const struct fmt_unit *u = unit_of(s);
	const struct profile *a = &s->p[0], *b = &s->p[1];
	struct table t;
	double most = 0;

	for (size_t i = 0; i < PROFILE_PARTS; i++)
		most = fmax(most, fabs(b->part_ns[i] - a->part_ns[i]));
	table_init(&t, cols, 5);
	t.unit[1] = t.unit[2] = t.unit[3] = out_unit(&s->v[0].out, u->name);
	for (size_t i = 0; i < PROFILE_PARTS; i++)
		if (fmax(a->part_ns[i], b->part_ns[i]) >= 0.0005 * fmax(a->step_ns, b->step_ns))
			add_row(&t, s, profile_part(i, NULL), a->part_ns[i], b->part_ns[i], u,
				most);
	add_row(&t, s, a->steps ? "a step" : "in all", a->step_ns, b->step_ns, u, 0);
	table_done(&t, &s->v[0].out, 2);
}

/* In the order of enum insight_by and of the choices of --by. */
static const struct {
	const char *people, *one;
} rolls[ROLLS] = {
	[ROLL_KERNEL] = { "Kernels", "kernel" },
	[ROLL_OP] = { "GPU time of ops", "op" },
	[ROLL_MODULE] = { "GPU time of modules", "module" },
};

static void rows_text(const struct sides *s, enum insight_by by)
{
	double least = CHANGE_MIN * fmax(s->p[0].step_ns, s->p[1].step_ns);
	const struct diff_table *d = &s->d.roll[by];
	const struct out *out = &s->v[0].out;
	const struct fmt_unit *u;
	size_t n = 0, shown;
	struct table t;

	while (n < d->rows && fabs(d->row[n].b_ns - d->row[n].a_ns) >= least)
		n++;
	if (!n) {
		out_line(out, OUT_PLAIN,
			 d->rows ? "  No %s changed by more than 0.2 %% of a step."
				 : "  No %s is known to have launched anything.",
			 rolls[by].one);
		return;
	}
	u = fmt_time_unit((uint64_t)fmax(d->row[0].a_ns, d->row[0].b_ns));
	shown = out->all || n <= FOLD + 1 ? n : FOLD;
	out_line(out, OUT_BOLD, "  %s that changed most", rolls[by].people);
	table_init(&t, cols, 4);
	t.unit[1] = t.unit[2] = t.unit[3] = out_unit(out, u->name);
	for (size_t i = 0; i < shown; i++) {
		const struct diff_row *k = &d->row[i];
		char name[OUT_TEXT];

		snprintf(name, sizeof(name), "%s%s", k->name,
			 k->a_count <= 0   ? " (new)"
			 : k->b_count <= 0 ? " (gone)"
					   : "");
		table_add_text(&t, out, name);
		table_add_time(&t, (uint64_t)k->a_ns, u, 3);
		table_add_time(&t, (uint64_t)k->b_ns, u, 3);
		add_signed(&t, k->b_ns - k->a_ns, u, 3);
	}
	table_done(&t, out, 4);
	if (shown < n)
		out_line(out, OUT_PLAIN, "    + %zu more (--all)", n - shown);
}

static bool has(const struct findings *fs, enum family f)
{
	return fs->checked[f].fired;
}

static void findings_text(const struct sides *s)
{
	char line[OUT_TEXT] = "";
	size_t used = 0;

	for (int f = 0; f < FAMILIES; f++) {
		bool a = has(s->v[0].fs, (enum family)f),
		     b = has(s->v[s->one ? 0 : 1].fs, (enum family)f);

		if (a || b)
			used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s %s",
						 used ? ", " : "", family_table[f].looked,
						 a && b ? "still there"
						 : a    ? "gone"
							: "new");
	}
	if (!s->one)
		out_line(&s->v[0].out, OUT_PLAIN, "  Findings: %s", used ? line : "none in either");
}

static void verdict_text(const struct sides *s)
{
	const struct out *out = &s->v[0].out;
	const struct diff *d = &s->d;
	char a[FMT_LEN], b[FMT_LEN], c[FMT_LEN], lo[FMT_LEN], hi[FMT_LEN], pct[FMT_LEN];
	char left[OUT_TEXT], right[128] = "";
	double share = d->a->step_ns > 0 ? fabs(d->delta_ns) / d->a->step_ns : 0;
	bool same = d->sure && d->lo_ns <= 0 && d->hi_ns >= 0;

	snprintf(left, sizeof(left), "  %s: %s -> %s %s, %c%s (%c%s %%)",
		 same              ? "No clear change"
		 : d->delta_ns > 0 ? "Slower"
				   : "Faster",
		 out_time(out, a, sizeof(a), (uint64_t)d->a->step_ns),
		 out_time(out, b, sizeof(b), (uint64_t)d->b->step_ns),
		 d->a->steps     ? "a step"
		 : d->work_names ? "for the same work"
				 : "in all",
		 d->delta_ns < 0 ? '-' : '+',
		 out_time(out, c, sizeof(c), (uint64_t)fabs(d->delta_ns)),
		 d->delta_ns < 0 ? '-' : '+', fmt_percent(pct, share));
	if (d->sure)
		snprintf(right, sizeof(right), "95 %% CI: %s%s to %s%s", d->lo_ns < 0 ? "-" : "+",
			 out_time(out, lo, sizeof(lo), (uint64_t)fabs(d->lo_ns)),
			 d->hi_ns < 0 ? "-" : "+",
			 out_time(out, hi, sizeof(hi), (uint64_t)fabs(d->hi_ns)));
	out_ends(out, OUT_BOLD, left, right);
	if (!d->a->steps && d->work_names)
		out_line(out, OUT_DIM,
			 "  No steps: B did %.3g times the work of A, by the calls of %zu %s that "
			 "both "
			 "have (%s %% of the time). B's figures are divided by that.",
			 d->work, d->work_names,
			 d->work_by == ROLL_KERNEL ? "kernels" : "operators",
			 fmt_percent(pct, d->work_share));
}

/* Without GPU work on either side, how long steps take is all that is compared. */
static bool steps_alone(const struct sides *s)
{
	return !s->p[0].devices && !s->p[1].devices && s->p[0].steps && s->p[1].steps;
}

static void diff_text(const struct sides *s, enum insight_by by)
{
	const struct out *out = &s->v[0].out;
	char a[OUT_TEXT / 2], b[OUT_TEXT / 2], left[OUT_TEXT + 32], right[256], pct[FMT_LEN];

	fmt_clean(a, sizeof(a), s->label[0], out->ascii);
	fmt_clean(b, sizeof(b), s->label[1], out->ascii);
	snprintf(left, sizeof(left), "A %s  ->  B %s", a, b);
	if (steps_alone(s))
		snprintf(right, sizeof(right), "steps alone are compared: neither has GPU work");
	else
		snprintf(right, sizeof(right), "%s%s",
			 *s->d.why_not ? "not comparable: " : "comparable", s->d.why_not);
	out_ends(out, OUT_PLAIN, left, right);
	fputc('\n', out->f);
	if (!*s->d.why_not || steps_alone(s))
		verdict_text(s);
	fputc('\n', out->f);
	if (steps_alone(s)) {
		out_line(out, OUT_PLAIN,
			 "  What a step consists of is compared for GPU work alone.");
		findings_text(s);
		fputc('\n', out->f);
		out_line(out, OUT_COPY, "why  aon why %s", b);
	}
	if (!s->p[0].devices || !s->p[1].devices)
		return;
	parts_text(s);
	fputc('\n', out->f);
	if (!*s->d.why_not)
		out_line(out, OUT_DIM, "  %s %% of what changed has a name here.",
			 fmt_percent(pct, s->d.explained));
	rows_text(s, by);
	findings_text(s);
	fputc('\n', out->f);
	out_line(out, OUT_COPY, "why  aon why %s", b);
}

/* --- JSON --- */

static void print_json(const struct sides *s)
{
	struct json j;

	json_begin(&j, stdout, "aon.diff/1");
	diff_json(&j, &s->d, s->label[0], s->label[1]);
	diff_findings_json(&j, s->one ? NULL : s->v[0].fs, s->one ? NULL : s->v[1].fs);
	json_end(&j);
}

int cmd_diff(const struct opts *o)
{
	int by = opt_choice(o, OPT_CHANGED, ROLL_KERNEL), rc;
	struct sides s;

	if (by < 0)
		return CLI_USAGE;
	if (fleet_asked(o))
		return fleet_diff_cmd(o);
	rc = sides_open(&s, o, o->argc > 0 ? o->argv[0] : NULL, o->argc > 1 ? o->argv[1] : NULL);
	if (rc != CLI_OK)
		return rc;
	if (o->val[OPT_JSON])
		print_json(&s);
	else
		diff_text(&s, (enum insight_by)by);
	rc = *s.d.why_not ? CLI_UNSURE : CLI_OK;
	sides_close(&s);
	return rc;
}
