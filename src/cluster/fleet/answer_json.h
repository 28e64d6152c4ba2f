/* SPDX-License-Identifier: Apache-2.0 */
/* answer_json.h - writes answers into the open JSON object, for aon --json and the API. */
#pragma once

#include "base/json.h"
#include "fleet/question.h"

/* Whether the viewer may read the names of that user's jobs; NULL: of all users' jobs. */
struct fleet_viewer {
	bool (*may)(void *arg, const char *user);
	void *arg;
};
bool fleet_may(const struct fleet_viewer *v, const char *user);

void fleet_overview_json(struct json *j, const struct fleet_overview *o,
			 const struct fleet_viewer *v);
void fleet_report_json(struct json *j, const struct fleet_report *r, const struct fleet_viewer *v);
void fleet_heat_json(struct json *j, const struct fleet_heat *h);
void fleet_steps_json(struct json *j, int32_t rank, const struct fleet_steps *x);
void fleet_changes_json(struct json *j, const struct fleet_changes *cs);
/* Compares b with a: two jobs, or two times of one job. */
void fleet_compare_json(struct json *j, const struct fleet_report *a, const struct fleet_report *b);

/*
 * The kernels whose time per step and rank differs most, b - a; at most `n`. The caller frees it.
 */
struct fleet_pair {
	const struct fleet_kernel *a, *b; /* NULL: not in that report */
	double a_ns, b_ns;                /* per step and rank */
};
struct fleet_pair *fleet_pairs(const struct fleet_report *a, const struct fleet_report *b,
			       size_t *n);

/* The summary of a job in one sentence. */
char *fleet_verdict(char *out, size_t cap, const struct fleet_report *r);
