/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.h - the inputs of a score, from files: truths and records as `aon sim corpus` writes them,
 * and findings of a diagnoser that is not part of aon, which are untrusted.
 *
 *	{"case":"0007-fsdp64","step":131,"component":["rank:3","host:0"],"kind":"F1","gain":0.12,
 *	 "confidence":0.9,"act":true}                     a line; kind null: not known
 */
#ifndef AON_LAB_FOLDER_H
#define AON_LAB_FOLDER_H

#include "lab/score.h"

#define FOLDER_TEXT_MAX (64u << 20) /* of a truth, or of findings */

struct folder_why {
	size_t line; /* 0: of the file as a whole */
	char text[200];
};

/* -EINVAL and why: it is no truth. */
int folder_truth(struct corpus_truth *out, const char *text, size_t len, struct folder_why *why);

struct folder_line {
	char name[CORPUS_NAME]; /* of the case */
	struct diag_finding f;
};
struct folder_lines {
	struct folder_line *line; /* owned */
	size_t n, cap;
};
int folder_lines(struct folder_lines *out, const char *text, size_t len, struct folder_why *why);
void folder_lines_fini(struct folder_lines *l);

#endif /* AON_LAB_FOLDER_H */
