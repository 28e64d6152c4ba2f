/* SPDX-License-Identifier: Apache-2.0 */
/* diagnose.h - a recording that aon diagnose has read, and the command's output. */
#pragma once

#include "base/json.h"
#include "cli/core/cli.h"
#include "diagnose/verdict_text.h"

/* One recording: counted first, then diagnosed. */
struct recording {
	const char *path;             /* a file, or a job of a cluster */
	uint32_t world, steps, ranks; /* ranks: most in a step */
	uint64_t records;
	double step_ns; /* in the mean */
	struct diag *d; /* NULL: it is being counted */
	struct diag_cases cases;
};

/* Sorts and tells it; `j` NULL: text. */
void recording_say(const struct opts *o, struct recording *r, struct json *j);
void recording_fini(struct recording *r);

/* aon diagnose --cluster: once, or as a service. */
int diagnose_cluster(const struct opts *o, struct json *j);
int diagnose_follow(const struct opts *o);
