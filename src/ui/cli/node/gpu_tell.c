/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_tell.c - what aon doctor --gpu found, as text and as JSON. The text is for others to read, too:
 * it names no host, and of a path the last part.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "cli/node/gpu_doctor.h"

static const char *const words[] = { "PASS", "FAIL", "UNKNOWN" };

/* Each word of the text that is a path keeps its last part. */
static void shorten(char *out, size_t cap, const char *text)
{
	size_t at = 0;

	while (*text && at + 8 < cap) {
		size_t word = strcspn(text, " =:;,()"), last = word;

		while (last && text[last - 1] != '/')
			last--;
		if (*text == '/' && last > 1) {
			at += (size_t)snprintf(out + at, cap - at, ".../");
			text += last;
			word -= last;
		}
		if (word + 2 > cap - at)
			word = cap - at - 2;
		memcpy(out + at, text, word);
		at += word;
		text += word;
		if (*text && at + 2 < cap)
			out[at++] = *text++;
	}
	out[at] = '\0';
}

static const char *fidelity(const struct gpu_doctor *g)
{
	return g->conf.fidelity == GPU_FIDELITY_HEARTBEAT ? "heartbeat" : "all";
}

/* The first sentence. */
static void sentence(const struct gpu_doctor *g, char *out, size_t cap)
{
	const struct gpu_result *env = &g->result[GPU_CHECK_env];
	size_t at;
	bool first = true;

	if (g->no_gpu) {
		snprintf(out, cap, "No GPU was checked: %s.", env->text);
		return;
	}
	at = (size_t)snprintf(out, cap, "This node's GPU may be recorded at fidelity %s; ",
			      fidelity(g));
	if (!g->fails)
		at += (size_t)snprintf(out + at, cap - at, "no setting must change");
	else
		at += (size_t)snprintf(out + at, cap - at, "%u setting%s must change", g->fails,
				       g->fails == 1 ? "" : "s");
	for (unsigned i = 0; i < GPU_CHECKS && at < cap; i++)
		if (g->made[i] && g->result[i].verdict == GPU_FAIL) {
			at += (size_t)snprintf(out + at, cap - at, "%s %.*s", first ? ":" : ";",
					       (int)strcspn(g->result[i].fix, ":"),
					       g->result[i].fix);
			first = false;
		}
	if (g->unknowns && at < cap)
		at += (size_t)snprintf(out + at, cap - at, ". %u check%s could not be made",
				       g->unknowns, g->unknowns == 1 ? "" : "s");
	if (at < cap)
		snprintf(out + at, cap - at, ".");
}

static void put(const struct gpu_doctor *g, const char *first, size_t indent, const char *text)
{
	char brief[GPU_TEXT + 64], clean[OUT_TEXT];

	shorten(brief, sizeof(brief), text);
	doctor_wrapped(&g->out, first, indent,
		       fmt_clean(clean, sizeof(clean), brief, g->out.ascii));
}

static void versions(const struct gpu_doctor *g)
{
	const struct gpu_result *env = &g->result[GPU_CHECK_env];
	const char *gpu = gpu_result_fact(env, "gpu"), *gpus = gpu_result_fact(env, "gpus");
	char text[GPU_TEXT];
	struct utsname un;

	uname(&un);
	snprintf(text, sizeof(text), "aon %s, Linux %s, driver %s, CUDA %u, CUPTI %u, %s x %s",
		 AON_VERSION, un.release, g->conf.driver, g->conf.cuda, g->conf.cupti,
		 gpus ? gpus : "0", gpu ? gpu : "no GPU");
	put(g, "  ", 4, text);
	fputc('\n', g->out.f);
}

static void one(const struct gpu_doctor *g, unsigned i)
{
	const struct gpu_result *r = &g->result[i];
	char first[64];

	snprintf(first, sizeof(first), "  %-10s  %-7s  ", gpu_check_names[i], words[r->verdict]);
	put(g, first, 23, r->text);
	if (*r->fix)
		put(g, "                       -> ", 26, r->fix);
	for (unsigned k = 0; k < r->facts; k++) {
		char line[320];

		/* Of a check that failed all that it measured; of the others, what others ask for first. */
		if (r->verdict != GPU_FAIL && i != GPU_CHECK_env && i != GPU_CHECK_cost)
			break;
		snprintf(line, sizeof(line), "%s = %s", r->fact[k].key, r->fact[k].value);
		put(g, "                       ", 25, line);
	}
}

