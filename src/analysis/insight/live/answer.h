/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - the first finding in one sentence, or that nothing stands out. Every screen opens with it. */
#pragma once

#include "insight/find/finding.h"

#define ANSWER_TEXT 480u

struct short_answer {
	char what
		[ANSWER_TEXT]; /* "The step waits for its input: 51.7 ms of 59.9 ms a step (86 %)." */
	char todo[ANSWER_TEXT]; /* what to do, and what that brings; "": nothing */
	const char *sure;       /* "high"; NULL: there is no finding */
	bool known;             /* false: the recording has nothing that tells */
};

void answer_of(struct short_answer *out, const struct insight *in, const struct findings *fs);

/* The account that the answer is of; NULL: of a GPU, or there is none. */
const struct time_account *answer_account(const struct insight *in, const struct findings *fs);

/* "61 % backward pass, 30 % forward pass", the largest first. */
char *answer_parts(const struct time_account *a, char *buf, size_t cap);
