/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict_text.h - a verdict in words, in the form of all findings: what it is, the evidence, what
 * it is not, what to do, and the expected gain.
 */
#pragma once

#include "diagnose/diagnose.h"

#define DIAG_TEXT 200u
#define DIAG_SEEN 4u

struct diag_words {
	char title[DIAG_TEXT];
	char seen[DIAG_SEEN][DIAG_TEXT]; /* empty ones are not used */
	char ruled_out[DIAG_TEXT];
	char action[DIAG_TEXT];
	char expect[DIAG_TEXT];
};

void diag_words(struct diag_words *w, const struct diag_verdict *v);

struct json;
/* The evidence, as members of the open object. */
void diag_json(struct json *j, const struct diag_verdict *v);

/* Verdicts of a whole recording: the newest one for each place and kind of evidence. */
struct diag_case {
	struct diag_verdict v;
	uint32_t last; /* step in which it was last seen */
	float most;    /* highest gain */
	bool act;      /* it was actionable at any time */
};
struct diag_cases {
	struct diag_case *c; /* owned */
	size_t n;
	int err;
};
/* A diag_verdict_fn: arg is the cases. */
void diag_cases_hear(void *arg, const struct diag_verdict *v);
/* Actionable ones first, the costliest first. */
void diag_cases_sort(struct diag_cases *c);
void diag_cases_fini(struct diag_cases *c);
