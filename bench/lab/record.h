/* SPDX-License-Identifier: Apache-2.0 */
/* record.h - a step of a simulated job as the records that its ranks' nodes would ship. */
#ifndef AON_LAB_RECORD_H
#define AON_LAB_RECORD_H

#include "model/step_rec.h"
#include "sim/engine.h"

#define SIM_STALL_NS 10000000000ll /* a job without progress for so long is reported to hang */

struct recorder;

int recorder_new(struct recorder **out, const struct play *p);
void recorder_free(struct recorder *r); /* NULL is allowed */
/* What one rank did in the last step of the play. */
void recorder_rank(struct recorder *r, uint32_t rank, struct step_rec *out);
/* Behind a step and before its ranks: when all were seen last. */
void recorder_step(struct recorder *r);
int64_t recorder_sight(const struct recorder *r); /* of a step that never ends: when */

#endif /* AON_LAB_RECORD_H */
