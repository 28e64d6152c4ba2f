/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_sources.h - the sources of rows of GPU time. All need serve.heavy to be held. */
#pragma once

#include "serve/analysis.h"
#include "serve/kernel_rows.h"

/* From loaded events; `ranks`: a row for each rank. */
int fill_events(struct krows *rs, const struct analysis *an, const struct run *run,
		enum insight_by by, bool ranks);
/* From the events of a stretch, or all; rs has its range. */
int fill_insight(struct krows *rs, const struct insight *in, enum insight_by by, bool ranks);
/* After all: quantiles (for a row of one file those of the table), and what limits kernels. */
void fill_rest(struct krows *rs, const struct insight *in, enum insight_by by, bool ranks);
/* From the rollups of all of a run that aon recorded: they outlive events. */
int fill_rollups(struct krows *rs, struct ask *q, bool ranks);
/* From columns of the store, a batch at a time: kernels of any range of a run of any size. */
int fill_columns(struct krows *rs, struct ask *q, bool ranks);

/* Kernels of what q asks for, from the best of these; with j, also says of which range. */
int krows_kernels(struct krows *rs, struct ask *q, struct json *j, bool ranks);
