/* SPDX-License-Identifier: Apache-2.0 */
/* fleet_report.c - aon report --cluster: one job over all its ranks. A sentence first, then the evidence. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cluster/fleet_ask.h"
#include "cli/core/out.h"
#include "fleet/answer_json.h"

#define FOLD        10u
#define HOURS_SHOWN 48u
#define BAR         24u

static double of_step(double ns, const struct fleet_sum *s)
{
	return s->steps ? ns / (double)s->steps : 0;
}

static void part(struct table *t, const struct out *out, const char *label, double ns,
		 const struct fleet_sum *s, const struct fmt_unit *u)
{
	double share = s->step_ns > 0 ? ns / s->step_ns : 0;
	char pct[FMT_LEN], bar[4 * BAR + 1];

	table_add(t, "  %s", label);
	table_add_time(t, (uint64_t)fmax(0, of_step(ns, s)), u,
		       fmt_decimals(of_step(s->step_ns, s) / u->scale));
	table_add(t, "%s", fmt_percent(pct, share));
	table_add(t, "%s", fmt_bar(bar, sizeof(bar), share, BAR, out->ascii));
}

static void step_text(const struct fleet_report *r, const struct out *out)
{
	const struct fleet_sum *s = &r->job.sum;
	const struct fmt_unit *u = fmt_time_unit((uint64_t)r->job.step_ns);
	const struct col col[] = { { "Where a step goes", COL_LEFT, 0 },
				   { out_unit(out, u->name), 0, 0 },
				   { "%", 0, 0 },
				   { "mean of all ranks", COL_LEFT, 1 } };
	char p50[FMT_LEN], p99[FMT_LEN];
	struct table t;

	if (!s->steps)
		return;
	table_init(&t, col, 4);
	part(&t, out, "kernels and copies", fleet_busy(s), s, u);
	part(&t, out, "communication that nothing hides", s->exposed_ns - s->lost_ns, s, u);
	part(&t, out, "waiting for slower ranks", s->lost_ns, s, u);
	part(&t, out, "idle", s->idle_ns, s, u);
	table_done(&t, out, 2);
	if (r->steps)
		out_line(out, OUT_PLAIN, "  A step takes %s (p50; p99 %s).",
			 out_time(out, p50, sizeof(p50), (uint64_t)r->p50_ns),
			 out_time(out, p99, sizeof(p99), (uint64_t)r->p99_ns));
	fputc('\n', out->f);
}

static int by_over(const void *a, const void *b)
{
	const struct fleet_rank *x = *(const struct fleet_rank *const *)a;
	const struct fleet_rank *y = *(const struct fleet_rank *const *)b;

	return x->over < y->over ? 1 : x->over > y->over ? -1 : x->rank - y->rank;
}

static void rank_row(struct table *t, const struct out *out, const struct fleet_rank *x,
		     const struct fmt_unit *u)
{
	char v[FMT_LEN], n[FMT_LEN];

	table_add(t, "  %d", x->rank);
	table_add_text(t, out, *x->host ? x->host : "-");
	table_add(t, "%s", fmt_count(n, x->sum.steps));
	table_add_time(t, (uint64_t)of_step(x->sum.step_ns, &x->sum), u, 1);
	table_add_time(t, (uint64_t)x->own_ns, u, 1);
	table_add(t, "%c%s", x->over < 0 ? '-' : '+', fmt_percent(v, fabs(x->over)));
	table_add_time(t, (uint64_t)of_step(x->sum.exposed_ns, &x->sum), u, 1);
	table_add_time(t, (uint64_t)of_step(x->sum.lost_ns, &x->sum), u, 1);
	table_add_time(t, (uint64_t)of_step(x->sum.idle_ns, &x->sum), u, 1);
}

/* Those with most work of their own first: of a thousand, those that stand out are what matters. */
static void ranks_text(const struct fleet_report *r, const struct out *out)
{
	const struct fmt_unit *u = fmt_time_unit((uint64_t)r->job.step_ns);
	static const struct col col[] = { COL_TEXT("Rank", 0),   COL_NAME("node", 0),
					  COL_NUM("steps", 5),   COL_NUM("step", 3),
					  COL_NUM("own", 0),     COL_NUM("+- %", 0),
					  COL_NUM("exposed", 1), COL_NUM("waiting", 0),
					  COL_NUM("idle", 2) };
	const struct fleet_rank **row = calloc(r->ranks + 1, sizeof(*row));
	size_t show = out->all || r->ranks <= FOLD + 1 ? r->ranks : FOLD;
	struct table t;

	if (!row || !r->ranks) {
		free(row);
		return;
	}
	for (size_t i = 0; i < r->ranks; i++)
		row[i] = &r->rank[i];
	qsort(row, r->ranks, sizeof(*row), by_over);
	table_init(&t, col, 9);
	t.unit[3] = t.unit[4] = t.unit[6] = t.unit[7] = t.unit[8] = out_unit(out, u->name);
	for (size_t i = 0; i < show; i++)
		rank_row(&t, out, row[i], u);
	table_print(&t, out, 2);
	if (show < r->ranks)
		out_line(out, OUT_PLAIN,
			 "    + %zu more ranks, those with less work of their own (--all)",
			 r->ranks - show);
	fputc('\n', out->f);
	table_fini(&t);
	free(row);
}

