/* SPDX-License-Identifier: Apache-2.0 */
/* aon whatif - what a step would take if something in it were faster, gone or hidden. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/inputs.h"
#include "cli/out.h"
#include "insight/class.h"
#include "sim/path.h"
#include "sim/whatif.h"

static const char *const kind_word[SIM_KINDS] = {
#define SIM_KIND(NAME, word, what) [SIM_##NAME] = word,
#include "sim/kind.tbl.h"
};
static const char *const kind_people[SIM_KINDS] = {
#define SIM_KIND(NAME, word, what) [SIM_##NAME] = what,
#include "sim/kind.tbl.h"
};

enum side { WORK, HOST, SIDES }; /* of devices, of threads */

struct whatif {
	struct trace *t;
	struct names *names;
	struct sim_graph *g;
	bool *is_comm;
	uint8_t *side; /* by name: where it occurs, bits of 1 << enum side */
	float *scale[SIDES];
	size_t scaled; /* names that a pattern met */
	struct sim_change change;
	struct sim_path *before, *after;
	int64_t replay_ns;
};

/* --- the change --- */

/* A pattern of the shell where it has one's signs, else a part of the name, in any case; or the
 * word of a class. */
static bool meets(const struct whatif *w, uint32_t name, const char *pattern, enum side side)
{
	const char *text = trace_text(w->t, name);

	if (!(w->side[name] & 1u << side))
		return false;
	if (strpbrk(pattern, "*?[") && fnmatch(pattern, text, FNM_CASEFOLD) == 0)
		return true;
	if (side == WORK && strcmp(pattern, class_word[names_kernel(w->names, name)]) == 0)
		return true;
	return strcasestr(text, pattern) != NULL;
}

static int scale_one(struct whatif *w, const char *pattern, double by, enum side side)
{
	size_t met = 0;

	for (uint32_t i = 0; i < w->t->names; i++)
		if (meets(w, i, pattern, side)) {
			w->scale[side][i] = (float)by;
			met++;
		}
	w->scaled += met;
	if (!met)
		return cli_say(CLI_FAIL, "no %s is called like '%s'",
			       side == WORK ? "kernel, copy or class of kernels" : "range or call",
			       pattern);
	return CLI_OK;
}

/* "gemm=0.5,Memcpy HtoD*=0": a factor ends at a comma, since names may hold commas too. */
static int scale_all(struct whatif *w, const char *spec, enum side side)
{
	char pattern[OUT_TEXT], *end;
	int rc = CLI_OK;

	while (*spec && rc == CLI_OK) {
		const char *eq = spec;
		double by = -1;

		while ((eq = strchr(eq, '='))) {
			by = strtod(++eq, &end);
			if (end != eq && (*end == ',' || !*end))
				break;
		}
		if (!eq || by < 0 || by > 1000 || eq - 1 == spec)
			return cli_misuse(
				"--scale takes NAME=FACTOR[,...], factors 0 to 1000, not '%s'",
				spec);
		snprintf(pattern, sizeof(pattern), "%.*s", (int)(eq - 1 - spec), spec);
		rc = scale_one(w, pattern, by, side);
		spec = *end ? end + 1 : end;
	}
	return rc;
}

static int read_change(struct whatif *w, const struct opts *o)
{
	int rc = CLI_OK;

	w->change.no_sync = o->val[OPT_NOSYNC];
	w->change.free_host = o->val[OPT_FREEHOST];
	w->change.free_launch = o->val[OPT_FREELAUNCH];
	w->change.overlap_comm = o->val[OPT_OVERLAP];
	for (enum side side = WORK; side < SIDES && rc == CLI_OK; side++) {
		const char *spec = o->val[side == WORK ? OPT_SCALE : OPT_SCALEHOST];

		if (!spec)
			continue;
		for (size_t i = 0; i < w->t->names; i++)
			w->scale[side][i] = 1.0f;
		rc = scale_all(w, spec, side);
	}
	w->change.work_scale = o->val[OPT_SCALE] ? w->scale[WORK] : NULL;
	w->change.host_scale = o->val[OPT_SCALEHOST] ? w->scale[HOST] : NULL;
	return rc;
}

/* --- the run --- */

static int run(struct whatif *w)
{
	const struct sim_graph *g = w->g;
	int64_t *lag = malloc((g->edges + 1) * sizeof(*lag));
	int64_t *time = malloc((2 * g->tasks + 1) * sizeof(*time));
	int err = -ENOMEM;

	if (!lag || !time)
		goto done;
	sim_run(g, NULL, time);
	w->replay_ns = sim_span(g, time);
	err = sim_change_lags(g, &w->change, lag);
	if (err < 0)
		goto done;
	sim_run(g, lag, time);
	err = sim_path_new(&w->before, g, NULL, NULL);
	if (!err)
		err = sim_path_new(&w->after, g, lag, time);
done:
	free(lag);
	free(time);
	return err;
}

static int prepare(struct whatif *w)
{
	int err;

	w->is_comm = calloc(w->t->names + 1, sizeof(*w->is_comm));
	w->side = calloc(w->t->names + 1, sizeof(*w->side));
	for (enum side side = WORK; side < SIDES; side++)
		w->scale[side] = calloc(w->t->names + 1, sizeof(float));
	if (!w->is_comm || !w->side || !w->scale[WORK] || !w->scale[HOST])
		return -ENOMEM;
	for (size_t i = 0; i < w->t->events; i++) {
		bool host = w->t->lane[w->t->event[i].lane].device == LANE_HOST;

		w->side[w->t->event[i].name] |= (uint8_t)(1u << (host ? HOST : WORK));
	}
	err = names_new(&w->names, w->t);
	if (err < 0)
		return err;
	for (uint32_t i = 0; i < w->t->names; i++)
		w->is_comm[i] = names_kernel(w->names, i) == CLASS_COMM;
	return sim_graph_new(&w->g, w->t, w->is_comm);
}

