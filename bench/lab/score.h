/* SPDX-License-Identifier: Apache-2.0 */
/*
 * score.h - compares the findings of diagnosers with the truth of each case.
 *
 * A fault counts if it costs 1 % or more, or stops the job; an actionable finding about a smaller
 * one is neither right nor wrong. Repeated findings about a place count once, until there was none
 * for a while.
 */
#ifndef AON_LAB_SCORE_H
#define AON_LAB_SCORE_H

#include <stdio.h>

#include "lab/corpus.h"

#define SCORE_GRACE    20u  /* steps behind a fault in which it may still be named */
#define SCORE_SILENCE  32u  /* steps behind which a place may be named anew */
#define SCORE_WORTH    0.01 /* gain from which on a fault counts */
#define SCORE_CLASSES  6u
#define SCORE_BINS     10u   /* of confidence */
#define SCORE_GAINS    5u    /* up to 2, 5, 20 %, more, and what stops the job */
#define SCORE_FINDINGS 4096u /* of one case */

extern const char *const score_class_word[SCORE_CLASSES];
/* Of a kind, 1 to 30: GPU, host, input, link, imbalance, software. */
unsigned score_class(uint32_t kind);

/* What one contender said of one case. */
struct score_said {
	struct diag_finding *f; /* owned */
	uint32_t *last;         /* owned: the step in which it was last said */
	uint32_t n, cap, last_cap;
};
void score_said_fini(struct score_said *s);
int score_said_add(struct score_said *s, const struct diag_finding *f);

struct score_list {
	double *v; /* owned */
	uint32_t n, cap;
};

struct score {
	const char *name, *what;            /* borrowed */
	uint32_t cases, clean;              /* clean: without a fault that counts */
	uint32_t events, detected, noticed; /* that count; named; with any true finding */
	uint32_t top1, top3;                /* of those noticed, by the first finding */
	uint32_t kind, class;               /* of those detected */
	uint32_t acts, right, vague, victims, wrong, notes;
	double false_acts, clean_days;
	double blast; /* ranks that right acts named, beyond the culprit's */
	struct score_list delay_s, delay_steps, gain_error;
	uint32_t by_kind[DIAG_KINDS][2]; /* events that count, and detected */
	uint32_t by_gain[SCORE_GAINS][2];
	uint32_t confused[SCORE_CLASSES][SCORE_CLASSES + 1];
	uint32_t sure[SCORE_BINS][2];     /* by confidence: acts, and right ones */
	double cpu_ns, steps, rank_steps; /* what it took */
	double worst_ns;                  /* of a step, in the mean of the case of most ranks */
	uint32_t worst_world;
};

void score_fini(struct score *s);
int score_case(struct score *s, const struct corpus_truth *t, const struct score_said *said);

double score_recall(const struct score *s);
double score_precision(const struct score *s);
double score_culprit(const struct score *s);
/* False acts a day of jobs without a fault: no more than this, at 95 %. NAN: no such job. */
double score_false_day_most(const struct score *s);
double score_middle(const struct score_list *l, double q); /* NAN of none */

/* Runs a contender over the records of a case as they come. */
struct score_run;
int score_run_new(struct score_run **out, const struct diagnoser *d, uint32_t world);
void score_run_free(struct score_run *r); /* NULL is allowed */
int score_run_step(struct score_run *r, const struct step_rec *rec, size_t n);
/* All findings, with times from the truth; adds what it took to the score. */
int score_run_end(struct score_run *r, struct score *s, const struct corpus_truth *t);

#endif /* AON_LAB_SCORE_H */
