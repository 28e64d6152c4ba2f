/* SPDX-License-Identifier: Apache-2.0 */
/* validate.h - holds the models against measured tables: parts print tables and set bars. */
#ifndef AON_VALIDATE_H
#define AON_VALIDATE_H

#include <stddef.h>

/* A part: 0, or -errno if its table cannot be read (-ENOENT: it is not here). */
typedef int part_fn(void);

#define PART(name, what) part_fn validate_##name;
#include "part.tbl.h"

/* A line of a table for people; says nothing where only rows are asked. */
void validate_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A figure of a bar that is an upper limit, in percent: a row of build/bench.json. */
void validate_bar(const char *id, double percent, double bar, const char *note, ...)
	__attribute__((format(printf, 4, 5)));

#endif /* AON_VALIDATE_H */
