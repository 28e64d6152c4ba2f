/* SPDX-License-Identifier: Apache-2.0 */
/* score.c - compares the findings about a case with the truth. */
#include "lab/score.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

const char *const score_class_word[SCORE_CLASSES] = { "gpu",  "host",      "input",
						      "link", "imbalance", "software" };

unsigned score_class(uint32_t kind)
{
	static const uint8_t class[DIAG_KINDS] = { 5, 0, 0, 0, 0, 0, 3, 3, 1, 1, 1, 1, 5, 2, 2, 4,
						   4, 4, 5, 3, 3, 3, 3, 3, 3, 3, 5, 5, 5, 5, 5 };

	return kind < DIAG_KINDS ? class[kind] : 5;
}

static int grow(void *list, uint32_t n, uint32_t *cap, size_t size)
{
	void **p = list, *q;
	uint32_t to = *cap ? *cap * 2 : 16;

	if (n < *cap)
		return 0;
	q = realloc(*p, to * size);
	if (!q)
		return -ENOMEM;
	*p = q;
	*cap = to;
	return 0;
}

void score_said_fini(struct score_said *s)
{
	free(s->f);
	free(s->last);
	*s = (struct score_said){ 0 };
}

int score_said_add(struct score_said *s, const struct diag_finding *f)
{
	if (!f->parts || f->parts > DIAG_PARTS)
		return 0;
	for (uint32_t i = 0; i < s->n; i++)
		if (diag_part_same(s->f[i].part[0], f->part[0]) && s->f[i].act == f->act &&
		    score_class(s->f[i].kind) == score_class(f->kind) &&
		    f->step < s->last[i] + SCORE_SILENCE) {
			s->last[i] = f->step > s->last[i] ? f->step : s->last[i];
			return 0;
		}
	if (s->n == SCORE_FINDINGS)
		return 0;
	if (grow(&s->f, s->n, &s->cap, sizeof(*s->f)) < 0 ||
	    grow(&s->last, s->n, &s->last_cap, sizeof(*s->last)) < 0)
		return -ENOMEM;
	s->last[s->n] = f->step;
	s->f[s->n++] = *f;
	return 0;
}

static int list_add(struct score_list *l, double v)
{
	if (grow(&l->v, l->n, &l->cap, sizeof(*l->v)) < 0)
		return -ENOMEM;
	l->v[l->n++] = v;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

double score_middle(const struct score_list *l, double q)
{
	if (!l->n)
		return NAN;
	qsort(l->v, l->n, sizeof(*l->v), by_value);
	return l->v[(uint32_t)(q * (l->n - 1) + 0.5)];
}

void score_fini(struct score *s)
{
	free(s->delay_s.v);
	free(s->delay_steps.v);
	free(s->gain_error.v);
}

/* --- one finding and one event --- */

static bool counts(const struct corpus_event *e)
{
	return e->from < e->end && (e->stops || e->gain >= SCORE_WORTH);
}

static bool in_time(const struct corpus_event *e, const struct diag_finding *f)
{
	return f->step >= e->from && f->step < e->end + SCORE_GRACE;
}

static bool is_alike(const struct corpus_event *e, struct diag_part p)
{
	if (diag_part_same(e->part, p))
		return true;
	for (uint32_t i = 0; i < e->alikes; i++)
		if (p.level == e->part.level && p.index == e->alike[i])
			return true;
	return false;
}

/* Whether the place is the culprit, or one that looks the same; where that is all of the
 * job's, the job. */
static bool names(const struct corpus_truth *t, const struct corpus_event *e, struct diag_part p)
{
	uint32_t hosts = (t->world - 1) / t->ranks_per_host + 1;
	uint32_t all = e->part.level == DIAG_RANK   ? t->world
		       : e->part.level == DIAG_HOST ? hosts
						    : (hosts - 1) / t->hosts_per_leaf + 1;

	if (p.level == DIAG_JOB && e->part.level <= DIAG_LEAF && e->alikes == all && all > 1)
		return true;
	return is_alike(e, p);
}

/* The place holds all ranks of the culprit's, and more. */
static bool covers(const struct corpus_truth *t, const struct corpus_event *e, struct diag_part p)
{
	if (e->part.level == DIAG_JOB)
		return p.level == DIAG_JOB;
	for (uint32_t r = e->first; r <= e->last; r++)
		if (!corpus_is_in(t, p, r))
			return false;
	return true;
}

static uint32_t names_within(const struct corpus_truth *t, const struct corpus_event *e,
			     const struct diag_finding *f, uint32_t most)
{
	for (uint32_t i = 0; i < f->parts && i < most; i++)
		if (names(t, e, f->part[i]))
			return i + 1;
	return 0;
}

static uint32_t ranks_named(const struct corpus_truth *t, const struct diag_finding *f)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < t->world; r++)
		for (uint32_t i = 0; i < f->parts; i++)
			if (corpus_is_in(t, f->part[i], r)) {
				n++;
				break;
			}
	return n;
}

