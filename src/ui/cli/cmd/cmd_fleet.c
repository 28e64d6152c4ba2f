/* SPDX-License-Identifier: Apache-2.0 */
/* aon fleet - where GPU hours of a cluster go: by job, by node, and what got slower with a version. */
#include <stdio.h>

#include "cli/cluster/fleet_ask.h"
#include "cli/core/out.h"
#include "fleet/answer_json.h"

#define FOLD  10u
#define BAR   30u
#define GPU_H 3.6e12 /* ns */

static void share_row(struct table *t, const struct out *out, const char *label, double ns,
		      double all)
{
	char v[FMT_LEN], pct[FMT_LEN], bar[4 * BAR + 1];
	double share = all > 0 ? ns / all : 0;

	table_add(t, "  %s", label);
	table_add(t, "%s", fmt_value(v, ns / GPU_H, fmt_decimals(all / GPU_H)));
	table_add(t, "%s", fmt_percent(pct, share));
	table_add(t, "%s", fmt_bar(bar, sizeof(bar), share, BAR, out->ascii));
}

static void where_text(const struct fleet_sum *s, const struct out *out)
{
	static const struct col col[] = { COL_TEXT("Where GPU hours go", 0), COL_NUM("GPU h", 0),
					  COL_NUM("%", 0), COL_TEXT("", 1) };
	struct table t;

	table_init(&t, col, 4);
	share_row(&t, out, "kernels and copies", fleet_busy(s), s->held_ns);
	share_row(&t, out, "communication that nothing hides", s->exposed_ns - s->lost_ns,
		  s->held_ns);
	share_row(&t, out, "waiting for slower ranks", s->lost_ns, s->held_ns);
	share_row(&t, out, "idle in steps", s->idle_ns, s->held_ns);
	share_row(&t, out, "held, in no step", fleet_outside(s), s->held_ns);
	table_done(&t, out, 2);
	fputc('\n', out->f);
}

static double lost_h(const struct fleet_sum *s)
{
	return (s->lost_ns + s->idle_ns + fleet_outside(s)) / GPU_H;
}

/* What costs a job most, in a few words; what was diagnosed comes first. */
static void job_note(const struct fleet_job *j, const struct out *out, char *buf, size_t cap)
{
	char pct[FMT_LEN], host[FLEET_WORD];
	double outside = fleet_outside(&j->sum);

	*buf = '\0';
	if (*j->finding)
		fmt_clean(buf, cap, j->finding, out->ascii);
	else if (outside > 0.5 * j->sum.held_ns)
		snprintf(buf, cap, "allocated, and in no step for %s %% of the time",
			 fmt_percent(pct, outside / j->sum.held_ns));
	else if (j->slow_rank >= 0 && j->sum.lost_ns > FLEET_OVER * j->sum.step_ns)
		snprintf(buf, cap, "others wait for rank %d on %s", j->slow_rank,
			 fmt_clean(host, sizeof(host), j->slow_host, out->ascii));
}

static void jobs_text(const struct fleet_overview *o, const struct out *out)
{
	static const struct col col[] = { COL_TEXT("Jobs", 0), COL_TEXT("user", 3),
					  COL_NUM("GPUs", 0),  COL_NUM("step", 4),
					  COL_NUM("busy", 0),  COL_NUM("lost", 0),
					  COL_NAME("what", 1) };
	size_t show = out->all || o->jobs <= FOLD + 1 ? o->jobs : FOLD;
	const struct fmt_unit *ms = fmt_time_unit(100000000);
	char v[FMT_LEN], note[512];
	struct table t;

	table_init(&t, col, 7);
	t.unit[3] = ms->name;
	t.unit[4] = "%";
	t.unit[5] = "GPU h";
	for (size_t i = 0; i < show; i++) {
		const struct fleet_job *j = &o->job[i];

		job_note(j, out, note, sizeof(note));
		table_add_text(&t, out, *j->job ? j->job : "(no job)");
		table_add_text(&t, out, *j->user ? j->user : "-");
		table_add(&t, "%u", j->gpus);
		table_add_time(&t, j->step_ns > 0 ? (uint64_t)j->step_ns : UINT64_MAX, ms, 1);
		table_add(&t, "%s",
			  fmt_percent(v, j->sum.held_ns > 0 ? fleet_busy(&j->sum) / j->sum.held_ns
							    : 0));
		table_add(&t, "%s", fmt_value(v, lost_h(&j->sum), 1));
		table_add(&t, "%s", note);
	}
	table_done(&t, out, 2);
	if (show < o->jobs)
		out_line(out, OUT_PLAIN, "  + %zu more jobs (--all)", o->jobs - show);
	fputc('\n', out->f);
}

