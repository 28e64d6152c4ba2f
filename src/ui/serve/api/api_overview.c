/* SPDX-License-Identifier: Apache-2.0 */
/* api_overview.c - is this run healthy? If not, what should be fixed first? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "base/proc.h"
#include "insight/diff.h"
#include "insight/live/answer.h"
#include "insight/shift.h"
#include "read/json.h"
#include "serve/analysis.h"
#include "serve/kernel_sources.h"
#include "serve/metrics/metrics.h"
#include "serve/steps.h"

#define SERIES   200u /* points in the series of steps */
#define CHANGES  100u
#define KERNELS  5u
#define FINDINGS 3u
#define YOUNG_S  1.0 /* an aond younger than this has no meaningful CPU share yet */

/* Medians of the first and last fifth of the steps, if there are enough. */
static void drift_json(struct json *j, const struct step_rows *s)
{
	size_t fifth = s->n / 5;
	uint64_t first = steps_quantile(s, 0, fifth, 0.5);
	uint64_t last = steps_quantile(s, s->n - fifth, fifth, 0.5);

	json_real(j, "drift",
		  fifth < 4 || !first ? NAN : ((double)last - (double)first) / (double)first);
}

static void change_json(struct json *j, const struct step_rows *s, const struct shift *c)
{
	json_object(j, NULL, J_U64("step", s->step[c->at].number), J_U64("before_ns", c->before),
		    J_U64("after_ns", c->after));
}

static void changes_json(struct json *j, const struct step_rows *s)
{
	struct shifts all = { .n = 0 };
	struct shift c;
	size_t told = 0;

	json_open(j, "changes", '[');
	for (size_t i = 0; i < s->n && told < CHANGES; i++)
		if (shifts_add(&all, s->step[i].dur_ns, &c)) {
			change_json(j, s, &c);
			told++;
		}
	if (told < CHANGES && shifts_end(&all, &c))
		change_json(j, s, &c);
	json_close(j);
}

static void series_json(struct json *j, const struct step_rows *s)
{
	static const char *const word[] = { "p50", "min", "max" };
	static const double at[] = { 0.5, 0, 1 };
	size_t width = s->n / SERIES + 1;

	json_open(j, "step", '{');
	json_members(j, J_U64("n", s->n),
		     J_I64_IF("p50", s->n, (int64_t)steps_quantile(s, 0, s->n, 0.5)),
		     J_I64_IF("p95", s->n, (int64_t)steps_quantile(s, 0, s->n, 0.95)));
	drift_json(j, s);
	changes_json(j, s);
	json_close(j);
	json_open(j, "series", '{');
	json_members(j, J_U64("step0", s->n ? s->step[0].number : 0), J_U64("width", width));
	for (size_t k = 0; k < 3; k++) {
		json_open(j, word[k], '[');
		for (size_t i = 0; i < s->n; i += width)
			json_u64(j, NULL, steps_quantile(s, i, width, at[k]));
		json_close(j);
	}
	json_close(j);
}

/* --- where a step goes --- */

static void part_json(struct json *j, const struct profile *p, size_t part, double all)
{
	const char *word;

	if (p->part_ns[part] < 0.5)
		return;
	profile_part(part, &word);
	json_open(j, NULL, '{');
	json_members(j, J_STR("class", word), J_U64("ns", (uint64_t)(p->part_ns[part] + 0.5)),
		     J_REAL("share", p->part_ns[part] / all));
	json_open(j, "why", '[');
	json_close(j);
	json_close(j);
}

static void idle_json(struct json *j, const struct profile *p, double all)
{
	double idle = 0;

	for (size_t i = PART_IDLE; i < PROFILE_PARTS; i++)
		idle += p->part_ns[i];
	json_open(j, NULL, '{');
	json_members(j, J_STR("class", "idle"), J_U64("ns", (uint64_t)(idle + 0.5)),
		     J_REAL("share", idle / all));
	json_open(j, "why", '[');
	for (size_t i = PART_IDLE; i < PROFILE_PARTS; i++) {
		if (p->part_ns[i] < 0.5)
			continue;
		json_object(j, NULL, J_STR("text", profile_part(i, NULL) + strlen("idle: ")),
			    J_U64("ns", (uint64_t)(p->part_ns[i] + 0.5)));
	}
	json_close(j);
	json_close(j);
}

/* Without a GPU: the parts of a step on the thread that the verdict is about. */
static bool split_host(struct json *j, const struct analysis *an)
{
	const struct time_account *a = answer_account(an->in, an->fs);

	if (an->in->devices || !a || !a->base_ns)
		return false;
	json_open(j, "split", '[');
	for (size_t c = 0; c < ACCOUNT_CAUSES; c++) {
		if (!a->ns[c])
			continue;
		json_open(j, NULL, '{');
		json_members(j, J_STR("class", account_table[c].people),
			     J_U64("ns", a->ns[c] / (a->steps ? a->steps : 1)),
			     J_REAL("share", (double)a->ns[c] / (double)a->base_ns));
		json_open(j, "why", '[');
		json_close(j);
		json_close(j);
	}
	json_close(j);
	return true;
}

static int split_json(struct json *j, const struct analysis *an)
{
	struct profile p = { .steps = 0 };
	int err;

	if (split_host(j, an))
		return 0;
	err = profile_init(&p, an->in, an->fs, PROFILE_ALL);
	if (err < 0)
		return err;
	json_open(j, "split", '[');
	for (size_t i = 0; i < PART_IDLE && p.step_ns > 0; i++)
		part_json(j, &p, i, p.step_ns);
	if (p.step_ns > 0)
		idle_json(j, &p, p.step_ns);
	json_close(j);
	profile_fini(&p);
	return 0;
}

