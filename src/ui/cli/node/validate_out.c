/* SPDX-License-Identifier: Apache-2.0 */
/* validate_out.c - a validation as text, JSON, and a self-contained page. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/core/out.h"
#include "cli/node/validate.h"

#define SCHEMA "aon.validate/1"

/* The worst result as one sentence. */
static void headline(const struct validation *v, char *out, size_t cap)
{
	enum check_level worst = checks_worst(&v->c);
	size_t n = checks_count(&v->c, worst), used = 0;

	if (worst < CHECK_WARN) {
		snprintf(out, cap, "%zu checks pass, %zu are not known here", n,
			 checks_count(&v->c, CHECK_SKIP));
		return;
	}
	for (size_t i = 0, k = 0; i < v->c.n && used < cap; i++)
		if (v->c.c[i].level == worst && k++ < 3)
			used += (size_t)snprintf(out + used, cap - used, "%s%s is %s, expected %s",
						 used ? "; " : "", v->c.c[i].id, v->c.c[i].is,
						 v->c.c[i].want);
	if (n > 3 && used < cap)
		snprintf(out + used, cap - used, "; and %zu more", n - 3);
}

static void write_json(const struct validation *v, FILE *f)
{
	struct json j;

	json_begin(&j, f, SCHEMA);
	json_str(&j, "verdict", check_words[checks_worst(&v->c)]);
	json_open(&j, "checks", '[');
	for (size_t i = 0; i < v->c.n; i++) {
		const struct check *c = &v->c.c[i];

		json_open(&j, NULL, '{');
		json_members(&j, J_STR("level", check_words[c->level]), J_STR("by", c->by),
			     J_STR("id", c->id), J_STR("is", c->is), J_STR("want", c->want),
			     J_STR("when", c->when), J_STR("why", c->why), J_STR("act", c->act));
		if (c->share > 0)
			json_real(&j, "share", c->share);
		json_close(&j);
	}
	json_close(&j);
	facts_json(&v->f, &j);
	json_end(&j);
}

static void html_text(FILE *f, const char *s)
{
	for (; s && *s; s++) {
		if (*s == '<' || *s == '>' || *s == '&' || *s == '"')
			fprintf(f, "&#%d;", *s);
		else
			fputc(*s, f);
	}
}

/* The colours are those of the page of aon serve (web/src/style.css). */
static const char html_style[] =
	":root{color-scheme:dark "
	"light;--surface:#14171a;--raised:#1b1f23;--line:#31373d;--text:#e3e7ea;--dim:#98a1a9;"
	"--fail:#ff8a80;--warn:#f3b24a;--pass:#7fd1a0}"
	"@media(prefers-color-scheme:light){:root{--surface:#fff;--raised:#f4f6f7;--line:#d3d8dc;--"
	"text:#191d20;--dim:#5b646c;"
	"--fail:#a3142b;--warn:#8a5200;--pass:#176b3a}}"
	"*{box-sizing:border-box}body{margin:0 auto;max-width:1200px;padding:24px 16px "
	"64px;background:var(--surface);"
	"color:var(--text);font:14px/20px system-ui,sans-serif;font-variant-numeric:tabular-nums}"
	"h1{font-size:22px;line-height:28px;margin:0 0 4px}h2{font-size:15px;margin:28px 0 "
	"8px}p{margin:0 0 4px}"
	".dim,.when{color:var(--dim)}.fail b,h1.fail{color:var(--fail)}.warn "
	"b,h1.warn{color:var(--warn)}"
	".pass b,h1.pass{color:var(--pass)}.skip b{color:var(--dim)}"
	".wide{overflow-x:auto}table{border-collapse:collapse;width:100%}"
	"th{text-align:left;color:var(--dim);font-weight:400}td,th{padding:5px 12px 5px "
	"0;border-bottom:1px solid var(--line);"
	"vertical-align:top;overflow-wrap:anywhere}td:first-child{white-space:nowrap}"
	"code{font:12px/18px ui-monospace,monospace}summary{cursor:pointer;padding:4px 0}"
	"details td:first-child{white-space:normal;width:40%}"
	"th:nth-child(1){width:5%}th:nth-child(2){width:20%}th:nth-child(3){width:15%}th:nth-child("
	"4){width:20%}"
	".bar{width:120px;height:8px;margin-top:6px;background:var(--line)}.bar "
	"i{display:block;height:8px;background:var(--dim)}"
	".fail .bar i{background:var(--fail)}.warn .bar i{background:var(--warn)}.pass .bar "
	"i{background:var(--pass)}";