static void kernels_text(const struct fleet_report *r, const struct out *out)
{
	static const struct col col[] = { COL_NAME("Kernels and copies", 0),
					  COL_NUM("count", 2),
					  COL_NUM("total", 0),
					  COL_NUM("avg", 1),
					  COL_NUM("%", 0),
					  COL_NUM("of limit", 3) };
	size_t show = out->all || r->kernels <= FOLD + 1 ? r->kernels : FOLD;
	uint64_t rest = r->more_ns, most = 0;
	const struct fmt_unit *avg, *all;
	char n[FMT_LEN], pct[FMT_LEN];
	struct table t;

	if (!r->kernels)
		return;
	for (size_t i = 0; i < show; i++) {
		const struct fleet_kernel *k = &r->kernel[i];

		most = k->count && k->total_ns / k->count > most ? k->total_ns / k->count : most;
	}
	avg = fmt_time_unit(most);
	all = fmt_time_unit(r->kernel[0].total_ns);
	table_init(&t, col, 6);
	t.unit[2] = out_unit(out, all->name);
	t.unit[3] = out_unit(out, avg->name);
	t.unit[5] = "%";
	for (size_t i = 0; i < show; i++) {
		const struct fleet_kernel *k = &r->kernel[i];
		char clean[OUT_TEXT];

		table_add(&t, "  %s", fmt_clean(clean, sizeof(clean), k->text, out->ascii));
		table_add(&t, "%s", fmt_count(n, k->count));
		table_add_time(&t, k->total_ns, all, 2);
		table_add_time(&t, k->count ? k->total_ns / k->count : 0, avg, 2);
		table_add(&t, "%s",
			  fmt_percent(pct, r->kernel_ns ? (double)k->total_ns / (double)r->kernel_ns
							: 0));
		table_add(&t, "%s",
			  k->floor_ns ? fmt_percent(pct, (double)k->floor_ns / (double)k->total_ns)
				      : "-");
	}
	for (size_t i = show; i < r->kernels; i++)
		rest += r->kernel[i].total_ns;
	table_done(&t, out, 2);
	if (r->kernels - show + r->more_kernels)
		out_line(out, OUT_PLAIN, "    + %s more, %s %% together%s",
			 fmt_count(n, r->kernels - show + r->more_kernels),
			 fmt_percent(pct, r->kernel_ns ? (double)rest / (double)r->kernel_ns : 0),
			 out->all ? "" : " (--all)");
	fputc('\n', out->f);
}

static void findings_text(const struct fleet_report *r, const struct out *out)
{
	char clean[512], pct[FMT_LEN];

	for (size_t i = 0; i < r->findings.n && (out->all || i < 3); i++) {
		const struct fleet_finding *x = &r->findings.f[i];

		out_line(out, x->act ? OUT_WARN : OUT_PLAIN,
			 "  %zu  %s  (%s, up to %s %% of a step)", i + 1,
			 fmt_clean(clean, sizeof(clean), x->text, out->ascii), x->source,
			 fmt_percent(pct, x->gain));
	}
	if (r->findings.n > 3 && !out->all)
		out_line(out, OUT_PLAIN, "  + %zu more findings (--all)", r->findings.n - 3);
	if (r->findings.n)
		fputc('\n', out->f);
}

static double of_hour(const struct fleet_hour *h)
{
	return h->sum.steps ? h->sum.step_ns / (double)h->sum.steps : 0;
}

