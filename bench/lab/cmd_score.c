/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_score.c - aon-lab score: compares the findings of diagnosers with the known faults. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "lab/contender.h"
#include "lab/folder.h"
#include "lab/lab.h"
#include "model/step_file.h"

#define PATH_BYTES 4096u
#define SCORES     (CONTENDERS + 1u) /* the last: of --findings */

struct scoring {
	const struct lab_opts *o;
	struct score score[SCORES];
	struct score_run *run[CONTENDERS]; /* of the case in hand; NULL: not asked for */
	bool asked[CONTENDERS];
	struct folder_lines lines;
	bool has_lines;
	struct step_rec *rec; /* of the step in hand */
	uint32_t world, cases;
	uint32_t events[DIAG_KINDS];
};

/* --- one case --- */

static int runs_new(struct scoring *s, uint32_t world)
{
	int err = 0;

	s->world = world;
	for (uint32_t i = 0; i < CONTENDERS && !err; i++)
		if (s->asked[i])
			err = score_run_new(&s->run[i], contender[i], world);
	return err;
}

static void runs_free(struct scoring *s)
{
	for (uint32_t i = 0; i < CONTENDERS; i++) {
		score_run_free(s->run[i]);
		s->run[i] = NULL;
	}
}

static int runs_step(void *arg, const struct step_rec *rec, size_t n)
{
	struct scoring *s = arg;
	int err = 0;

	for (uint32_t i = 0; i < CONTENDERS && !err; i++)
		if (s->run[i])
			err = score_run_step(s->run[i], rec, n);
	return err;
}

/* Records as they come over the wire. */
static int runs_bytes(void *arg, uint32_t step, const void *data, size_t len)
{
	struct scoring *s = arg;
	size_t n = 0;

	(void)step;
	for (size_t at = 0; at < len;) {
		int got = n < s->world
				  ? step_rec_decode(&s->rec[n], (const char *)data + at, len - at)
				  : -EBADMSG;

		if (got < 0)
			return got;
		n++;
		at += (size_t)got;
	}
	return runs_step(s, s->rec, n);
}

static int lines_end(struct scoring *s, const struct corpus_truth *t)
{
	struct score_said said = { 0 };
	int err = 0;

	for (size_t i = 0; i < s->lines.n && !err; i++) {
		struct folder_line *l = &s->lines.line[i];

		if (strcmp(l->name, t->name))
			continue;
		l->f.t_ns = l->f.step < t->steps + t->hung ? t->end_ns[l->f.step] : 0;
		err = score_said_add(&said, &l->f);
	}
	err = err ? err : score_case(&s->score[CONTENDERS], t, &said);
	score_said_fini(&said);
	return err;
}

static int runs_end(struct scoring *s, const struct corpus_truth *t)
{
	int err = 0;

	for (uint32_t i = 0; i < CONTENDERS && !err; i++)
		if (s->run[i])
			err = score_run_end(s->run[i], &s->score[i], t);
	if (!err && s->has_lines)
		err = lines_end(s, t);
	s->cases++;
	return err;
}

/* --- cases that are drawn --- */

static int draw(struct scoring *s)
{
	struct corpus_opts c;
	struct corpus_case one;
	struct corpus_truth t;
	uint32_t cases;
	int rc = lab_corpus_given(s->o, &c, &cases), err = 0;

	for (uint32_t i = 0; i < cases && rc == LAB_OK; i++) {
		if (corpus_case(&one, &c, i) < 0)
			return lab_say(LAB_USAGE, "no layout is of so many ranks");
		s->rec = malloc(job_ranks(&one.job) * sizeof(*s->rec));
		err = s->rec ? runs_new(s, job_ranks(&one.job)) : -ENOMEM;
		err = err ? err : corpus_play(&one, runs_bytes, s, &t);
		if (!err) {
			err = runs_end(s, &t);
			corpus_truth_fini(&t);
		}
		runs_free(s);
		free(s->rec);
		lab_progress(one.name, i + 1, cases);
		if (err < 0)
			rc = lab_say(LAB_FAIL, "%s: %s", one.name, strerror(-err));
	}
	return rc;
}

/* --- cases of a folder --- */

static int bad_file(const char *path, int err, const struct folder_why *why)
{
	if (err == -EINVAL && why && why->line)
		return lab_say(LAB_FAIL, "%s:%zu: %s", path, why->line, why->text);
	if (err == -EBADMSG)
		return lab_say(LAB_FAIL, "%s: these are not the records of its truth", path);
	return lab_say(LAB_FAIL, "%s: %s", path, strerror(-err));
}

