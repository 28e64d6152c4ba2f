/* SPDX-License-Identifier: Apache-2.0 */
/* aon why - what costs time, how that is known, what to do and what that should bring. */
#include <limits.h>
#include <string.h>

#include "cli/report/alarms.h"
#include "cli/cluster/fleet_ask.h"
#include "cli/core/inputs.h"
#include "cli/core/locate.h"
#include "cli/report/view.h"
#include "insight/live/answer.h"
#include "insight/replay.h"
#include "read/json.h"

#define FOLD     3u
#define FLUSH_MS 1000

static const char *const kind_people[SIM_KINDS] = {
#define SIM_KIND(NAME, word, what) [SIM_##NAME] = what,
#include "sim/kind.tbl.h"
};

static void cost_text(const struct view *v, const struct finding *f, char *buf, size_t cap)
{
	char t[FMT_LEN], pct[FMT_LEN];

	if (f->family == FAMILY_MEMORY) {
		snprintf(buf, cap, "%s", sure_word[f->sure]);
		return;
	}
	out_time(&v->out, t, sizeof(t), f->cost_ns / f->steps);
	snprintf(buf, cap, "%s%s (%s %%)   %s", t, finding_per(f), fmt_percent(pct, f->share),
		 sure_word[f->sure]);
}

/* aon diff takes a path for each side: files of several ranks, in a folder. */
static void check_text(const struct view *v)
{
	char operands[OUT_TEXT], check[OUT_TEXT + 64];

	if (v->o->argc == 1 && strcmp(v->o->argv[0], "-") != 0)
		snprintf(check, sizeof(check), "aon diff %s NEW, a run with the change",
			 view_operands(v, operands, sizeof(operands)));
	else
		snprintf(check, sizeof(check), "aon diff OLD NEW, %s",
			 v->o->argc > 1 ? "a folder of these files and one of a run with the change"
					: "this run and one with the change");
	view_wrap(&v->out, "check", check);
}

static void finding_text(const struct view *v, const struct replay *r, size_t i)
{
	const struct finding *f = &v->fs->f[i];
	char left[OUT_TEXT], right[128], clean[OUT_TEXT];

	snprintf(left, sizeof(left), "%zu  %s", i + 1,
		 view_clean(&v->out, clean, sizeof(clean), f->title));
	cost_text(v, f, right, sizeof(right));
	out_ends(&v->out, OUT_WARN, left, right);
	for (size_t k = 0; k < FINDING_SEEN && *f->seen[k]; k++)
		view_wrap(&v->out, k ? "" : "seen", f->seen[k]);
	if (*f->ruled_out)
		view_wrap(&v->out, "not", f->ruled_out);
	view_wrap(&v->out, "do", f->action);
	view_wrap(&v->out, "expect", f->expect);
	if (replay_step_ns(r, f->family)) {
		char now[FMT_LEN], then[FMT_LEN], line[128];

		snprintf(line, sizeof(line), "replayed %s: %s%s instead of %s",
			 replay_word[f->family], fmt_time(then, replay_step_ns(r, f->family)),
			 r->steps ? " a step" : "",
			 fmt_time(now, (uint64_t)r->span_ns / (r->steps ? r->steps : 1)));
		view_wrap(&v->out, "", line);
	}
	check_text(v);
	if (v->o->val[OPT_EXPLAIN])
		view_wrap(&v->out, "means", family_table[f->family].means);
	if (v->o->val[OPT_WIDE])
		view_wrap(&v->out, "rule", family_table[f->family].word);
	fputc('\n', v->out.f);
}

/* What was looked at and is no finding. */
static void checked_text(const struct view *v)
{
	char line[OUT_TEXT] = "", pct[FMT_LEN];
	size_t used = 0;

	for (enum family k = 0; k < FAMILIES; k++) {
		const struct checked *c = &v->fs->checked[k];

		if (c->fired || k == FAMILY_SATURATED || (!c->could && !v->out.all))
			continue;
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", used ? ", " : "",
					 family_table[k].looked);
		if (!c->could)
			used += (size_t)snprintf(line + used, sizeof(line) - used,
						 " (not in trace)");
		else if (k != FAMILY_MEMORY && v->out.all)
			used += (size_t)snprintf(line + used, sizeof(line) - used, " (%s %%)",
						 fmt_percent(pct, c->share));
	}
	if (used)
		view_wrap(&v->out, "ok", line);
}

static void together(const struct view *v, size_t shown)
{
	uint64_t rest = 0;
	char t[FMT_LEN];

	for (size_t i = shown; i < v->fs->n; i++)
		rest += v->fs->f[i].cost_ns / v->fs->f[i].steps;
	if (shown < v->fs->n)
		out_line(&v->out, OUT_PLAIN, "+ %zu more, %s together (--all)\n", v->fs->n - shown,
			 out_time(&v->out, t, sizeof(t), rest));
	if (v->fs->n > 1)
		out_line(&v->out, OUT_PLAIN,
			 "Gains overlap: together they bring less than their sum.");
}

