/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.h - the steps of a run, directly from the store. They are those of the first process that
 * has steps.
 */
#pragma once

#include "insight/insight.h"
#include "serve/api/api.h"

#define STEPS_KEPT 1000000u /* the newest steps; older ones are dropped */

struct step_row {
	uint64_t number, start_ns, dur_ns;
};

struct step_rows {
	struct step_row *step; /* owned, sorted by start */
	size_t n;
};

/* The steps that overlap [from_ns, to_ns) (to_ns 0: no end). */
int steps_read(struct step_rows *out, const struct run *r, uint64_t from_ns, uint64_t to_ns);
/* The same from an analysis, which has the steps already. */
int steps_looked_at(struct step_rows *out, const struct run *r, const struct insight *in);
void steps_fini(struct step_rows *s);

/* A quantile of the durations of n steps; 0 if there are none. */
uint64_t steps_quantile(const struct step_rows *s, size_t from, size_t n, double q);