static void ranks_json(struct json *j, const struct analysis *an)
{
	const struct insight *in = an->in;
	uint64_t busy = 0, span = 0;
	bool late =
		an->fs->checked[FAMILY_STRAGGLER].fired || an->fs->checked[FAMILY_IMBALANCE].fired;

	for (size_t i = 0; i < in->devices; i++) {
		busy += in->device[i].b.busy_ns;
		span += in->device[i].b.span_ns;
	}
	json_real(j, "busy", span ? (double)busy / (double)span : NAN);
	json_open(j, "ranks", '[');
	for (size_t i = 0; i < in->devices; i++) {
		const struct insight_device *d = &in->device[i];
		bool flag =
			late && in->waits.rank && an->t->device[d->device].file == in->waits.late;

		json_open(j, NULL, '{');
		json_rank(j, "rank", d->rank);
		json_members(j, J_U64("device", an->t->device[d->device].device),
			     J_U64("compute_ns", d->b.compute_ns / finding_steps(d)),
			     J_STR("flag", flag ? "slow" : NULL));
		json_close(j);
	}
	json_close(j);
}

/* --- the sentences --- */

static void verdict_json(struct json *j, const struct analysis *an)
{
	struct short_answer a;

	answer_of(&a, an->in, an->fs);
	if (!a.known)
		snprintf(a.what, sizeof(a.what), "%s",
			 an->in->devices ? "Nothing stands out."
					 : "Nothing can be said: no work, steps or samples.");
	json_str(j, "verdict", a.what);
}

static void kernels_json(struct json *j, struct krows *rs)
{
	krows_sort(rs, SORT_TOTAL);
	json_open(j, "kernels", '[');
	krows_json(j, rs, 0, KERNELS);
	json_close(j);
	json_u64(j, "kernels_n", rs->n);
}

/*
 * Imported runs have no rollups. For a large one the analysis has the sums, possibly of a part
 * only.
 */
static int top_json(struct ask *q, struct json *j, struct analysis *an)
{
	struct krows rs;
	int err;

	if (q->run.imported && an->in->parted) {
		kernels_json(j, &an->rows[ROLL_KERNEL]);
		return 0;
	}
	err = krows_init(&rs);
	if (err < 0)
		return err;
	if (q->run.imported && an->comes)
		err = fill_events(&rs, an, &q->run, ROLL_KERNEL, false);
	else
		err = krows_kernels(&rs, q, NULL, false);
	if (!err)
		kernels_json(j, &rs);
	krows_fini(&rs);
	return err;
}

/* Millionths, written as percent. */
static void percent_json(struct json *j, const char *key, bool known, double millionths)
{
	json_real(j, key, known ? round(millionths / 1e2) / 1e2 : NAN);
}

/* The largest slowdown of any process: the other ranks wait for that one. */
static void slowdown_json(struct json *j, const struct run *r)
{
	const struct overhead *o = NULL;
	uint32_t accounted = 0;
	bool looked = false;

	for (size_t i = 0; i < r->processes; i++) {
		const struct overhead *x = &r->process[i].overhead;

		looked |= x->steps != 0;
		accounted = x->accounted > accounted ? x->accounted : accounted;
		if (x->pairs && (!o || x->mid > o->mid))
			o = x;
	}
	percent_json(j, "pct", o, o ? o->mid : 0);
	percent_json(j, "lo", o, o ? o->lo : 0);
	percent_json(j, "hi", o, o ? o->hi : 0);
	json_u64(j, "pairs", o ? o->pairs : 0);
	percent_json(j, "accounted", looked, accounted);
}

/* aond's CPU use is known only while aond and the run are alive; it is not stored. */
static void cost_json(struct ask *q, struct json *j)
{
	struct proc_usage u = { .age_s = 0 };
	bool is = q->run.live && !q->run.imported && metrics_daemon(q->s->metrics, q->s, &u) &&
		  u.age_s >= YOUNG_S;

	json_open(j, "cost", '{');
	slowdown_json(j, &q->run);
	json_members(j, J_REAL("core", is ? u.cpu_s / u.age_s : NAN),
		     J_REAL("mb", is ? (double)u.rss_bytes / 1e6 : NAN));
	json_close(j);
}

static int steps_part(struct ask *q, struct json *j, const struct analysis *an)
{
	uint64_t t0, t1;
	struct step_rows s;
	int err = ask_range(q, &t0, &t1);

	if (!err && (an->in->parted || an->comes))
		err = steps_looked_at(&s, &q->run, an->in);
	else if (!err)
		err = steps_read(&s, &q->run, t0 ? q->run.t0 + t0 : 0,
				 t1 == UINT64_MAX ? 0 : q->run.t0 + t1);
	if (err < 0)
		return err;
	series_json(j, &s);
	steps_fini(&s);
	return 0;
}

int api_overview(struct ask *q, struct json *j)
{
	struct analysis *an;
	int err = analysis_begin(q, j, &an);

	err = err ? err : analysis_findings(an, q);
	if (err < 0)
		return err;
	run_json(j, "run", &q->run, q->s);
	verdict_json(j, an);
	ranks_json(j, an);
	err = split_json(j, an);
	if (err < 0)
		return err;
	findings_some_json(j, an->t, an->fs, q->run.t0, FINDINGS);
	cost_json(q, j);
	err = steps_part(q, j, an);
	return err ? err : top_json(q, j, an); /* last, because it may load other events */
}
