/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stages.h - timelines of a pipeline's stages and replicas as records of steps: Chrome JSON with an
 * event for each pass of a micro-batch, send, receive and collective, as ByteDance's
 * StragglerAnalysis publishes. A process is a replica, a thread "PP rank S, TP rank T, what".
 *
 * Ranks are numbered by stage, replica and place among those that share tensors.
 */
#pragma once

#include "model/step_rec.h"

#define STAGES_EVENTS_MAX (16u << 20)
#define STAGES_RANKS_MAX  65536u

/* Records of one step, of all ranks of which there was anything. */
typedef int stages_step_fn(void *arg, const struct step_rec *rec, size_t n);

/* Whether the text begins like one; what follows may be anything. */
bool stages_is(const char *head, size_t len);
/* *world: of ranks. What fn returned below 0; -EINVAL: it is none, or nothing is in it. */
int stages_read(const char *text, size_t len, uint32_t *world, stages_step_fn *fn, void *arg);
