/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnoser.h - the interface of a diagnoser: it gets the records of a job's ranks and reports what is
 * wrong. Data and a table of functions; `aon sim score` compares any number of
 * diagnosers on the same records (docs/sim.md).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/step_rec.h"

#define DIAG_PARTS 8u
#define DIAG_KINDS 31u /* F1 to F30; 0: not known */

enum diag_level {
	DIAG_RANK,  /* a rank: its GPU, process or NIC */
	DIAG_HOST,  /* by step_rec.host */
	DIAG_LEAF,  /* by step_rec.leaf */
	DIAG_STAGE, /* ranks of one role, by the lowest of them */
	DIAG_JOB,   /* no place: the job itself */
	DIAG_LEVELS
};
extern const char *const diag_level_word[DIAG_LEVELS];

struct diag_part {
	uint8_t level;
	uint32_t index; /* of DIAG_JOB 0 */
};

struct diag_finding {
	struct diag_part part[DIAG_PARTS]; /* candidates, the likeliest first */
	uint32_t parts;
	uint8_t kind;     /* 1 to 30 as F1 to F30; 0: not known */
	bool act;         /* actionable; else it is an advisory */
	float gain;       /* share of a step's time that a fix would save, 0 to 1 */
	float confidence; /* 0 to 1 */
	/* Filled in by the receiver: */
	uint32_t step;
	int64_t t_ns; /* from the job's begin */
};

typedef void diag_say_fn(void *arg, const struct diag_finding *f);

struct diagnoser {
	const char *name, *what;
	int (*open)(void **state, uint32_t world);
	/* The records of one step, by rank; some may be missing. If a step never ends, all its
	 * records have STEP_F_PARTIAL. */
	int (*step)(void *state, const struct step_rec *rec, size_t n, diag_say_fn *say, void *arg);
	void (*close)(void *state);
};

/* "rank:3", "job". */
#define DIAG_PART_LEN 24u
char *diag_part_text(char out[DIAG_PART_LEN], struct diag_part p);

static inline bool diag_part_same(struct diag_part a, struct diag_part b)
{
	return a.level == b.level && a.index == b.index;
}