static int folder_case(struct scoring *s, const char *dir, const char *name)
{
	char path[PATH_BYTES], *text;
	struct corpus_truth t;
	struct folder_why why;
	size_t len;
	FILE *f;
	int err;

	snprintf(path, sizeof(path), "%s/%s%s", dir, name, LAB_TRUTH_NAME);
	err = file_read(&text, &len, path, FOLDER_TEXT_MAX);
	if (err < 0)
		return bad_file(path, err, NULL);
	err = folder_truth(&t, text, len, &why);
	free(text);
	if (err < 0)
		return bad_file(path, err, &why);
	snprintf(path, sizeof(path), "%s/%s%s", dir, name, LAB_STEPS_NAME);
	f = fopen(path, "re");
	err = f ? runs_new(s, t.world) : -errno;
	err = err ? err : step_file_read(f, t.world, runs_step, s);
	err = err ? err : runs_end(s, &t);
	if (f)
		fclose(f);
	runs_free(s);
	corpus_truth_fini(&t);
	return err ? bad_file(path, err, NULL) : LAB_OK;
}

static int is_truth(const struct dirent *d)
{
	size_t n = strlen(d->d_name), tail = strlen(LAB_TRUTH_NAME);

	return n > tail && !strcmp(d->d_name + n - tail, LAB_TRUTH_NAME);
}

static int folder(struct scoring *s, const char *dir)
{
	struct dirent **list;
	int n = scandir(dir, &list, is_truth, alphasort), rc = LAB_OK;

	if (n < 0)
		return lab_say(LAB_FAIL, "%s: %s", dir, strerror(errno));
	for (int i = 0; i < n; i++) {
		char *name = list[i]->d_name;

		name[strlen(name) - strlen(LAB_TRUTH_NAME)] = '\0';
		if (rc == LAB_OK)
			rc = folder_case(s, dir, name);
		lab_progress(name, (uint32_t)i + 1, (uint32_t)n);
		free(list[i]);
	}
	free(list);
	if (rc == LAB_OK && !n)
		return lab_say(LAB_UNSURE, "%s: no case is there (aon-lab corpus writes them)",
			       dir);
	return rc;
}

/* --- what is asked for --- */

static int contenders_given(struct scoring *s)
{
	const char *text = s->o->val[LAB_AGAINST];

	for (uint32_t i = 0; i < CONTENDERS; i++) {
		s->score[i].name = contender[i]->name;
		s->score[i].what = contender[i]->what;
		s->asked[i] = !text;
	}
	for (const char *p = text ? text : ""; *p; p += strcspn(p, ","), p += *p == ',') {
		size_t len = strcspn(p, ","), i = 0;
		bool all = len == 9 && !memcmp(p, "baselines", 9);

		if (len == 4 && !memcmp(p, "none", 4))
			continue;
		for (; i < CONTENDERS && !all; i++)
			if (strlen(contender[i]->name) == len &&
			    !memcmp(contender[i]->name, p, len))
				break;
		if (i == CONTENDERS)
			return lab_say(LAB_USAGE, "--against: '%.*s' is none of them", (int)len, p);
		for (uint32_t k = 0; k < CONTENDERS; k++)
			s->asked[k] |= all || k == i;
	}
	return LAB_OK;
}

static int findings_given(struct scoring *s)
{
	const char *path = s->o->val[LAB_FINDINGS];
	struct folder_why why;
	char *text;
	size_t len;
	int err;

	if (!path)
		return LAB_OK;
	if (!s->o->argc)
		return lab_say(LAB_USAGE, "--findings are of the cases of a FOLDER");
	err = file_read(&text, &len, path, FOLDER_TEXT_MAX);
	if (err < 0)
		return bad_file(path, err, NULL);
	err = folder_lines(&s->lines, text, len, &why);
	free(text);
	s->has_lines = !err;
	s->score[CONTENDERS].name = "findings";
	s->score[CONTENDERS].what = path;
	return err ? bad_file(path, err, &why) : LAB_OK;
}

/* --- the answer --- */

