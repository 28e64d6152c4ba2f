/* SPDX-License-Identifier: Apache-2.0 */
/* answer_text.h - the first finding of some processes of a store, before any table. */
#pragma once

#include "cli/core/out.h"
#include "insight/live/answer.h"
#include "read/procs.h"

struct store;

/* The answer of these processes; false: it could not be had, or there is nothing to say. */
bool answer_load(struct short_answer *out, struct store *st, const char *path,
		 const struct procs *ps);
/* Prints it: what, then what to do and how sure that is. */
void answer_print(const struct out *out, const struct short_answer *a);
/* False: there was nothing to say. */
bool answer_first(const struct out *out, struct store *st, const char *path,
		  const struct procs *ps);
/* The same of the newest run among them, by its name or, without one, its process. */
bool answer_newest(const struct out *out, struct store *st, const char *path,
		   const struct procs *ps);
/* The processes of the newest run. ps has some; free() its .p. */
struct procs answer_newest_run(const struct procs *ps);
/* The processes of `ps` that are of the same run as the i-th. free() its .p. */
struct procs answer_run(const struct procs *ps, size_t i);