static void silent_text(const struct fleet_overview *o, const struct out *out)
{
	char host[FLEET_WORD], ago[FMT_LEN];
	size_t show = out->all || o->silent <= FOLD + 1 ? o->silent : FOLD;

	if (!o->silent)
		return;
	out_line(out, OUT_WARN,
		 "  Silent nodes: %zu of %zu. What they did since is in no sum here.", o->silent,
		 o->nodes);
	for (size_t i = 0; i < show; i++)
		out_line(out, OUT_PLAIN, "    %s  for %s",
			 fmt_clean(host, sizeof(host), o->node[i].host, out->ascii),
			 fmt_time(ago, o->span.to_ns - o->node[i].seen_ns));
	if (show < o->silent)
		out_line(out, OUT_PLAIN, "    + %zu more (--all)", o->silent - show);
	fputc('\n', out->f);
}

static void nodes_text(const struct fleet_overview *o, const struct out *out)
{
	static const struct col col[] = { COL_TEXT("Nodes that others wait for", 0),
					  COL_TEXT("rack", 2), COL_NUM("waited", 0),
					  COL_NAME("job", 1) };
	size_t shown = 0, more = 0;
	char v[FMT_LEN];
	struct table t;

	table_init(&t, col, 4);
	t.unit[2] = "GPU h";
	for (size_t i = 0; i < o->nodes; i++) {
		const struct fleet_node *n = &o->node[i];

		if (n->lost_ns <= 0)
			continue;
		if (!out->all && shown >= FOLD) {
			more++;
			continue;
		}
		shown++;
		table_add_text(&t, out, n->host);
		table_add_text(&t, out, *n->rack ? n->rack : "-");
		table_add(&t, "%s", fmt_value(v, n->lost_ns / GPU_H, 1));
		table_add_text(&t, out, n->job);
	}
	if (shown)
		table_print(&t, out, 2);
	if (more)
		out_line(out, OUT_PLAIN, "  + %zu more (--all)", more);
	if (shown)
		fputc('\n', out->f);
	table_fini(&t);
}

static void verdict(const struct fleet_overview *o, const struct out *out)
{
	const struct fleet_sum *s = &o->sum;
	char pct[FMT_LEN], h[FMT_LEN];

	if (!o->jobs) {
		out_line(out, OUT_BOLD, "  No job was seen in that time.\n");
		return;
	}
	out_line(out, OUT_BOLD,
		 "  GPUs are at work in %s %% of the time that they are held; %s GPU hours are "
		 "lost.\n",
		 fmt_percent(pct, s->held_ns > 0 ? fleet_busy(s) / s->held_ns : 0),
		 fmt_value(h, lost_h(s), 1));
}

static void overview_text(const struct fleet *f, const struct fleet_overview *o,
			  const struct out *out)
{
	char span[96], left[256], gpus[FMT_LEN];

	snprintf(left, sizeof(left), "%s  %s GPUs in %zu job%s on %zu node%s", fleet_shown(f),
		 fmt_exact(gpus, o->gpus), o->jobs, o->jobs == 1 ? "" : "s", o->nodes,
		 o->nodes == 1 ? "" : "s");
	out_ends(out, OUT_BOLD, left, fleet_span_text(o->span, span, sizeof(span)));
	fputc('\n', out->f);
	verdict(o, out);
	if (o->jobs) {
		where_text(&o->sum, out);
		jobs_text(o, out);
	}
	nodes_text(o, out);
	silent_text(o, out);
	if (o->drops)
		out_line(out, OUT_WARN, "  Nodes gave up %s rows before they came here.",
			 fmt_exact(gpus, o->drops));
	if (o->jobs)
		out_line(out, OUT_COPY, "why  aon report --job %s --cluster %s",
			 *o->job[0].job ? o->job[0].job : "J", fleet_shown(f));
}

