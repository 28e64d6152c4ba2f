/* SPDX-License-Identifier: Apache-2.0 */
/* sim_corpus.h - aon sim corpus and aon sim score. */
#ifndef AON_CLI_SIM_CORPUS_H
#define AON_CLI_SIM_CORPUS_H

#include "cli/core/cli.h"
#include "sim/corpus.h"

int sim_corpus(const struct opts *o);
int sim_score(const struct opts *o);

/* What --seed, --cases, --ranks, --layouts, --kinds, --steps and --missing ask for. */
int sim_corpus_given(const struct opts *o, struct corpus_opts *c, uint32_t *cases);

#define SIM_STEPS_NAME ".steps"      /* records of a case, one behind the other */
#define SIM_TRUTH_NAME ".truth.json" /* and what is true of it */

#endif /* AON_CLI_SIM_CORPUS_H */