/* --- events --- */

/*
 * What is true of the job whatever its faults: one that packs has uneven micro-batches, routed
 * experts get unequal tokens, some GPU is slower than its like. To say so is no alarm, and is reported
 * of no fault.
 */
static bool is_known(const struct corpus_truth *t, const struct diag_finding *f)
{
	if ((t->packed && f->kind == 15) || (t->routed && f->kind == 17))
		return true;
	for (uint32_t i = 0; i < t->slows; i++)
		if (f->kind && score_class(f->kind) == 0 && f->part[0].level == DIAG_RANK &&
		    f->part[0].index == t->slow[i])
			return true;
	return false;
}

static uint32_t kind_number(enum fault_kind k)
{
	return (uint32_t)strtoul(fault_table[k].code + 1, NULL, 10);
}

static uint32_t gain_bin(const struct corpus_event *e)
{
	return e->stops ? 4 : e->gain < 0.02 ? 0 : e->gain < 0.05 ? 1 : e->gain < 0.2 ? 2 : 3;
}

static int found(struct score *s, const struct corpus_truth *t, const struct corpus_event *e,
		 const struct diag_finding *f)
{
	uint32_t is = kind_number(e->kind);
	int err = list_add(&s->delay_s, (double)(f->t_ns - e->from_ns) / 1e9);

	s->detected++;
	s->by_kind[is][1]++;
	s->by_gain[gain_bin(e)][1]++;
	s->kind += f->kind == is;
	s->class += f->kind && score_class(f->kind) == score_class(is);
	s->confused[score_class(is)][f->kind ? score_class(f->kind) : SCORE_CLASSES]++;
	s->blast += ranks_named(t, f);
	if (!err)
		err = list_add(&s->delay_steps, (double)f->step - e->from + 1);
	if (!err && !e->stops)
		err = list_add(&s->gain_error, fabs(f->gain - e->gain));
	return err;
}

static int score_event(struct score *s, const struct corpus_truth *t, const struct corpus_event *e,
		       const struct score_said *said)
{
	const struct diag_finding *first = NULL, *hit = NULL;

	s->events++;
	s->by_kind[kind_number(e->kind)][0]++;
	s->by_gain[gain_bin(e)][0]++;
	for (uint32_t i = 0; i < said->n; i++) {
		const struct diag_finding *f = &said->f[i];
		bool other = is_known(t, f) && !names_within(t, e, f, DIAG_PARTS);

		if (!f->act || !in_time(e, f))
			continue;
		if (!hit && names_within(t, e, f, DIAG_PARTS))
			hit = f;
		/* What is true of another fault at the same time is not said of this one. */
		for (uint32_t k = 0; k < t->events && !hit; k++)
			other |= &t->event[k] != e && in_time(&t->event[k], f) &&
				 names_within(t, &t->event[k], f, DIAG_PARTS);
		if (!first && !other)
			first = f;
	}
	s->noticed += first || hit;
	s->top1 += first && names_within(t, e, first, 1);
	s->top3 += first && names_within(t, e, first, 3);
	return hit ? found(s, t, e, hit) : 0;
}

/* --- acts --- */

