/* SPDX-License-Identifier: Apache-2.0 */
/* export_to.h - exports a trace into a file. */
#pragma once

#include <stdbool.h>

#include "cli/core/cli.h"

struct json;
struct trace;

/* Writes a command's own fields into the object. */
typedef void export_more_fn(void *arg, struct json *j);

/* Whether `to` (NULL: standard output) tells a format, or --format does. CLI_OK, or an exit status
 * after an error message. */
int export_check(const struct opts *o, const char *to);

/* Whether one file holds one rank alone: for several, `to` must be a folder. */
bool export_is_single(const struct opts *o, const char *to);

/* Writes a sealed trace there, and says so; `schema` and `more` (NULL: nothing) are for --json.
 * CLI_OK, or as above. */
int export_write(const struct opts *o, const char *to, const char *schema, const struct trace *t,
		 export_more_fn *more, void *arg);

/* Step records are not a trace: whether they are requested, and writing their file. */
bool export_wants_steps(const struct opts *o, const char *to);
int export_steps(const struct opts *o, const char *to);
