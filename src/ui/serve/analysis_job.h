/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis_job.h - one analysis in the background: a thread reads a large run completely; a request
 * waits for it for a while, then uses a part until it is ready.
 */
#pragma once

#include "serve/analysis.h"

struct analysis_job;

int analysis_job_new(struct analysis_job **out);
void analysis_job_free(struct analysis_job *c); /* waits for the thread; NULL is allowed */

/* Fills `an`, whose request is set; `part` selects the events. Called on the thread. */
typedef int analysis_job_fn(struct analysis *an, const struct run *r,
			    const struct store_filter *part);

/*
 * Replaces *an by the complete analysis of the same request, owned by the caller. Starts one with
 * fn if none is under way. -EAGAIN: not ready within `wait_ns`; other errors: it failed.
 */
int analysis_job_get(struct analysis_job *c, struct analysis **an, const struct run *r,
		     const struct store_filter *part, uint64_t wait_ns, analysis_job_fn *fn);
/* Whether the request is still being read. */
bool analysis_job_runs(struct analysis_job *c, const struct analysis *want);
