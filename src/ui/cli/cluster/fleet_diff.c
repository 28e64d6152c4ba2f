/* SPDX-License-Identifier: Apache-2.0 */
/* fleet_diff.c - aon diff --cluster: two jobs, or one job before and after a moment. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cluster/fleet_ask.h"
#include "cli/core/out.h"
#include "fleet/answer_json.h"

#define FOLD      10u
#define SAME      0.005 /* of a step: not worth a word */
#define HOUR_NS   UINT64_C(3600000000000)
#define STEPS_MIN 20u
#define CHANGE    0.002 /* of a step: kernels that changed less are not worth a line */

struct sides {
	struct fleet_report r[2];
	struct out out;
};

static double of_step(double ns, const struct fleet_sum *s)
{
	return s->steps ? ns / (double)s->steps : 0;
}

static void row(struct table *t, const struct out *out, const char *name, double a, double b,
		const struct fmt_unit *u, unsigned decimals)
{
	char v[FMT_LEN], pct[FMT_LEN];

	table_add_text(t, out, name);
	table_add_time(t, (uint64_t)a, u, decimals);
	table_add_time(t, (uint64_t)b, u, decimals);
	table_add(t, "%c%s", b < a ? '-' : '+', fmt_value(v, fabs(b - a) / u->scale, decimals));
	table_add(t, "%s", a > 0 ? fmt_percent(pct, fabs(b / a - 1)) : "new");
}

static const struct col cols[] = { COL_NAME("A step of a rank, in the mean", 0), COL_NUM("A", 0),
				   COL_NUM("B", 0), COL_NUM("+-", 0), COL_NUM("%", 1) };

static void parts_text(const struct sides *x)
{
	const struct fleet_sum *a = &x->r[0].job.sum, *b = &x->r[1].job.sum;
	const struct fmt_unit *u =
		fmt_time_unit((uint64_t)fmax(x->r[0].job.step_ns, x->r[1].job.step_ns));
	unsigned d = fmt_decimals(fmax(x->r[0].job.step_ns, x->r[1].job.step_ns) / u->scale) + 1;
	struct table t;

	table_init(&t, cols, 5);
	t.unit[1] = t.unit[2] = t.unit[3] = out_unit(&x->out, u->name);
	row(&t, &x->out, "  kernels and copies", of_step(fleet_busy(a), a),
	    of_step(fleet_busy(b), b), u, d);
	row(&t, &x->out, "  communication that nothing hides",
	    of_step(a->exposed_ns - a->lost_ns, a), of_step(b->exposed_ns - b->lost_ns, b), u, d);
	row(&t, &x->out, "  waiting for slower ranks", of_step(a->lost_ns, a),
	    of_step(b->lost_ns, b), u, d);
	row(&t, &x->out, "  idle", of_step(a->idle_ns, a), of_step(b->idle_ns, b), u, d);
	row(&t, &x->out, "  a step", of_step(a->step_ns, a), of_step(b->step_ns, b), u, d);
	table_done(&t, &x->out, 2);
	fputc('\n', x->out.f);
}

static void kernels_text(const struct sides *x)
{
	double least = CHANGE * fmax(x->r[0].job.step_ns, x->r[1].job.step_ns);
	static const struct col col[] = { COL_NAME("Kernels that changed most", 0), COL_NUM("A", 0),
					  COL_NUM("B", 0), COL_NUM("+-", 0), COL_NUM("%", 1) };
	size_t n = 0, all = 0, show;
	struct fleet_pair *p = fleet_pairs(&x->r[0], &x->r[1], &all);
	const struct fmt_unit *u;
	struct table t;

	while (p && n < all && fabs(p[n].b_ns - p[n].a_ns) >= least)
		n++;
	show = x->out.all || n <= FOLD + 1 ? n : FOLD;
	if (!n) {
		out_line(&x->out, OUT_PLAIN, "  No kernel changed by more than 0.2 %% of a step.");
		free(p);
		return;
	}
	u = fmt_time_unit((uint64_t)fmax(p[0].a_ns, p[0].b_ns));
	table_init(&t, col, 5);
	t.unit[1] = t.unit[2] = t.unit[3] = out_unit(&x->out, u->name);
	for (size_t i = 0; i < show; i++)
		row(&t, &x->out, (p[i].a ? p[i].a : p[i].b)->text, p[i].a_ns, p[i].b_ns, u, 3);
	table_print(&t, &x->out, 2);
	if (show < n)
		out_line(&x->out, OUT_PLAIN, "  + %zu more (--all)", n - show);
	table_fini(&t);
	free(p);
}