static void head(const struct fleet_report *r, const struct out *out)
{
	char left[512], job[FLEET_WORD], user[FLEET_WORD], gpu[FLEET_WORD], span[96], n[FMT_LEN];
	const struct fleet_job *j = &r->job;

	snprintf(left, sizeof(left), "%s  %s  %u ranks on %u nodes, %u x %s  %s steps",
		 fmt_clean(job, sizeof(job), j->job, out->ascii),
		 fmt_clean(user, sizeof(user), *j->user ? j->user : "-", out->ascii), j->ranks,
		 j->hosts, j->gpus,
		 *j->gpu ? fmt_clean(gpu, sizeof(gpu), j->gpu, out->ascii) : "GPU",
		 fmt_count(n, r->steps));
	out_ends(out, OUT_BOLD, left, fleet_span_text(r->span, span, sizeof(span)));
	fputc('\n', out->f);
}

/* A step hour by hour, and since when it takes another time. */
static void hours_text(const struct fleet *f, const struct fleet_report *r, const struct out *out)
{
	size_t from = r->hours > HOURS_SHOWN ? r->hours - HOURS_SHOWN : 0;
	char bars[4 * HOURS_SHOWN + 1] = "", a[FMT_LEN], b[FMT_LEN], pct[FMT_LEN], when[32];
	struct fleet_since s;
	double most = 0;
	struct tm tm;
	time_t t;

	for (size_t i = from; i < r->hours; i++)
		most = fmax(most, of_hour(&r->hour[i]));
	if (r->hours < 2 || most <= 0)
		return;
	for (size_t i = from; i < r->hours; i++)
		strcat(bars, of_hour(&r->hour[i]) > 0 ? fmt_spark((uint64_t)of_hour(&r->hour[i]),
								  (uint64_t)most, out->ascii)
						      : " ");
	out_line(out, OUT_PLAIN, "  A step, hour by hour  %s  %s at most", bars,
		 out_time(out, a, sizeof(a), (uint64_t)most));
	if (fleet_since(r, &s)) {
		t = (time_t)(s.t_ns / 1000000000u);
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M", gmtime_r(&t, &tm));
		out_line(out, OUT_WARN, "  Since %s UTC a step takes %s, before it %s: %s %% %s.",
			 when, out_time(out, b, sizeof(b), (uint64_t)s.after_ns),
			 out_time(out, a, sizeof(a), (uint64_t)s.before_ns),
			 fmt_percent(pct, fabs(s.after_ns / s.before_ns - 1)),
			 s.after_ns > s.before_ns ? "longer" : "shorter");
		out_line(out, OUT_COPY, "what changed  aon diff %s --at %s --cluster %s",
			 r->job.job, when, fleet_shown(f));
	}
	fputc('\n', out->f);
}

static void report_text(const struct fleet *f, const struct fleet_report *r, const struct out *out)
{
	char verdict[256], n[4][FMT_LEN];

	head(r, out);
	out_line(out, OUT_BOLD, "  %s\n", fleet_verdict(verdict, sizeof(verdict), r));
	findings_text(r, out);
	step_text(r, out);
	hours_text(f, r, out);
	ranks_text(r, out);
	kernels_text(r, out);
	out_line(out, OUT_DIM,
		 "  Records on the nodes: %s emitted = %s stored + %s lost + %s overwritten",
		 fmt_exact(n[0], r->emitted), fmt_exact(n[1], r->stored), fmt_exact(n[2], r->lost),
		 fmt_exact(n[3], r->overwritten));
	out_line(out, OUT_COPY, "why  aon why --job %s --cluster %s", r->job.job, fleet_shown(f));
}

int fleet_report_cmd(const struct opts *o)
{
	struct store_why why = { "" };
	struct fleet_report r;
	struct fleet_span span;
	struct fleet *f;
	struct out out;
	struct json j;
	int rc = fleet_ask_span(o, &span), err;

	if (rc == CLI_OK && !o->val[OPT_OF_JOB])
		return cli_misuse("which job? --job J; aon fleet lists them");
	if (rc == CLI_OK && (o->val[OPT_OF_RANK] || o->val[OPT_OF_CAPTURE]))
		return fleet_as_store(o, cmd_report);
	if (rc == CLI_OK)
		rc = fleet_ask_open(&f, o);
	if (rc != CLI_OK)
		return rc;
	err = fleet_report(&r, f, o->val[OPT_OF_JOB], span, &why);
	if (err) {
		rc = fleet_ask_failed(f, err, &why);
		fleet_close(f);
		return rc;
	}
	if (o->val[OPT_JSON]) {
		json_begin(&j, stdout, "aon.job/1");
		json_str(&j, "cluster", fleet_shown(f));
		fleet_report_json(&j, &r, NULL);
		json_end(&j);
	} else {
		out_init(&out, stdout, o);
		report_text(f, &r, &out);
	}
	fleet_report_fini(&r);
	fleet_close(f);
	return CLI_OK;
}
