/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_sources.h - fills tables of GPU time from events, rollups or columns. Callers hold
 * serve.heavy.
 */
#pragma once

#include "serve/analysis.h"
#include "serve/kernel_rows.h"

/* From loaded events; `ranks`: one row for each rank. */
int fill_events(struct krows *rs, const struct analysis *an, const struct run *run,
		enum insight_by by, bool ranks);
/* From the events of a stretch, or of everything. The range is already in rs. */
int fill_insight(struct krows *rs, const struct insight *in, enum insight_by by, bool ranks);
/* To be called last: sets the quantiles and the limit of each kernel. */
void fill_rest(struct krows *rs, const struct insight *in, enum insight_by by, bool ranks);
/* From the rollups of a recorded run, which outlive its events. */
int fill_rollups(struct krows *rs, struct ask *q, bool ranks);
/* From columns of the store, a batch at a time: any range of a run of any size. */
int fill_columns(struct krows *rs, struct ask *q, bool ranks);

/* Kernels of the requested range, from the best of these sources. With j, also writes the range. */
int krows_kernels(struct krows *rs, struct ask *q, struct json *j, bool ranks);
