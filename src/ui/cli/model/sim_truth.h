/* SPDX-License-Identifier: Apache-2.0 */
/* sim_truth.h - a simulated run's ground truth: its faults, ranks they hit, their cost. */
#pragma once

#include "sim/job.h"

struct json;

/* Times of a run: when each step ended, from the begin of the first. */
struct sim_times {
	int64_t *end_ns; /* owned */
	uint32_t steps;  /* that ended */
	bool hung;
};

struct sim_truth {
	const struct job *job;
	const char *model;
	struct sim_times run;
	struct sim_times healthy; /* without any fault */
	struct sim_times
		without[JOB_FAULTS_MAX]; /* without this one alone; not there if it is the only */
};

extern const char *const sim_scope_word[];       /* by enum fault_scope */
const char *sim_unit(const struct fault_row *f); /* of `by` */

void sim_truth_free(struct sim_truth *t);

/* Nanoseconds that the fault costs over the steps that both have. */
int64_t sim_truth_cost(const struct sim_truth *t, uint32_t fault);
int64_t sim_times_span(const struct sim_times *t, uint32_t steps);

/* Members of an open object: aon.sim/1. */
void sim_truth_json(struct json *j, const struct sim_truth *t);