/* --- what comes out --- */

static void path_json(struct json *j, const char *key, const struct sim_path *p)
{
	json_open(j, key, '{');
	json_i64(j, "span_ns", p->span_ns);
	json_open(j, "by_kind", '{');
	for (int k = 0; k < SIM_KINDS; k++)
		json_i64(j, kind_word[k], p->by_kind[k]);
	json_close(j);
	json_u64(j, "tasks", p->tasks);
	json_close(j);
}

static void print_json(const struct whatif *w)
{
	struct json j;

	json_init(&j, stdout);
	json_open(&j, NULL, '{');
	json_str(&j, "schema", "aon.whatif/1");
	json_u64(&j, "files", w->t->files);
	json_u64(&j, "steps", w->g->steps);
	json_u64(&j, "collectives_matched", w->g->meetings);
	json_i64(&j, "measured_ns", w->before->span_ns);
	json_i64(&j, "replayed_ns", w->replay_ns);
	json_i64(&j, "predicted_ns", w->after->span_ns);
	json_u64(&j, "names_scaled", w->scaled);
	path_json(&j, "critical_path", w->before);
	path_json(&j, "critical_path_after", w->after);
	json_end(&j);
}

static void print_path(const struct whatif *w, const struct out *out, uint64_t steps)
{
	static const struct col col[] = {
		{ "Critical path", COL_LEFT | COL_FLEX, 0 },
		{ "now", 0, 0 },
		{ "then", 0, 0 },
		{ "% now", 0, 0 },
	};
	int64_t max =
		w->before->span_ns > w->after->span_ns ? w->before->span_ns : w->after->span_ns;
	const struct fmt_unit *u = fmt_time_unit((uint64_t)max / steps);
	unsigned decimals = fmt_decimals((double)max / (double)steps / u->scale);
	struct table t;
	char pct[FMT_LEN];

	table_init(&t, col, sizeof(col) / sizeof(*col));
	t.unit[1] = t.unit[2] = u->name;
	for (int k = 0; k < SIM_KINDS; k++) {
		if (!w->before->by_kind[k] && !w->after->by_kind[k])
			continue;
		table_add(&t, "%s", kind_people[k]);
		table_add_time(&t, (uint64_t)w->before->by_kind[k] / steps, u, decimals);
		table_add_time(&t, (uint64_t)w->after->by_kind[k] / steps, u, decimals);
		table_add(&t, "%s",
			  fmt_percent(pct, (double)w->before->by_kind[k] /
						   (double)(w->before->span_ns ? w->before->span_ns
									       : 1)));
	}
	table_print(&t, out, 2);
	table_fini(&t);
}

static void print_text(const struct whatif *w, const struct opts *o)
{
	uint64_t steps = w->g->steps ? w->g->steps : 1;
	uint64_t now = (uint64_t)w->before->span_ns / steps,
		 then = (uint64_t)w->after->span_ns / steps;
	const char *what = w->g->steps ? "A step takes" : "All of it takes";
	char a[FMT_LEN], b[FMT_LEN], c[FMT_LEN], p[FMT_LEN];
	struct out out;

	out_init(&out, stdout, o);
	out_line(&out, OUT_PLAIN, "%zu %s, %llu %s, replayed to %.2f %% of what was measured",
		 w->t->files, w->t->files == 1 ? "file" : "files", (unsigned long long)w->g->steps,
		 w->g->steps == 1 ? "step" : "steps",
		 100.0 * (double)w->replay_ns /
			 (double)(w->before->span_ns ? w->before->span_ns : 1));
	if (then == now)
		out_line(&out, OUT_BOLD, "  %s %s, and the change brings nothing.", what,
			 out_time(&out, a, sizeof(a), now));
	else
		out_line(&out, OUT_BOLD, "  %s %s now; with the change %s: %s %s (%s %%).", what,
			 out_time(&out, a, sizeof(a), now), out_time(&out, b, sizeof(b), then),
			 out_time(&out, c, sizeof(c), then < now ? now - then : then - now),
			 then < now ? "less" : "more",
			 fmt_percent(p,
				     (double)(then < now ? now - then : then - now) / (double)now));
	fputc('\n', stdout);
	print_path(w, &out, steps);
}

int cmd_whatif(const struct opts *o)
{
	struct whatif w = { 0 };
	int rc, err;

	rc = inputs_load(&w.t, o);
	if (rc != CLI_OK)
		return rc;
	err = prepare(&w);
	if (err == -ENODATA)
		rc = cli_say(CLI_UNSURE,
			     "nothing to replay: no call of a runtime and no GPU work in it");
	else if (err < 0)
		rc = cli_say(CLI_FAIL, "cannot be replayed: %s", strerror(-err));
	if (!err)
		rc = read_change(&w, o);
	if (!err && rc == CLI_OK) {
		err = run(&w);
		if (err < 0)
			rc = cli_say(CLI_FAIL, "cannot be replayed: %s", strerror(-err));
		else if (o->val[OPT_JSON])
			print_json(&w);
		else
			print_text(&w, o);
	}
	if (rc == CLI_OK)
		rc = inputs_exit(w.t);
	sim_path_free(w.before);
	sim_path_free(w.after);
	sim_graph_free(w.g);
	names_free(w.names);
	free(w.is_comm);
	free(w.side);
	free(w.scale[WORK]);
	free(w.scale[HOST]);
	trace_free(w.t);
	return rc;
}
