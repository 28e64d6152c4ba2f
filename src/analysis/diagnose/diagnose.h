/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnose.h - which rank, host or link makes a job slow or hang, from one small record for each
 * rank and step (docs/diagnosis.md). Pure: no clock, file or socket.
 *
 *	diag_new(&d, world);
 *	for each step: diag_step(d, records, n, say, arg);    says what is wrong now, each step anew
 *	diag_free(d);
 *
 * The state takes about 710 bytes per rank, 250 per communicator and 650 KB besides, whatever the
 * number of steps.
 */
#pragma once

#include "model/diagnoser.h"

/* The evidence of a finding. */
enum diag_why {
#define WHY(NAME, word, what) DIAG_WHY_##NAME,
#include "diagnose/why.tbl.h"
	DIAG_WHYS
};
extern const char *const diag_why_word[DIAG_WHYS];

enum diag_drift { DRIFT_STEP, DRIFT_COMPUTE, DRIFT_HOST, DRIFT_INPUT, DRIFT_EXPOSED, DRIFTS };

#define DIAG_CYCLE 8u

/* A finding with its evidence. Times are per step, averaged over the window. */
struct diag_verdict {
	struct diag_finding f;
	enum diag_why why;
	uint32_t since;           /* step in which it was first seen */
	bool always;              /* present from the start: there is no earlier time without it */
	bool again;               /* reported before, and still true */
	bool over;                /* the problem is over: other fields are as last reported */
	uint32_t until;           /* then: step in which it was last seen */
	double seen_ns, usual_ns; /* measured at the place, and at its peers or in its past */
	double step_ns;           /* of the job */
	double noise_ns;          /* the normal variation of such a value */
	double gain_least;        /* lower end of the range whose upper end is f.gain */
	double waits_ns;          /* how long others wait for the place */
	uint32_t ranks, of;       /* ranks that show it, of so many compared */
	float blame;              /* share of the attributed waiting that ends there */
	float coverage;           /* share of the expected records that are there */
	uint64_t comm;            /* communicator of the operation, and its size; 0: none */
	uint32_t members, sequence;
	uint8_t op;
	uint8_t drift;              /* of a drift: what grew most, as enum diag_drift */
	uint32_t cycle[DIAG_CYCLE]; /* of a deadlock: each rank waits for the next */
	uint32_t cycles;
};

typedef void diag_verdict_fn(void *arg, const struct diag_verdict *v);

struct diag;
int diag_new(struct diag **out, uint32_t world);
void diag_free(struct diag *d); /* NULL is allowed */
/* Records of one step, in any order; some may be missing. Borrowed for the call. */
int diag_step(struct diag *d, const struct step_rec *rec, size_t n, diag_verdict_fn *say,
	      void *arg);
/* The number of steps of a recording, before its first: a short one needs a short history. */
void diag_expect(struct diag *d, uint32_t steps);
/* The lowest rank of the place that is known; UINT32_MAX: none. */
uint32_t diag_rank_of(const struct diag *d, struct diag_part p);
/*
 * Ranks to look at more closely: one of the place, a healthy one that does the same, and the one
 * that waits longest. Returns how many of these three there are.
 */
uint32_t diag_three(const struct diag *d, const struct diag_verdict *v, uint32_t rank[3]);
/* How many times longer steps took than with equal work and no bad place: 1 is nothing to gain. */
double diag_slowdown(const struct diag *d);

/* For `aon sim score`, which compares diagnosers. */
extern const struct diagnoser diagnoser_aon;
