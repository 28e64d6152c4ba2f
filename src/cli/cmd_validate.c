/* SPDX-License-Identifier: Apache-2.0 */
/* aon validate - is this node what it should be: its settings, against a golden profile, against others. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/out.h"
#include "measure/measure.h"
#include "validate/check.h"
#include "validate/log.h"
#include "validate/node.h"

#define LOG_BYTES (16u << 20)
#define NODES     1024u
#define SCHEMA    "aon.validate/1"

struct validation {
	const struct opts *o;
	struct facts f;
	struct checks c;
};

static int say_file(const char *path, int err, const char *expected)
{
	return cli_say(CLI_FAIL, "%s: %s%s", path, err == -EBADMSG ? "expected " : strerror(-err),
		       err == -EBADMSG ? expected : "");
}

/* --- logs --- */

static int read_log(struct validation *v, const char *path)
{
	FILE *in = fopen(path, "re");
	char *text;
	size_t n;
	int rc = CLI_OK;

	if (!in)
		return say_file(path, -errno, "");
	text = malloc(LOG_BYTES);
	n = text ? fread(text, 1, LOG_BYTES, in) : 0;
	fclose(in);
	if (!text || !log_facts(&v->f, text, n))
		rc = cli_say(CLI_FAIL,
			     "%s: expected a log of nccl-tests, gpu-burn, nvidia-smi -q, perftest, "
			     "STREAM or fio --output-format=json",
			     path);
	free(text);
	return rc;
}

static int read_logs(struct validation *v, const char *paths)
{
	char *copy = strdup(paths), *at = copy, *path;
	int rc = copy ? CLI_OK : CLI_FAIL;

	while (rc == CLI_OK && (path = strsep(&at, ",")))
		if (*path)
			rc = read_log(v, path);
	free(copy);
	return rc;
}

/* --- measuring --- */

static void progress(void *arg, const char *what)
{
	(void)arg;
	fprintf(stderr, "measuring: %s\n", what);
}

/* What the device reaches of what its tables say: below 80 % something is wrong with it. */
static int against_model(struct validation *v, const char *key, double is, double peak)
{
	struct check c = { .by = "measured",
			   .why = "the device reaches less than devices of its kind do",
			   .act = "look at clocks, power and temperature while it is measured" };

	snprintf(c.id, sizeof(c.id), "%s", key);
	snprintf(c.is, sizeof(c.is), "%.4g", is);
	snprintf(c.want, sizeof(c.want), "at least 80 %% of %.4g", peak);
	c.level = is >= 0.8 * peak ? CHECK_PASS : is >= 0.6 * peak ? CHECK_WARN : CHECK_FAIL;
	return checks_add(&v->c, &c);
}

static int measure_device(struct validation *v)
{
	struct measure_opts how = { .quick = true, .progress = progress };
	char why[BACKEND_WHY] = "";
	const struct gpu *known;
	struct backend *b;
	struct measure m;
	int err = cuda_open(&b, 0, why);

	if (err)
		err = opencl_open(&b, 0, why);
	if (err)
		return cli_say(CLI_FAIL, "--measure: no device through CUDA or OpenCL: %s", why);
	err = measure(&m, b, &how);
	if (err) {
		cli_say(CLI_FAIL, "--measure: %s: %s", b->name, b->why);
	} else {
		facts_set(&v->f, "measured/device", "%.100s", b->name);
		facts_set(&v->f, "measured/memory_GBps", "%.4g", m.gpu.memory_Bps / 1e9);
		facts_set(&v->f, "measured/triad_GBps", "%.4g", m.triad_Bps / 1e9);
		facts_set(&v->f, "measured/from_host_GBps", "%.4g", m.gpu.pcie_Bps / 1e9);
		facts_set(&v->f, "measured/fp32_GFLOPS", "%.4g",
			  m.gpu.vector_flops[GPU_FP32] / 1e9);
		known = b->cpu ? NULL : gpu_find(b->name);
		if (known && known->memory_Bps > 0)
			err = against_model(v, "measured/memory_GBps", m.gpu.memory_Bps / 1e9,
					    known->memory_Bps / 1e9);
		if (!err && known && known->vector_flops[GPU_FP32] > 0)
			err = against_model(v, "measured/fp32_GFLOPS",
					    m.gpu.vector_flops[GPU_FP32] / 1e9,
					    known->vector_flops[GPU_FP32] / 1e9);
	}
	b->ops->close(b);
	return err ? CLI_FAIL : CLI_OK;
}

