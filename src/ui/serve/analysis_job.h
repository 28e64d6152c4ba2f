/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis_job.h - one analysis in the background: a thread reads a large run completely; a request
 * waits for it for a while, then uses a part until it is ready.
 */
#pragma once

#include "serve/analysis.h"

struct analysis_job;

int analysis_job_new(struct analysis_job **out);
void analysis_job_free(struct analysis_job *c); /* ends what is under way; NULL is allowed */

/* Fills an analysis of which is known what was asked for; `part` is of that. On the thread. */
typedef int analysis_job_fn(struct analysis *an, const struct run *r,
			    const struct store_filter *part);

/*
 * *an becomes the analysis for the same request, owned by the caller. If there is none, it is begun
 * with fn. -EAGAIN: not ready within `wait_ns`; others: it failed.
 */
int analysis_job_get(struct analysis_job *c, struct analysis **an, const struct run *r,
		     const struct store_filter *part, uint64_t wait_ns, analysis_job_fn *fn);
/* Whether what is asked for is still being read. */
bool analysis_job_runs(struct analysis_job *c, const struct analysis *want);
