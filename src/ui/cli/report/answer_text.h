/* SPDX-License-Identifier: Apache-2.0 */
/* answer_text.h - the first finding of some processes of a store, before any table. */
#pragma once

#include "cli/core/out.h"
#include "insight/live/answer.h"
#include "read/procs.h"

struct store;

/* The answer of these processes; false: it could not be had, or there is nothing to say. */
bool answer_load(struct answer *out, struct store *st, const char *path, const struct procs *ps);
/* Prints it: what, then what to do and how sure that is. */
void answer_print(const struct out *out, const struct answer *a);
void answer_first(const struct out *out, struct store *st, const char *path,
		  const struct procs *ps);