static void changes_text(const struct fleet_changes *cs, const struct out *out)
{
	static const struct col col[] = { COL_NAME("Kernels that got slower", 0),
					  COL_TEXT("with", 0),
					  COL_NUM("before", 0),
					  COL_NUM("after", 0),
					  COL_NUM("+ %", 0),
					  COL_NUM("jobs", 2),
					  COL_NUM("cost", 0) };
	size_t show = out->all || cs->n <= FOLD + 1 ? cs->n : FOLD;
	const struct fmt_unit *us = fmt_time_unit(100000);
	char v[FMT_LEN], with[3 * FLEET_WORD], clean[3 * FLEET_WORD];
	struct table t;

	if (!cs->n) {
		out_line(out, OUT_BOLD,
			 "  No kernel got slower with a version of driver or framework.");
		return;
	}
	table_init(&t, col, 7);
	t.unit[2] = t.unit[3] = out_unit(out, us->name);
	t.unit[6] = "GPU h";
	for (size_t i = 0; i < show; i++) {
		const struct fleet_change *c = &cs->c[i];

		snprintf(with, sizeof(with), "%s %s -> %s", c->what, c->before, c->after);
		table_add_text(&t, out, c->text);
		table_add(&t, "%s", fmt_clean(clean, sizeof(clean), with, out->ascii));
		table_add_time(&t, (uint64_t)c->before_ns, us, 1);
		table_add_time(&t, (uint64_t)c->after_ns, us, 1);
		table_add(&t, "%s", fmt_percent(v, c->after_ns / c->before_ns - 1));
		table_add(&t, "%llu, %llu", (unsigned long long)c->before_jobs,
			  (unsigned long long)c->after_jobs);
		table_add(&t, "%s", fmt_value(v, c->cost_ns / GPU_H, 1));
	}
	table_done(&t, out, 2);
	if (show < cs->n)
		out_line(out, OUT_PLAIN, "  + %zu more (--all)", cs->n - show);
	out_line(out, OUT_DIM,
		 "  Means of a name's calls: other shapes may be the reason where jobs are few.");
}

static void begin_json(struct json *j, const char *schema, const struct fleet *f)
{
	json_begin(j, stdout, schema);
	json_str(j, "cluster", fleet_shown(f));
}

static int versions(struct fleet *f, struct fleet_span span, const struct opts *o)
{
	struct store_why why = { "" };
	struct fleet_changes cs;
	struct out out;
	struct json j;
	int err = fleet_changes(&cs, f, span, &why);

	if (err)
		return fleet_ask_failed(f, err, &why);
	if (o->val[OPT_JSON]) {
		begin_json(&j, "aon.versions/1", f);
		fleet_changes_json(&j, &cs);
		json_end(&j);
	} else {
		out_init(&out, stdout, o);
		changes_text(&cs, &out);
	}
	fleet_changes_fini(&cs);
	return CLI_OK;
}

static int overview(struct fleet *f, struct fleet_span span, const struct opts *o)
{
	struct store_why why = { "" };
	struct fleet_overview x;
	struct out out;
	struct json j;
	int err = fleet_overview(&x, f, span, &why);

	if (err)
		return fleet_ask_failed(f, err, &why);
	if (o->val[OPT_JSON]) {
		begin_json(&j, "aon.fleet/1", f);
		fleet_overview_json(&j, &x, NULL);
		json_end(&j);
	} else {
		out_init(&out, stdout, o);
		overview_text(f, &x, &out);
	}
	fleet_overview_fini(&x);
	return CLI_OK;
}

int cmd_fleet(const struct opts *o)
{
	struct fleet_span span;
	struct fleet *f;
	int rc = fleet_ask_span(o, &span);

	if (rc == CLI_OK)
		rc = fleet_ask_open(&f, o);
	if (rc != CLI_OK)
		return rc;
	rc = o->val[OPT_VERSIONS] ? versions(f, span, o) : overview(f, span, o);
	fleet_close(f);
	return rc;
}
