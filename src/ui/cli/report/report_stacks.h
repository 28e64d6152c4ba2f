/* SPDX-License-Identifier: Apache-2.0 */
/* report_stacks.h - where threads were, as text: for aon report --by stack and aon attach. */
#pragma once

#include "cli/core/out.h"
#include "insight/insight.h"
#include "read/procs.h"

#define STACKS_JSON 1000u /* rows and stacks of an answer, at most */

/* "Thread 4711 spends 62 % (+-4) in load_item (dataset.py:42), running." Of too few samples: that. */
char *where_sentence(const struct out *out, const struct insight *in, const struct samples_want *w,
		     char *buf, size_t cap);

/* A row for each function of the program and state, at most `fold`. */
void where_table(const struct out *out, const struct insight *in, const struct samples_want *w,
		 size_t fold);

/* The sentence, what the GPU and the step waited for, the table. */
void where_text(const struct out *out, const struct insight *in, const struct samples_want *w,
		size_t fold);

/* aon report --by stack: what to exit with. */
int report_stacks(const struct opts *o, const struct procs_want *want);