/* "Critical path: 61 % the program, between calls; 20 % kernels". */
static void path_text(const struct view *v, const struct replay *r)
{
	char line[OUT_TEXT] = "", pct[FMT_LEN];
	size_t used = 0;

	for (size_t shown = 0, best; r && r->span_ns > 0 && shown < 3; shown++) {
		static const int64_t least = 20; /* 5 % */
		bool taken[SIM_KINDS] = { false };

		best = 0;
		for (size_t again = 0; again <= shown; again++) {
			best = SIM_KINDS;
			for (size_t k = 0; k < SIM_KINDS; k++)
				if (!taken[k] &&
				    (best == SIM_KINDS || r->by_kind[k] > r->by_kind[best]))
					best = k;
			taken[best] = true;
		}
		if (r->by_kind[best] < r->span_ns / least)
			break;
		used += (size_t)snprintf(
			line + used, sizeof(line) - used, "%s%s %% %s", used ? "; " : "",
			fmt_percent(pct, (double)r->by_kind[best] / (double)r->span_ns),
			kind_people[best]);
	}
	if (used && r->to_ns)
		used += (size_t)snprintf(
			line + used, sizeof(line) - used, " (of the newest %s)",
			out_time(&v->out, pct, sizeof(pct), r->to_ns - r->from_ns));
	if (used)
		view_wrap(&v->out, "path", line);
}

static int why_text(const struct view *v, const struct replay *r)
{
	size_t show = v->out.all || v->fs->n <= FOLD + 1 ? v->fs->n : FOLD;
	char operands[OUT_TEXT], path[PATH_MAX];
	struct store *st = alarms_store(v->o, path);
	struct short_answer a;

	view_head(v);
	fputc('\n', v->out.f);
	view_verdict(v);
	fputc('\n', v->out.f);
	for (size_t i = 0; i < show; i++)
		finding_text(v, r, i);
	together(v, show);
	path_text(v, r);
	if (v->in->devices || v->fs->n)
		checked_text(v);
	if (st)
		alarms_brief(st, &v->out, path);
	store_close(st);
	fputc('\n', v->out.f);
	out_line(&v->out, OUT_COPY, "table  aon report %s",
		 view_operands(v, operands, sizeof(operands)));
	fflush(v->out.f);
	if (v->in->devices && !v->in->steps)
		fprintf(stderr, "No step markers: times are of the whole trace, not of a step.\n");
	answer_of(&a, v->in, v->fs);
	return a.known || v->in->devices ? CLI_OK : CLI_UNSURE;
}

static void print_json(const struct view *v, const struct replay *r)
{
	char path[PATH_MAX];
	struct store *st = alarms_store(v->o, path);
	struct json j;

	json_begin(&j, stdout, "aon.why/1");
	findings_json(&j, v->t, v->fs, r, 0);
	if (st)
		alarms_json(&j, st);
	store_close(st);
	json_end(&j);
}

/* Of a run that is too large for it, the newest steps. Without, the findings stand on their own. */
static struct replay *replay(const struct view *v)
{
	uint64_t from_ns = 0, to_ns = 0;
	struct trace *t = NULL;
	struct replay *r = NULL;

	if (!v->in->parted) {
		(void)replay_new(&r, v->t, v->fs);
		return r;
	}
	if (inputs_window(&t, v->o, &from_ns, &to_ns) == 0 && replay_new(&r, t, v->fs) == 0) {
		r->from_ns = from_ns;
		r->to_ns = to_ns;
	}
	trace_free(t);
	return r;
}

/* A file of step records: a job is diagnosed by it. */
static bool is_steps(const char *path)
{
	size_t n = strlen(path);

	return n > 6 && !strcmp(path + n - 6, ".steps");
}

int cmd_why(const struct opts *o)
{
	struct replay *r;
	struct view v;
	int rc;

	if (o->argc && is_steps(o->argv[0]))
		return cmd_diagnose(o);
	if (fleet_asked(o))
		return o->val[OPT_OF_CAPTURE] ? fleet_as_store(o, cmd_why) : fleet_why_cmd(o);
	if (!o->argc) /* of a job that runs: what aond still holds counts, too */
		(void)admin_ask(locate_run_dir(), "flush", FLUSH_MS, NULL, NULL);
	rc = view_open(&v, o, VIEW_ALL);
	if (rc != CLI_OK)
		return rc;
	r = replay(&v);
	if (o->val[OPT_JSON])
		print_json(&v, r);
	else
		rc = why_text(&v, r);
	replay_free(r);
	if (rc == CLI_OK)
		rc = view_exit(&v);
	view_close(&v);
	return rc;
}