static void html_rows(const struct validation *v, FILE *f, enum check_level level,
		      const char *title)
{
	size_t n = checks_count(&v->c, level);

	if (!n)
		return;
	fprintf(f,
		"<%s><div class=wide><table><tr><th><th>what<th>is<th>should be<th>why, and what "
		"to do</tr>\n",
		title);
	for (size_t i = 0; i < v->c.n; i++) {
		const struct check *c = &v->c.c[i];
		const char *cell[] = { c->id, c->is, c->want };

		if (c->level != level)
			continue;
		fprintf(f, "<tr class=%s><td><b>%s</b>", check_words[level], check_words[level]);
		for (size_t k = 0; k < 3; k++) {
			fputs("<td>", f);
			html_text(f, cell[k]);
			if (k == 1 && c->share > 0) /* its number stands above it */
				fprintf(f, "<div class=bar><i style=\"width:%.0f%%\"></i></div>",
					c->share < 1 ? 100 * c->share : 100);
		}
		fputs("<td>", f);
		if (c->why && level < CHECK_WARN)
			fputs("<span class=when>otherwise: </span>", f);
		html_text(f, c->why);
		if (c->act && level >= CHECK_WARN) {
			fputs("<br><code>", f);
			html_text(f, c->act);
			fputs("</code>", f);
		}
		if (c->when && strcmp(c->when, "always")) {
			fputs("<div class=when>matters when: ", f);
			html_text(f, c->when);
			fputs("</div>", f);
		}
		fputs("</tr>\n", f);
	}
	fputs("</table></div>", f);
}

/* Facts by their first word, folded. */
static void html_facts(const struct validation *v, FILE *f)
{
	char group[FACT_KEY] = "";

	for (size_t i = 0; i < v->f.n; i++) {
		const char *key = v->f.f[i].key;
		size_t n = strcspn(key, "/");

		if (strncmp(group, key, n) || group[n]) {
			fprintf(f, "%s<details><summary>", *group ? "</table></details>\n" : "");
			snprintf(group, sizeof(group), "%.*s", (int)n, key);
			html_text(f, group);
			fputs("</summary><table>", f);
		}
		fputs("<tr><td><code>", f);
		html_text(f, key);
		fputs("</code><td>", f);
		html_text(f, v->f.f[i].value);
		fputs("</tr>\n", f);
	}
	fputs(*group ? "</table></details>\n" : "", f);
}

static void write_html(const struct validation *v, FILE *f)
{
	const char *host = facts_get(&v->f, "hostname"), *nodes = facts_get(&v->f, "nodes");
	enum check_level worst = checks_worst(&v->c);
	char said[512];

	headline(v, said, sizeof(said));
	fprintf(f,
		"<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport "
		"content=\"width=device-width\"><title>aon "
		"validate</title><style>%s</style></head><body>"
		"<main><h1 class=%s>",
		html_style, check_words[worst]);
	html_text(f, host ? host : nodes ? nodes : "node");
	fprintf(f, "%s: %s</h1><p>", host || !nodes ? "" : " nodes", check_words[worst]);
	html_text(f, said);
	fprintf(f, "<p class=dim>%zu failed, %zu warnings, %zu passed, %zu not known here",
		checks_count(&v->c, CHECK_FAIL), checks_count(&v->c, CHECK_WARN),
		checks_count(&v->c, CHECK_PASS), checks_count(&v->c, CHECK_SKIP));
	html_rows(v, f, CHECK_FAIL, "h2>Broken</h2");
	html_rows(v, f, CHECK_WARN, "h2>Costs time</h2");
	html_rows(v, f, CHECK_PASS, "h2>As it should be</h2");
	html_rows(v, f, CHECK_SKIP, "h2>Not known here</h2");
	fputs("<h2>Facts</h2>\n", f);
	html_facts(v, f);
	fputs("</main></body></html>\n", f);
}

