/* SPDX-License-Identifier: Apache-2.0 */
/* aon why - what costs time, how that is known, what to do and what that should bring. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/alarms.h"
#include "cli/cluster/fleet_ask.h"
#include "cli/core/inputs.h"
#include "cli/core/locate.h"
#include "cli/report/answer_text.h"
#include "cli/report/oom_text.h"
#include "cli/report/sums.h"
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

	if (!family_costs(f->family)) {
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

static void finding_text(const struct view *v, size_t i)
{
	const struct finding *f = &v->fs->f[i];
	char left[OUT_TEXT], right[128], clean[OUT_TEXT];

	snprintf(left, sizeof(left), "%zu  %s", i + 1,
		 view_clean(&v->out, clean, sizeof(clean), f->title));
	cost_text(v, f, right, sizeof(right));
	out_ends(&v->out, OUT_WARN, left, right);
	for (size_t k = 0; k < FINDING_SEEN && *f->seen[k]; k++)
		view_wrap(&v->out, k ? "" : "seen", f->seen[k]);
	view_wrap(&v->out, "do", f->action);
	view_wrap(&v->out, "expect", f->expect);
	if (f->replayed && replay_word[f->family]) {
		char now[FMT_LEN], then[FMT_LEN], line[128];

		snprintf(line, sizeof(line), "replayed %s: %s%s instead of %s",
			 replay_word[f->family], fmt_time(then, replay_step_ns(f)), finding_per(f),
			 fmt_time(now, finding_base_ns(f->on)));
		view_wrap(&v->out, "", line);
	}
	if (family_costs(f->family))
		check_text(v);
	if (v->o->val[OPT_EXPLAIN])
		view_wrap(&v->out, "means", family_table[f->family].means);
	if (v->o->val[OPT_WIDE])
		view_wrap(&v->out, "rule", family_table[f->family].word);
	fputc('\n', v->out.f);
}

/* What was looked at and is no finding; and what could not be looked at. */
static void checked_text(const struct view *v)
{
	char line[OUT_TEXT] = "", none[OUT_TEXT] = "", pct[FMT_LEN];
	size_t used = 0, left = 0;

	for (enum family k = 0; k < FAMILIES; k++) {
		const struct checked *c = &v->fs->checked[k];
		const char *what = family_table[k].looked;

		if (c->fired || k == FAMILY_SATURATED || k == FAMILY_TOO_LITTLE ||
		    c->gain >= family_table[k].least || (!c->could && !v->out.all))
			continue;
		if (!c->could && (k == FAMILY_LAUNCH || k == FAMILY_CPU) &&
		    v->fs->checked[k == FAMILY_LAUNCH ? FAMILY_CPU : FAMILY_LAUNCH].could)
			continue; /* one cause with two names */
		if (!c->could)
			left += (size_t)snprintf(none + left, sizeof(none) - left, "%s%s",
						 left ? ", " : "", what);
		else if (k != FAMILY_MEMORY)
			used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s (%s %%)",
						 used ? ", " : "", what,
						 fmt_percent(pct, c->share));
		else
			used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s",
						 used ? ", " : "", what);
	}
	if (used)
		view_wrap(&v->out, "small", line);
	if (left)
		view_wrap(&v->out, "no data", none);
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

/* The account of the device that the first finding is about: "compute 61 %, host code 20 %". */
static void account_text(const struct view *v)
{
	const struct time_account *a = &(v->fs->n ? v->fs->f[0].on : v->in->device)->account;
	bool said[ACCOUNT_CAUSES] = { false };
	char line[OUT_TEXT] = "", pct[FMT_LEN], t[FMT_LEN];
	size_t used = 0;

	for (;;) {
		enum account_cause best = ACCOUNT_CAUSES;

		for (enum account_cause c = 0; c < ACCOUNT_CAUSES; c++)
			if (!said[c] && (best == ACCOUNT_CAUSES || a->ns[c] > a->ns[best]))
				best = c;
		if (best == ACCOUNT_CAUSES || !a->base_ns || a->ns[best] < a->base_ns / 100)
			break;
		said[best] = true;
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s %s %%",
					 used ? ", " : "", account_table[best].people,
					 fmt_percent(pct, ratio(a->ns[best], a->base_ns)));
	}
	if (used)
		view_wrap(&v->out, "time", line);
	if (a->cut_ns > a->base_ns / 100) {
		snprintf(line, sizeof(line),
			 "a cut-out: for %s at its begin the GPU was busy with work that is not in "
			 "the "
			 "trace; that is left out",
			 out_time(&v->out, t, sizeof(t), a->cut_ns));
		view_wrap(&v->out, "", line);
	}
}

/* The pids of what is shown; the caller frees them. */
static uint64_t *pids_of(const struct view *v)
{
	uint64_t *pid = calloc(v->t->processes + 1, sizeof(*pid));

	for (size_t i = 0; pid && i < v->t->processes; i++)
		pid[i] = v->t->process[i].pid;
	return pid;
}

/* A process that ran out of memory comes first: nothing matters more. */
static bool ran_out(const struct view *v, struct store *st)
{
	struct oom_ask ask = { .by = FIELD_PID, .id = pids_of(v), .n = v->t->processes };
	struct short_answer a;
	bool is = ask.id && oom_answer(&a, st, &ask);

	if (is)
		answer_print(&v->out, &a);
	free((void *)(uintptr_t)ask.id);
	return is;
}

static int why_text(const struct view *v)
{
	const struct replay *r = v->fs->replay;
	size_t show = v->out.all || v->fs->n <= FOLD + 1 ? v->fs->n : FOLD;
	char operands[OUT_TEXT], path[PATH_MAX];
	struct store *st = alarms_store(v->o, path);
	struct short_answer a;

	bool told;

	view_head(v);
	fputc('\n', v->out.f);
	told = ran_out(v, st);
	view_verdict(v);
	if (v->in->devices)
		account_text(v);
	fputc('\n', v->out.f);
	for (size_t i = 0; i < show; i++)
		finding_text(v, i);
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
	return told || a.known || v->in->devices ? CLI_OK : CLI_UNSURE;
}

static void print_json(const struct view *v)
{
	char path[PATH_MAX];
	struct store *st = alarms_store(v->o, path);
	struct json j;

	json_begin(&j, stdout, "aon.why/1");
	findings_json(&j, v->t, v->fs, 0);
	accounts_json(&j, v->in);
	sums_json(&j, v->t);
	if (st) {
		struct oom_ask ask = { .by = FIELD_PID, .id = pids_of(v), .n = v->t->processes };

		alarms_json(&j, st);
		oom_json(&j, st, &ask);
		free((void *)(uintptr_t)ask.id);
	}
	store_close(st);
	json_end(&j);
}

/* A file of step records: a job is diagnosed by it. */
static bool is_steps(const char *path)
{
	size_t n = strlen(path);

	return n > 6 && !strcmp(path + n - 6, ".steps");
}

int cmd_why(const struct opts *o)
{
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
	if (o->val[OPT_JSON])
		print_json(&v);
	else if (trace_sums(v.t).n)
		rc = sums_why(&v);
	else
		rc = why_text(&v);
	if (rc == CLI_OK)
		rc = view_exit(&v);
	view_close(&v);
	return rc;
}
