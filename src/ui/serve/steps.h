/* SPDX-License-Identifier: Apache-2.0 */
/* steps.h - the steps of the first process of a run that has some, directly from the store. */
#pragma once

#include "insight/insight.h"
#include "serve/api/api.h"

#define STEPS_KEPT 1000000u /* the newest; older ones are left out */

struct step_row {
	uint64_t number, start_ns, dur_ns;
};

struct step_rows {
	struct step_row *step; /* owned, by their start */
	size_t n;
};

/* Of those that overlap [from_ns, to_ns) (0: no end). */
int steps_read(struct step_rows *out, const struct run *r, uint64_t from_ns, uint64_t to_ns);
/* The same from an analysis, which has looked at them. */
int steps_looked_at(struct step_rows *out, const struct run *r, const struct insight *in);
void steps_fini(struct step_rows *s);

/* A quantile of their durations; 0 if there are none. */
uint64_t steps_quantile(const struct step_rows *s, size_t from, size_t n, double q);