static void print_check(const struct out *out, const struct check *c)
{
	static const enum out_style style[] = { OUT_PLAIN, OUT_DIM, OUT_WARN, OUT_FAIL };
	char a[OUT_TEXT], b[OUT_TEXT], d[OUT_TEXT];

	out_line(out, style[c->level], "%s  %-18s %s, expected %s", check_words[c->level],
		 fmt_clean(a, sizeof(a), c->id, out->ascii),
		 fmt_clean(b, sizeof(b), c->is, out->ascii),
		 fmt_clean(d, sizeof(d), c->want, out->ascii));
	if (c->level < CHECK_WARN || !c->why)
		return;
	out_line(out, OUT_PLAIN, "        %s", c->why);
	out_line(out, OUT_PLAIN, "        do: %s", c->act);
	if (c->when && strcmp(c->when, "always"))
		out_line(out, OUT_DIM, "        matters when %s", c->when);
}

/* What was measured here and has nothing to be held against: a number all the same. */
static void print_measured(const struct validation *v, const struct out *out)
{
	char key[2 * FACT_KEY];
	double is;

	for (size_t i = 0; i < v->f.n; i++) {
		snprintf(key, sizeof(key), "expected/%s", v->f.f[i].key);
		if (!strncmp(v->f.f[i].key, "measured/", 9) &&
		    facts_number(&v->f, v->f.f[i].key, &is) && !facts_get(&v->f, key))
			out_line(out, OUT_PLAIN, "      %-26s %s", v->f.f[i].key, v->f.f[i].value);
	}
}

static void print_text(const struct validation *v)
{
	struct out out;

	out_init(&out, stdout, v->o);
	for (int level = CHECK_FAIL; level >= CHECK_PASS; level--)
		for (size_t i = 0; i < v->c.n; i++) {
			const struct check *c = &v->c.c[i];

			/* What was measured is asked for: it is shown, well or not. */
			if ((int)c->level == level &&
			    (level >= CHECK_WARN || v->o->val[OPT_ALLCHECKS] ||
			     !strcmp(c->by, "measured")))
				print_check(&out, c);
		}
	print_measured(v, &out);
	out_line(&out, OUT_BOLD, "%s: %zu failed, %zu warnings, %zu passed, %zu not known here",
		 check_words[checks_worst(&v->c)], checks_count(&v->c, CHECK_FAIL),
		 checks_count(&v->c, CHECK_WARN), checks_count(&v->c, CHECK_PASS),
		 checks_count(&v->c, CHECK_SKIP));
}

/* Whole or not at all. */
static int save(const char *path, const struct validation *v,
		void (*write)(const struct validation *, FILE *))
{
	char fresh[PATH_MAX];
	FILE *f;
	int bad;

	snprintf(fresh, sizeof(fresh), "%s.new", path);
	f = fopen(fresh, "we");
	if (!f)
		return cli_say(CLI_FAIL, "%s: %s", fresh, strerror(errno));
	write(v, f);
	bad = ferror(f);
	if (fclose(f) || bad || rename(fresh, path) < 0) {
		remove(fresh);
		return cli_say(CLI_FAIL, "%s: %s", path, strerror(EIO));
	}
	return CLI_OK;
}

int validate_save(const struct validation *v)
{
	const char *profile = v->o->val[OPT_LEARN], *page = v->o->val[OPT_HTMLFILE];
	int rc = profile ? save(profile, v, write_json) : CLI_OK;

	return rc == CLI_OK && page ? save(page, v, write_html) : rc;
}

void validate_print(const struct validation *v)
{
	char said[512], clean[OUT_TEXT];
	struct out out;

	out_init(&out, stdout, v->o);
	if (v->o->val[OPT_JSON]) {
		write_json(v, stdout);
	} else if (
		v->o->val
			[OPT_HEALTH]) { /* who asks keeps the first bytes: what is worst goes first */
		headline(v, said, sizeof(said));
		printf("%s: %s\n", check_words[checks_worst(&v->c)],
		       fmt_clean(clean, sizeof(clean), said, out.ascii));
	} else {
		print_text(v);
	}
}
