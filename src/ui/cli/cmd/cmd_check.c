/* SPDX-License-Identifier: Apache-2.0 */
/* aon check - the gate: a run against limits and against a run before it. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "cli/report/limit.h"
#include "cli/report/compare_inputs.h"

#define NO_VALUE NAN

/* What a limit may be about. `of` gives its value, or NO_VALUE where the run does not say. */
struct metric {
	const char *name, *people, *unit;
	const char *op; /* which side is good */
	double slack;
	bool needs_base;
	double (*of)(const struct sides *s, int side);
};

static double share(const struct profile *p, double ns)
{
	return p->step_ns > 0 ? 100 * ns / p->step_ns : NO_VALUE;
}

static double step_ms(const struct sides *s, int i)
{
	return s->p[i].steps ? s->p[i].step_ns / 1e6 : NO_VALUE;
}

static double busy_percent(const struct sides *s, int i)
{
	return s->p[i].devices ? share(&s->p[i], s->p[i].busy_ns) : NO_VALUE;
}

static double comm_percent(const struct sides *s, int i)
{
	return s->p[i].devices ? share(&s->p[i], s->p[i].part_ns[PART_COMM_EXPOSED]) : NO_VALUE;
}

static double copy_percent(const struct sides *s, int i)
{
	return s->p[i].devices ? share(&s->p[i], s->p[i].part_ns[PART_COPY_EXPOSED]) : NO_VALUE;
}

static double input_percent(const struct sides *s, int i)
{
	return s->p[i].devices ? share(&s->p[i], s->p[i].part_ns[PART_IDLE + IDLE_INPUT])
			       : NO_VALUE;
}

static double kernels_a_step(const struct sides *s, int i)
{
	double n = 0;

	for (size_t k = 0; k < s->p[i].roll[ROLL_KERNEL].rows; k++)
		n += s->p[i].roll[ROLL_KERNEL].row[k].count;
	return s->p[i].steps ? n : NO_VALUE;
}

/* How much slower than the base, at least, with 95 % confidence. */
static double slower_percent(const struct sides *s, int i)
{
	double lo = s->d.sure ? s->d.lo_ns : s->d.delta_ns;

	return i || *s->d.why_not || s->p[1].step_ns <= 0
		       ? NO_VALUE
		       : 100 * (lo > 0 ? lo : fmin(0, s->d.delta_ns)) / s->d.a->step_ns;
}

static const struct metric metrics[METRICS] = {
#define METRIC(name, people, unit, op, slack, base) { #name, people, unit, op, slack, base, name },
#include "cli/report/metric.tbl.h"
};

enum verdict { PASS, FAIL, SKIP };

struct gate {
	struct sides s; /* p[0] is the run, p[1] the base */
	bool has_base;
	struct limits limits;
};

/* --- the file --- */

static int read_limits(struct limits *l, const char *path)
{
	static char text[LIMITS_BYTES + 1];
	struct limits_why why;
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof(text), f) : 0;
	int err = !f || ferror(f) ? errno : 0;

	if (f)
		fclose(f);
	if (err)
		return cli_say(CLI_FAIL, "%s: %s", path, strerror(err));
	if (n > LIMITS_BYTES)
		return cli_say(CLI_FAIL, "%s: longer than 64 KiB: no file of limits", path);
	if (limits_parse(l, text, n, &why) < 0)
		return cli_say(CLI_USAGE, "%s:%zu: %s", path, why.line, why.text);
	if (!l->n)
		return cli_say(CLI_FAIL, "%s: no limit in it. Propose some: aon check RUN --write",
			       path);
	return CLI_OK;
}

static void write_limits(const struct gate *g)
{
	printf("# name op value, one a line; proposed from %s\n", g->s.label[0]);
	for (size_t i = 0; i < METRICS; i++) {
		const struct metric *m = &metrics[i];
		double v = m->of(&g->s, 0), off;

		if (isnan(v) || m->needs_base)
			continue;
		off = m->slack >= 1 ? m->slack : fabs(v) * m->slack;
		printf("%-16s %s %.4g\n", m->name, m->op,
		       *m->op == '<' ? v + off : fmax(0, v - off));
	}
}

