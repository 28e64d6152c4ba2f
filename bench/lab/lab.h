/* SPDX-License-Identifier: Apache-2.0 */
/* lab.h - aon-lab, a tool for developers: its options, its commands, its error message. */
#ifndef AON_LAB_H
#define AON_LAB_H

#include <stdint.h>

#include "lab/corpus.h"

enum lab_exit { LAB_OK, LAB_FAIL, LAB_USAGE, LAB_UNSURE };

enum lab_opt {
#define OPT(ID, letter, name, arg, help) LAB_##ID,
#include "lab/lab.tbl.h"
	LAB_OPTS,
};

struct lab_opts {
	const char *val[LAB_OPTS]; /* NULL: not given */
	int argc;                  /* operands */
	char **argv;
};

int lab_corpus(const struct lab_opts *o);
int lab_score(const struct lab_opts *o);

/* What --seed, --cases, --ranks, --layouts, --kinds, --steps and --missing ask for. */
int lab_corpus_given(const struct lab_opts *o, struct corpus_opts *c, uint32_t *cases);

/* The number given for `id`; *out is untouched if none was. LAB_OK, or LAB_USAGE after a message. */
int lab_number(const struct lab_opts *o, enum lab_opt id, double lo, double hi, double *out);
int lab_u32(const struct lab_opts *o, enum lab_opt id, uint32_t *out);

/* "aon-lab: <text>" on stderr. Returns `code`. */
int lab_say(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Shows on a terminal how far it is; `of` cases are all. */
void lab_progress(const char *name, uint32_t done, uint32_t of);

#define LAB_STEPS_NAME ".steps"      /* records of a case, one behind the other */
#define LAB_TRUTH_NAME ".truth.json" /* and the truth about it */

#endif /* AON_LAB_H */