static void put_score(struct json *j, const struct score *s)
{
	json_open(j, NULL, '{');
	json_str(j, "name", s->name);
	json_str(j, "what", s->what);
	json_u64(j, "events", s->events);
	json_real(j, "recall", score_recall(s));
	json_real(j, "precision", score_precision(s));
	json_real(j, "culprit", score_culprit(s));
	json_u64(j, "detected", s->detected);
	json_u64(j, "noticed", s->noticed);
	json_u64(j, "top1", s->top1);
	json_u64(j, "top3", s->top3);
	json_u64(j, "kind_right", s->kind);
	json_u64(j, "class_right", s->class);
	json_u64(j, "acts", s->acts);
	json_u64(j, "acts_right", s->right);
	json_u64(j, "acts_vague", s->vague);
	json_u64(j, "acts_victim", s->victims);
	json_u64(j, "acts_false", s->wrong);
	json_u64(j, "notes", s->notes);
	json_real(j, "false_acts_day", s->clean_days > 0 ? s->false_acts / s->clean_days : NAN);
	json_real(j, "false_acts_day_most", score_false_day_most(s));
	json_real(j, "clean_days", s->clean_days);
	json_real(j, "blast_ranks", s->detected ? s->blast / s->detected : NAN);
	json_real(j, "detect_s", score_middle(&s->delay_s, 0.5));
	json_real(j, "detect_s_p90", score_middle(&s->delay_s, 0.9));
	json_real(j, "detect_steps", score_middle(&s->delay_steps, 0.5));
	json_real(j, "gain_error", score_middle(&s->gain_error, 0.5));
	json_real(j, "gain_error_p90", score_middle(&s->gain_error, 0.9));
	json_real(j, "cpu_ms_step", s->steps > 0 ? s->cpu_ns / s->steps / 1e6 : NAN);
	json_real(j, "cpu_ns_rank_step", s->rank_steps > 0 ? s->cpu_ns / s->rank_steps : NAN);
	json_u64(j, "most_ranks", s->worst_world);
	json_real(j, "cpu_ms_step_most_ranks", s->worst_ns / 1e6);
	json_open(j, "by_kind", '{');
	for (uint32_t k = 1; k < DIAG_KINDS; k++) {
		if (!s->by_kind[k][0])
			continue;
		json_open(j, fault_table[k - 1].code, '[');
		json_u64(j, NULL, s->by_kind[k][1]);
		json_u64(j, NULL, s->by_kind[k][0]);
		json_close(j);
	}
	json_close(j);
	json_open(j, "by_gain", '{');
	for (uint32_t b = 0; b < SCORE_GAINS; b++) {
		static const char *const word[SCORE_GAINS] = { "1-2%", "2-5%", "5-20%", "20-100%",
							       "stops" };

		json_open(j, word[b], '[');
		json_u64(j, NULL, s->by_gain[b][1]);
		json_u64(j, NULL, s->by_gain[b][0]);
		json_close(j);
	}
	json_close(j);
	json_open(j, "by_confidence", '[');
	for (uint32_t b = 0; b < SCORE_BINS; b++) {
		json_open(j, NULL, '[');
		json_u64(j, NULL, s->sure[b][0]);
		json_u64(j, NULL, s->sure[b][1]);
		json_close(j);
	}
	json_close(j);
	json_open(j, "classes", '{');
	for (uint32_t a = 0; a < SCORE_CLASSES; a++) {
		json_open(j, score_class_word[a], '[');
		for (uint32_t b = 0; b <= SCORE_CLASSES; b++)
			json_u64(j, NULL, s->confused[a][b]);
		json_close(j);
	}
	json_close(j);
	json_close(j);
}

static void say_json(const struct scoring *s)
{
	struct json j;

	json_init(&j, stdout);
	json_open(&j, NULL, '{');
	json_str(&j, "schema", "aon.sim.score/1");
	json_u64(&j, "cases", s->cases);
	json_open(&j, "scores", '[');
	for (uint32_t i = 0; i < SCORES; i++)
		if (s->score[i].cases)
			put_score(&j, &s->score[i]);
	json_end(&j);
}

static void cell(const char *fmt, double v)
{
	char text[32] = "-";

	if (isfinite(v))
		snprintf(text, sizeof(text), fmt, v);
	printf("%9s ", text);
}

static void say_table(const struct scoring *s)
{
	const struct score *any = NULL;

	for (uint32_t i = 0; i < SCORES; i++)
		any = s->score[i].cases ? &s->score[i] : any;
	printf("%" PRIu32 " cases, %" PRIu32 " faults that cost 1 %% or more, %" PRIu32
	       " cases without one\n",
	       s->cases, any ? any->events : 0, any ? any->clean : 0);
	printf("%-9s %9s %9s %9s %9s %9s %9s %9s %9s %9s %9s  %s\n", "WHO", "RECALL", "PRECISION",
	       "CULPRIT", "CLASS", "ACTS", "VICTIMS", "FALSE", "DELAY s", "GAIN OFF", "us/RANK",
	       "WHAT");
	for (uint32_t i = 0; i < SCORES; i++) {
		const struct score *c = &s->score[i];

		if (!c->cases)
			continue;
		printf("%-9s ", c->name);
		cell("%.0f%%", 100 * score_recall(c));
		cell("%.0f%%", 100 * score_precision(c));
		cell("%.0f%%", 100 * score_culprit(c));
		cell("%.0f%%", c->detected ? 100.0 * c->class / c->detected : NAN);
		cell("%.0f", c->acts);
		cell("%.0f", c->victims);
		cell("%.0f", c->wrong);
		cell("%.2f", score_middle(&c->delay_s, 0.5));
		cell("%.3f", score_middle(&c->gain_error, 0.5));
		cell("%.2f", c->rank_steps > 0 ? c->cpu_ns / c->rank_steps / 1e3 : NAN);
		printf(" %s\n", c->what);
	}
}

int lab_score(const struct lab_opts *o)
{
	struct scoring s = { .o = o };
	int rc;

	if (o->argc > 1)
		return lab_say(LAB_USAGE, "one FOLDER at most");
	rc = contenders_given(&s);
	rc = rc != LAB_OK ? rc : findings_given(&s);
	if (rc == LAB_OK)
		rc = o->argc == 1 ? folder(&s, o->argv[0]) : draw(&s);
	if (rc == LAB_OK && o->val[LAB_JSON])
		say_json(&s);
	else if (rc == LAB_OK)
		say_table(&s);
	for (uint32_t i = 0; i < SCORES; i++)
		score_fini(&s.score[i]);
	folder_lines_fini(&s.lines);
	return rc;
}