/* --- the verdicts --- */

static enum verdict judge(const struct gate *g, const struct limit *l, double *value)
{
	*value = metrics[l->metric].of(&g->s, 0);
	if (isnan(*value))
		return SKIP;
	return (l->least ? *value >= l->value : *value <= l->value) ? PASS : FAIL;
}

static const char *why_skip(const struct gate *g, const struct limit *l)
{
	if (metrics[l->metric].needs_base && !g->has_base)
		return "no base was given (--against)";
	if (metrics[l->metric].needs_base && *g->s.d.why_not)
		return g->s.d.why_not;
	return g->s.p[0].devices ? "the run has no steps" : "the run did nothing on a GPU";
}

static void base_text(const struct gate *g, const struct limit *l, char *buf, size_t cap)
{
	double v = g->has_base && !metrics[l->metric].needs_base ? metrics[l->metric].of(&g->s, 1)
								 : NO_VALUE;

	if (isnan(v))
		*buf = 0;
	else
		snprintf(buf, cap, "base %.4g", v);
}

static void print_text(const struct gate *g)
{
	static const char *const words[] = { "pass", "FAIL", "skip" };
	static const enum out_style styles[] = { OUT_PLAIN, OUT_FAIL, OUT_DIM };
	const struct out *out = &g->s.v[0].out;
	char clean[600], base[64];

	out_line(out, OUT_PLAIN, "aon check   %s%s%s",
		 fmt_clean(clean, sizeof(clean), g->s.label[0], out->ascii),
		 g->has_base ? " against " : "", g->has_base ? g->s.label[1] : "");
	fputc('\n', out->f);
	for (size_t i = 0; i < g->limits.n; i++) {
		const struct limit *l = &g->limits.limit[i];
		double value;
		enum verdict v = judge(g, l, &value);

		base_text(g, l, base, sizeof(base));
		if (v == SKIP)
			out_line(out, styles[v], "  %s  %-22s      -  %s", words[v],
				 metrics[l->metric].people, why_skip(g, l));
		else
			out_line(out, styles[v], "  %s  %-22s %6.4g %-2s  limit %s %-6.4g  %s",
				 words[v], metrics[l->metric].people, value,
				 metrics[l->metric].unit, l->least ? ">=" : "<=", l->value, base);
	}
	fputc('\n', out->f);
}

static void print_github(const struct gate *g)
{
	for (size_t i = 0; i < g->limits.n; i++) {
		const struct limit *l = &g->limits.limit[i];
		double value;
		enum verdict v = judge(g, l, &value);

		if (v == FAIL)
			printf("::error title=aon check::%s is %.4g%s, the limit is %s %.4g\n",
			       metrics[l->metric].people, value, metrics[l->metric].unit,
			       l->least ? ">=" : "<=", l->value);
		else if (v == SKIP)
			printf("::warning title=aon check::%s was not decided: %s\n",
			       metrics[l->metric].people, why_skip(g, l));
	}
}

static void print_junit(const struct gate *g, size_t fails, size_t skips)
{
	printf("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"aon check\" "
	       "tests=\"%zu\" "
	       "failures=\"%zu\" skipped=\"%zu\">\n",
	       g->limits.n, fails, skips);
	for (size_t i = 0; i < g->limits.n; i++) {
		const struct limit *l = &g->limits.limit[i];
		double value;
		enum verdict v = judge(g, l, &value);

		printf("  <testcase classname=\"aon\" name=\"%s\">", metrics[l->metric].name);
		if (v == FAIL)
			printf("<failure message=\"%.4g%s, the limit is %s %.4g\"/>", value,
			       metrics[l->metric].unit, l->least ? "&gt;=" : "&lt;=", l->value);
		else if (v == SKIP)
			printf("<skipped/>");
		printf("</testcase>\n");
	}
	printf("</testsuite>\n");
}