static void score_act(struct score *s, const struct corpus_truth *t, const struct diag_finding *f)
{
	bool right = false, vague = false, small = false, busy = false;
	double sure = f->confidence * SCORE_BINS;
	uint32_t bin = sure >= SCORE_BINS ? SCORE_BINS - 1 : sure > 0 ? (uint32_t)sure : 0;

	for (uint32_t i = 0; i < t->events; i++) {
		const struct corpus_event *e = &t->event[i];

		if (!in_time(e, f) || e->from >= e->end)
			continue;
		busy |= counts(e);
		if (names_within(t, e, f, DIAG_PARTS))
			*(counts(e) ? &right : &small) = true;
		else if (covers(t, e, f->part[0]))
			*(counts(e) ? &vague : &small) = true;
	}
	if (!right && !vague && (small || is_known(t, f)))
		return;
	s->acts++;
	s->right += right;
	s->vague += !right && vague;
	s->victims += !right && !vague && busy;
	s->wrong += !right && !vague && !busy;
	s->sure[bin][0]++;
	s->sure[bin][1] += right;
}

int score_case(struct score *s, const struct corpus_truth *t, const struct score_said *said)
{
	uint32_t wrong = s->wrong, n = t->steps + t->hung;
	bool clean = true;
	int err = 0;

	s->cases++;
	for (uint32_t i = 0; i < t->events && !err; i++)
		if (counts(&t->event[i])) {
			clean = false;
			err = score_event(s, t, &t->event[i], said);
		}
	for (uint32_t i = 0; i < said->n; i++) {
		s->notes += !said->f[i].act;
		if (said->f[i].act)
			score_act(s, t, &said->f[i]);
	}
	if (clean && n) {
		s->clean++;
		s->false_acts += s->wrong - wrong;
		s->clean_days += (double)t->end_ns[n - 1] / 86400e9;
	}
	return err;
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : NAN;
}
double score_recall(const struct score *s)
{
	return ratio(s->detected, s->events);
}
double score_precision(const struct score *s)
{
	return ratio(s->right + s->vague, s->acts);
}
double score_culprit(const struct score *s)
{
	return ratio(s->top1, s->noticed);
}

/* Poisson's upper bound, by Wilson and Hilferty: 3.0 where there was none. */
double score_false_day_most(const struct score *s)
{
	double n = s->false_acts + 1, root = 1 - 1 / (9 * n) + 1.645 / (3 * sqrt(n));

	return ratio(n * root * root * root, s->clean_days);
}

/* --- a contender at work --- */

struct score_run {
	const struct diagnoser *d; /* borrowed */
	void *state;
	struct score_said said;
	double cpu_ns;
	uint32_t step, steps, world;
	int err;
};

int score_run_new(struct score_run **out, const struct diagnoser *d, uint32_t world)
{
	struct score_run *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->d = d;
	r->world = world;
	err = d->open(&r->state, world);
	if (err < 0) {
		free(r);
		return err;
	}
	*out = r;
	return 0;
}

void score_run_free(struct score_run *r)
{
	if (!r)
		return;
	r->d->close(r->state);
	score_said_fini(&r->said);
	free(r);
}

static void hear(void *arg, const struct diag_finding *f)
{
	struct score_run *r = arg;
	struct diag_finding is = *f;

	is.step = r->step;
	if (!r->err)
		r->err = score_said_add(&r->said, &is);
}

int score_run_step(struct score_run *r, const struct step_rec *rec, size_t n)
{
	uint64_t from = clock_thread_ns();
	int err;

	if (n)
		r->step = rec[0].step;
	err = r->d->step(r->state, rec, n, hear, r);
	r->cpu_ns += (double)(clock_thread_ns() - from);
	r->steps++;
	return err ? err : r->err;
}

int score_run_end(struct score_run *r, struct score *s, const struct corpus_truth *t)
{
	for (uint32_t i = 0; i < r->said.n; i++) {
		struct diag_finding *f = &r->said.f[i];

		f->t_ns = f->step < t->steps + t->hung ? t->end_ns[f->step] : 0;
	}
	s->cpu_ns += r->cpu_ns;
	s->steps += r->steps;
	s->rank_steps += (double)r->steps * r->world;
	if (r->steps && r->world >= s->worst_world) {
		s->worst_ns = r->world > s->worst_world || r->cpu_ns / r->steps > s->worst_ns
				      ? r->cpu_ns / r->steps
				      : s->worst_ns;
		s->worst_world = r->world;
	}
	return score_case(s, t, &r->said);
}