static void conf_text(const struct gpu_doctor *g)
{
	char text[GPU_CONF_BYTES], line[PATH_MAX + 128];

	if (g->conf_err == 1)
		return;
	fputc('\n', g->out.f);
	if (g->conf_err)
		snprintf(line, sizeof(line),
			 "gpu.conf was not written (%s): as root, or --write FILE. Its lines:",
			 strerror(-g->conf_err));
	else
		snprintf(line, sizeof(line),
			 "%s was written; programs that start from now on use it:", g->conf_path);
	put(g, "  ", 4, line);
	if (*g->had) {
		snprintf(line, sizeof(line), "The file before%s.", g->had);
		put(g, "  ", 4, line);
	}
	gpu_conf_write(&g->conf, text, sizeof(text));
	for (char *save, *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		fprintf(g->out.f, "    %s\n", l);
}

void gpu_tell_text(const struct gpu_doctor *g)
{
	char text[1024];

	sentence(g, text, sizeof(text));
	put(g, "", 0, text);
	fputc('\n', g->out.f);
	versions(g);
	for (unsigned i = 0; i < GPU_CHECKS; i++)
		if (g->made[i] && (!g->no_gpu || i == GPU_CHECK_env))
			one(g, i);
	conf_text(g);
	fputc('\n', g->out.f);
	if (!g->with_long && !g->no_gpu)
		put(g, "", 2, "The other checks take half an hour: aon doctor --gpu --long");
	put(g, "", 2,
	    "To report a problem, paste all of this: it names no person, host or folder.");
}

static void check_json(struct json *j, const struct gpu_doctor *g, unsigned i)
{
	const struct gpu_result *r = &g->result[i];
	static const char *const low[] = { "pass", "fail", "unknown" };
	char brief[GPU_TEXT + 64];

	json_open(j, NULL, '{');
	shorten(brief, sizeof(brief), r->text);
	json_members(j, J_STR("id", gpu_check_names[i]), J_STR("result", low[r->verdict]),
		     J_STR("text", g->full ? r->text : brief));
	shorten(brief, sizeof(brief), r->fix);
	json_str(j, "fix", !*r->fix ? NULL : g->full ? r->fix : brief);
	json_u64(j, "ms", r->ms);
	json_open(j, "facts", '{');
	for (unsigned k = 0; k < r->facts; k++) {
		shorten(brief, sizeof(brief), r->fact[k].value);
		json_str(j, r->fact[k].key, g->full ? r->fact[k].value : brief);
	}
	json_close(j);
	json_close(j);
}

static void conf_json(struct json *j, const struct gpu_doctor *g)
{
	char text[GPU_CONF_BYTES], brief[PATH_MAX];

	shorten(brief, sizeof(brief), g->conf_path);
	json_open(j, "conf", '{');
	json_members(j, J_STR("path", g->full ? g->conf_path : brief),
		     J_BOOL("written", !g->conf_err),
		     J_STR("error", g->conf_err < 0 ? strerror(-g->conf_err) : NULL),
		     J_STR("before", *g->had ? g->had + strspn(g->had, ", ") : NULL));
	json_open(j, "settings", '{');
	gpu_conf_write(&g->conf, text, sizeof(text));
	for (char *save, *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		char *eq = strstr(l, " = ");

		*eq = '\0';
		json_str(j, l, eq + 3);
	}
	json_close(j);
	json_close(j);
}

void gpu_tell_json(const struct gpu_doctor *g)
{
	char text[1024];
	struct utsname un;
	struct json j;

	uname(&un);
	sentence(g, text, sizeof(text));
	json_begin(&j, stdout, "aon.doctor.gpu/1");
	json_members(&j, J_STR("verdict", text), J_STR("fidelity", g->no_gpu ? NULL : fidelity(g)),
		     J_U64("must_change", g->fails), J_U64("unknown", g->unknowns),
		     J_STR("version", AON_VERSION), J_STR("kernel", un.release),
		     J_REAL("seconds", (double)g->ms / 1e3));
	json_open(&j, "checks", '[');
	for (unsigned i = 0; i < GPU_CHECKS; i++)
		if (g->made[i])
			check_json(&j, g, i);
	json_close(&j);
	conf_json(&j, g);
	json_end(&j);
}