static void print_json(const struct gate *g, int rc)
{
	static const char *const words[] = { "pass", "fail", "skip" };
	struct json j;

	json_begin(&j, stdout, "aon.check/1");
	json_str(&j, "verdict", rc == CLI_OK ? "pass" : rc == CLI_FAIL ? "fail" : "undecided");
	json_open(&j, "limits", '[');
	for (size_t i = 0; i < g->limits.n; i++) {
		const struct limit *l = &g->limits.limit[i];
		double value;
		enum verdict v = judge(g, l, &value);

		json_object(&j, NULL, J_STR("name", metrics[l->metric].name),
			    J_STR("verdict", words[v]), J_REAL("value", value),
			    J_STR("op", l->least ? ">=" : "<="), J_REAL("limit", l->value),
			    J_REAL("base", g->has_base && !metrics[l->metric].needs_base
						   ? metrics[l->metric].of(&g->s, 1)
						   : NO_VALUE));
	}
	json_end(&j);
}

/* A limit on the base that could not be held against it leaves the gate undecided. */
static int print(const struct gate *g, const struct opts *o, int format)
{
	size_t fails = 0, skips = 0;
	bool unsure = false;
	double value;
	int rc;

	for (size_t i = 0; i < g->limits.n; i++) {
		enum verdict v = judge(g, &g->limits.limit[i], &value);

		fails += v == FAIL;
		skips += v == SKIP;
		unsure |= v == SKIP && metrics[g->limits.limit[i].metric].needs_base;
	}
	rc = fails ? CLI_FAIL : unsure || skips == g->limits.n ? CLI_UNSURE : CLI_OK;
	if (o->val[OPT_JSON])
		print_json(g, rc);
	else if (format == 1)
		print_junit(g, fails, skips);
	else if (format == 2)
		print_github(g);
	else
		print_text(g);
	if (!o->val[OPT_JSON] && !format)
		out_line(&g->s.v[0].out, OUT_BOLD, "%s",
			 rc == CLI_OK     ? "All limits that could be checked are kept."
			 : rc == CLI_FAIL ? "A limit is broken."
					  : "Could not decide.");
	return rc;
}

/* The run and its base; the base stands for "before", so the difference is run minus base. */
static int load(struct gate *g, const struct opts *o)
{
	char *base = (char *)(uintptr_t)o->val[OPT_AGAINST];
	struct sides *s = &g->s;
	int rc, err;

	g->has_base = base != NULL;
	snprintf(s->label[0], sizeof(s->label[0]), "%s", o->argv[0]);
	snprintf(s->label[1], sizeof(s->label[1]), "%s", base ? base : "");
	rc = side_view(&s->v[0], o, o->argv[0]);
	if (rc == CLI_OK && base)
		rc = side_view(&s->v[1], o, base);
	if (rc != CLI_OK)
		return rc;
	err = profile_init(&s->p[0], s->v[0].in, s->v[0].fs, PROFILE_ALL);
	if (err == 0 && base)
		err = profile_init(&s->p[1], s->v[1].in, s->v[1].fs, PROFILE_ALL);
	if (err == 0)
		err = diff_init(&s->d, &s->p[1], &s->p[0]);
	return err < 0 ? cli_say(CLI_FAIL, "%s", strerror(-err)) : CLI_OK;
}

int cmd_check(const struct opts *o)
{
	struct gate g;
	int format = opt_choice(o, OPT_VERDICTS, 0), rc = CLI_OK;

	memset(&g, 0, sizeof(g));
	if (format < 0)
		return CLI_USAGE;
	if (o->argc != 1)
		return cli_misuse("takes one run");
	if (o->val[OPT_LIMITS] && !o->val[OPT_WRITE])
		rc = read_limits(&g.limits, o->val[OPT_LIMITS]);
	else if (o->val[OPT_AGAINST])
		g.limits.limit[g.limits.n++] = (struct limit){ METRIC_slower_percent, false, 5 };
	else if (!o->val[OPT_WRITE])
		rc = cli_misuse("needs --limits FILE, --against BASE or --write");
	if (rc == CLI_OK)
		rc = load(&g, o);
	if (rc == CLI_OK && o->val[OPT_WRITE])
		write_limits(&g);
	else if (rc == CLI_OK)
		rc = print(&g, o, format);
	sides_close(&g.s);
	return rc;
}