static void side_text(const struct sides *x, int i)
{
	char job[FLEET_WORD], span[96], fw[2 * FLEET_WORD + 4], clean[2 * FLEET_WORD + 4];
	const struct fleet_report *r = &x->r[i];

	snprintf(fw, sizeof(fw), "%s%s%s", r->job.framework,
		 *r->job.framework && *r->job.driver ? ", driver "
		 : *r->job.driver                    ? "driver "
						     : "",
		 r->job.driver);
	out_line(&x->out, OUT_PLAIN, "%c  %s  %u ranks  %s  %s", 'A' + i,
		 fmt_clean(job, sizeof(job), r->job.job, x->out.ascii), r->job.ranks,
		 fmt_clean(clean, sizeof(clean), fw, x->out.ascii),
		 fleet_span_text(r->span, span, sizeof(span)));
}

static void diff_text(const struct sides *x)
{
	double a = x->r[0].job.step_ns, b = x->r[1].job.step_ns;
	char t[2][FMT_LEN], pct[FMT_LEN];

	side_text(x, 0);
	side_text(x, 1);
	fputc('\n', x->out.f);
	if (fabs(b / a - 1) < SAME)
		out_line(&x->out, OUT_BOLD, "  A step of B takes as long as one of A: %s.\n",
			 out_time(&x->out, t[1], sizeof(t[1]), (uint64_t)b));
	else
		out_line(&x->out, OUT_BOLD, "  A step of B takes %s, of A %s: %s %% %s.\n",
			 out_time(&x->out, t[1], sizeof(t[1]), (uint64_t)b),
			 out_time(&x->out, t[0], sizeof(t[0]), (uint64_t)a),
			 fmt_percent(pct, fabs(b / a - 1)), b > a ? "longer" : "shorter");
	if (x->r[0].job.ranks != x->r[1].job.ranks)
		out_line(&x->out, OUT_WARN,
			 "  They have %u and %u ranks: a rank's share of the work differs.\n",
			 x->r[0].job.ranks, x->r[1].job.ranks);
	parts_text(x);
	kernels_text(x);
}

static int load(struct sides *x, struct fleet *f, const struct opts *o, struct fleet_span span)
{
	int first = o->argc && !strncmp(o->argv[0], FLEET_PREFIX, strlen(FLEET_PREFIX));
	const char *job[2] = { o->argc > first ? o->argv[first] : NULL,
			       o->argc > first + 1 ? o->argv[first + 1] : NULL };
	struct fleet_span side[2] = { span, span };
	struct store_why why = { "" };
	uint64_t at;
	int err = 0;

	if (!job[0] || o->argc > first + 2 || (job[1] && o->val[OPT_AT]) ||
	    (!job[1] && !o->val[OPT_AT]))
		return cli_misuse(
			"two jobs, or one job and --at, the moment between its two sides");
	if (!job[1]) {
		if (fleet_ask_time("at", o->val[OPT_AT], &at) != CLI_OK)
			return CLI_USAGE;
		at = at / HOUR_NS * HOUR_NS; /* as roll-ups are */
		if (at <= span.from_ns || at >= span.to_ns)
			return cli_misuse("--at lies outside of --since and --until");
		side[0].to_ns = side[1].from_ns = at;
		job[1] = job[0];
	}
	err = fleet_report(&x->r[0], f, job[0], side[0], &why);
	if (!err) {
		err = fleet_report(&x->r[1], f, job[1], side[1], &why);
		if (err)
			fleet_report_fini(&x->r[0]);
	}
	return err ? fleet_ask_failed(f, err, &why) : CLI_OK;
}

int fleet_diff_cmd(const struct opts *o)
{
	struct fleet_span span;
	struct sides x;
	struct fleet *f;
	struct json j;
	int rc = fleet_ask_span(o, &span);

	if (rc == CLI_OK)
		rc = fleet_ask_open(&f, o);
	if (rc != CLI_OK)
		return rc;
	rc = load(&x, f, o, span);
	if (rc != CLI_OK) {
		fleet_close(f);
		return rc;
	}
	out_init(&x.out, stdout, o);
	x.out.all = o->val[OPT_EVERYROW] != NULL;
	if (x.r[0].job.sum.steps < STEPS_MIN || x.r[1].job.sum.steps < STEPS_MIN) {
		rc = cli_say(CLI_UNSURE, "too few steps on one side for a verdict");
	} else if (o->val[OPT_JSON]) {
		json_begin(&j, stdout, "aon.jobs/1");
		json_str(&j, "cluster", fleet_shown(f));
		fleet_compare_json(&j, &x.r[0], &x.r[1]);
		json_end(&j);
	} else {
		diff_text(&x);
	}
	fleet_report_fini(&x.r[0]);
	fleet_report_fini(&x.r[1]);
	fleet_close(f);
	return rc;
}
