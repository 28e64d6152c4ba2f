/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis_job.h - one analysis in the background: a thread reads a large run completely; a request
 * waits for it for a while, then uses a part until it is ready.
 */
#pragma once

#include "serve/analysis.h"

struct coming;

int coming_new(struct coming **out);
void coming_free(struct coming *c); /* ends what is under way; NULL is allowed */

/* Fills an analysis of which is known what was asked for; `part` is of that. On the thread. */
typedef int coming_fn(struct analysis *an, const struct run *r, const struct store_filter *part);

/*
 * *an becomes the analysis for the same request, owned by the caller. If there is none, it is begun
 * with fn. -EAGAIN: not ready within `wait_ns`; others: it failed.
 */
int coming_get(struct coming *c, struct analysis **an, const struct run *r,
	       const struct store_filter *part, uint64_t wait_ns, coming_fn *fn);
/* Whether what is asked for is still being read. */
bool coming_is(struct coming *c, const struct analysis *want);
