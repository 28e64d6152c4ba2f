/* SPDX-License-Identifier: Apache-2.0 */
/* export_to.h - a trace into a file of a format that other tools read. */
#ifndef AON_EXPORT_TO_H
#define AON_EXPORT_TO_H

#include "cli/cli.h"

struct trace;

/* Whether `to` (NULL: standard output) tells a format, or --format does. CLI_OK, or an exit status
 * after it said why not. */
int export_check(const struct opts *o, const char *to);

/* Writes a sealed trace there, and says so; `schema` is for --json. CLI_OK, or as above. */
int export_write(const struct opts *o, const char *to, const char *schema, const struct trace *t);

#endif /* AON_EXPORT_TO_H */