/* --- nodes --- */

struct nodes {
	char *name[NODES]; /* owned */
	struct facts f[NODES];
	size_t n;
};

static int add_node(struct nodes *ns, const char *path)
{
	const char *base = strrchr(path, '/');
	char name[64];
	int err;

	if (ns->n == NODES)
		return cli_say(CLI_FAIL, "more than %u nodes", NODES);
	err = facts_load(&ns->f[ns->n], path);
	if (err)
		return say_file(path, err,
				"a report or a profile of aon validate, or a state of a BMC");
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(base ? base + 1 : path, "."),
		 base ? base + 1 : path);
	ns->name[ns->n++] = strdup(name);
	return CLI_OK;
}

static int add_folder(struct nodes *ns, const char *dir)
{
	DIR *d = opendir(dir);
	char path[PATH_MAX];
	struct dirent *e;
	int rc = CLI_OK;

	if (!d)
		return say_file(dir, -errno, "");
	while (rc == CLI_OK && (e = readdir(d))) {
		size_t n = strlen(e->d_name);

		if (*e->d_name == '.' || n < 6 || strcmp(e->d_name + n - 5, ".json"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		rc = add_node(ns, path);
	}
	closedir(d);
	return rc;
}

static int compare(struct validation *v, const char *folder)
{
	struct nodes *ns = calloc(1, sizeof(*ns));
	int rc = ns ? CLI_OK : CLI_FAIL;

	if (rc == CLI_OK && folder)
		rc = add_folder(ns, folder);
	for (int i = 0; rc == CLI_OK && i < v->o->argc; i++)
		rc = add_node(ns, v->o->argv[i]);
	if (rc == CLI_OK && ns->n < 3)
		rc = cli_say(CLI_FAIL, "%zu nodes: to tell who is otherwise than most takes three",
			     ns->n);
	if (rc == CLI_OK && checks_nodes(&v->c, (const char *const *)ns->name, ns->f, ns->n))
		rc = cli_say(CLI_FAIL, "no memory");
	if (rc == CLI_OK)
		facts_set(&v->f, "nodes", "%zu", ns->n);
	for (size_t i = 0; ns && i < ns->n; i++) {
		free(ns->name[i]);
		facts_fini(&ns->f[i]);
	}
	free(ns);
	return rc;
}

/* --- what comes of it --- */

static void write_json(const struct validation *v, FILE *f)
{
	struct json j;

	json_init(&j, f);
	json_open(&j, NULL, '{');
	json_str(&j, "schema", SCHEMA);
	json_str(&j, "verdict", check_words[checks_worst(&v->c)]);
	json_open(&j, "checks", '[');
	for (size_t i = 0; i < v->c.n; i++) {
		const struct check *c = &v->c.c[i];

		json_open(&j, NULL, '{');
		json_str(&j, "level", check_words[c->level]);
		json_str(&j, "by", c->by);
		json_str(&j, "id", c->id);
		json_str(&j, "is", c->is);
		json_str(&j, "want", c->want);
		json_str(&j, "why", c->why);
		json_str(&j, "act", c->act);
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

static void write_html(const struct validation *v, FILE *f)
{
	const char *host = facts_get(&v->f, "hostname");

	fputs("<!doctype html><meta charset=utf-8><title>aon validate</title><style>body{font:14px "
	      "system-ui;margin:2em}"
	      "table{border-collapse:collapse}td,th{padding:.3em "
	      ".8em;text-align:left;border-bottom:1px solid #ddd;vertical-align:top}"
	      ".fail td:first-child{color:#b00;font-weight:bold}.warn "
	      "td:first-child{color:#a60;font-weight:bold}.skip{color:#888}</style><h1>",
	      f);
	html_text(f, host ? host : "nodes");
	fprintf(f, ": %s</h1><table><tr><th><th>what<th>is<th>should be<th>why<th>what to do",
		check_words[checks_worst(&v->c)]);
	for (int level = CHECK_FAIL; level >= CHECK_PASS; level--)
		for (size_t i = 0; i < v->c.n; i++) {
			const struct check *c = &v->c.c[i];
			const char *cell[] = { c->id, c->is, c->want, c->why, c->act };

			if ((int)c->level != level)
				continue;
			fprintf(f, "<tr class=%s><td>%s", check_words[level], check_words[level]);
			for (size_t k = 0; k < 5; k++) {
				fputs("<td>", f);
				html_text(f, cell[k]);
			}
		}
	fputs("</table><h2>Facts</h2><table>", f);
	for (size_t i = 0; i < v->f.n; i++) {
		fputs("<tr><td>", f);
		html_text(f, v->f.f[i].key);
		fputs("<td>", f);
		html_text(f, v->f.f[i].value);
	}
	fputs("</table>\n", f);
}

static void print_check(const struct out *out, const struct check *c)
{
	static const enum out_style style[] = { OUT_PLAIN, OUT_DIM, OUT_WARN, OUT_FAIL };
	char a[OUT_TEXT], b[OUT_TEXT], d[OUT_TEXT];

	out_line(out, style[c->level], "%s  %-18s %s, expected %s", check_words[c->level],
		 fmt_clean(a, sizeof(a), c->id, out->ascii),
		 fmt_clean(b, sizeof(b), c->is, out->ascii),
		 fmt_clean(d, sizeof(d), c->want, out->ascii));
	if (c->level >= CHECK_WARN && c->why)
		out_line(out, OUT_PLAIN, "        %s: %s", c->why, c->act);
}

static void print_text(const struct validation *v)
{
	struct out out;

	out_init(&out, stdout, v->o);
	for (int level = CHECK_FAIL; level >= (v->o->val[OPT_ALLCHECKS] ? CHECK_PASS : CHECK_WARN);
	     level--)
		for (size_t i = 0; i < v->c.n; i++)
			if ((int)v->c.c[i].level == level)
				print_check(&out, &v->c.c[i]);
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
		return say_file(fresh, -errno, "");
	write(v, f);
	bad = ferror(f);
	if (fclose(f) || bad || rename(fresh, path) < 0) {
		remove(fresh);
		return say_file(path, -EIO, "");
	}
	return CLI_OK;
}

static int gather(struct validation *v)
{
	const struct opts *o = v->o;
	struct facts golden = { 0 };
	int rc = CLI_OK, err;

	if (o->argc || o->val[OPT_RACKDIR])
		return compare(v, o->val[OPT_RACKDIR]);
	node_facts(&v->f, o->val[OPT_ROOT] ? o->val[OPT_ROOT] : "");
	if (o->val[OPT_LOGS])
		rc = read_logs(v, o->val[OPT_LOGS]);
	if (rc == CLI_OK && o->val[OPT_MEASURE])
		rc = measure_device(v);
	if (rc == CLI_OK && checks_advice(&v->c, &v->f))
		rc = cli_say(CLI_FAIL, "no memory");
	if (rc == CLI_OK && o->val[OPT_GOLDEN]) {
		err = facts_load(&golden, o->val[OPT_GOLDEN]);
		rc = err                                     ? say_file(o->val[OPT_GOLDEN], err,
									"a profile: aon validate --learn FILE writes one")
		     : checks_profile(&v->c, &v->f, &golden) ? CLI_FAIL
							     : CLI_OK;
		facts_fini(&golden);
	}
	return rc;
}

int cmd_validate(const struct opts *o)
{
	struct validation v = { .o = o };
	int rc;

	if (o->argc &&
	    (o->val[OPT_LEARN] || o->val[OPT_GOLDEN] || o->val[OPT_LOGS] || o->val[OPT_MEASURE]))
		return cli_misuse(
			"compares the nodes that are named, or looks at this one: not both");
	rc = gather(&v);
	if (rc == CLI_OK && o->val[OPT_LEARN])
		rc = save(o->val[OPT_LEARN], &v, write_json);
	if (rc == CLI_OK && o->val[OPT_HTMLFILE])
		rc = save(o->val[OPT_HTMLFILE], &v, write_html);
	if (rc == CLI_OK) {
		if (o->val[OPT_JSON])
			write_json(&v, stdout);
		else
			print_text(&v);
		rc = checks_worst(&v.c) == CHECK_FAIL ? CLI_FAIL : CLI_OK;
	}
	checks_fini(&v.c);
	facts_fini(&v.f);
	return rc;
}
