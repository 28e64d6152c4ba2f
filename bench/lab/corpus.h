/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corpus.h - any number of jobs with known faults: each has a layout, faults or none, sizes,
 * courses and noise, all drawn from a seed. The same seed and number give the same case.
 */
#ifndef AON_LAB_CORPUS_H
#define AON_LAB_CORPUS_H

#include "model/diagnoser.h"
#include "sim/engine.h"

#define CORPUS_NAME       32u
#define CORPUS_FAULTS_MAX 3u
#define CORPUS_STEPS      192u

struct corpus_opts {
	uint64_t seed;
	uint64_t layouts;          /* bits of corpus_layout_at(); 0: all that are not held out */
	uint64_t kinds;            /* bits of enum fault_kind; 0: all */
	uint32_t ranks, max_ranks; /* of a case, from and to */
	uint32_t steps;
	double clean;   /* of the cases, without a fault */
	double missing; /* of the records, never there */
	double packed;  /* spread of packed lengths, of all jobs that may pack; 0: as it is drawn */
	const struct gpu *gpu;
};

struct corpus_case {
	char name[CORPUS_NAME]; /* "0007-fsdp64" */
	const char *layout;
	struct job job;
	double missing;
	uint32_t number;
};

void corpus_opts_init(struct corpus_opts *o);
const char *corpus_layout_at(size_t i, const char **what); /* NULL behind the last */
/* -ENOENT: no layout is of so many ranks, or no kind fits any of them. */
int corpus_case(struct corpus_case *out, const struct corpus_opts *o, uint32_t number);

/* --- what is true of a case --- */

struct corpus_event {
	enum fault_kind kind;
	struct diag_part part;   /* whose fault it is */
	uint32_t *alike, alikes; /* owned: of its level, those that no record tells from it */
	uint32_t from, end;      /* first step, and the one behind the last */
	int64_t from_ns, end_ns; /* from the job's begin */
	double by, gain;         /* gain: of the time from `from` to `end`, what it takes */
	enum fault_course course;
	uint32_t first, last; /* ranks */
	bool stops;           /* the job: not a part, but everything is gained */
};

struct corpus_truth {
	char name[CORPUS_NAME];
	uint32_t world, ranks_per_host, hosts_per_leaf, stage_ranks;
	uint32_t steps; /* that ended */
	bool hung;
	bool packed, routed;   /* imbalance that belongs to the job: to say so is not wrong */
	uint32_t *slow, slows; /* owned: ranks that noise makes slower than their like, for good */
	int64_t *end_ns;       /* owned; by step, one more if hung: when that was reported */
	struct corpus_event event[CORPUS_FAULTS_MAX];
	uint32_t events;
};

/* Hears all records of a step, encoded, by rank. */
typedef int corpus_step_fn(void *arg, uint32_t step, const void *data, size_t len);

/* Plays the case, and again without each of its faults. */
int corpus_play(const struct corpus_case *c, corpus_step_fn *fn, void *arg,
		struct corpus_truth *out);
void corpus_truth_fini(struct corpus_truth *t);

struct json;
/* Members of an open object: aon.sim.case/1. */
void corpus_truth_json(struct json *j, const struct corpus_case *c, const struct corpus_truth *t);

/* Whether a rank is of that place. */
bool corpus_is_in(const struct corpus_truth *t, struct diag_part p, uint32_t rank);

#endif /* AON_LAB_CORPUS_H */
