/* SPDX-License-Identifier: Apache-2.0 */
/* sql.h - builds a question's SQL. Names from outside may be any bytes: sql_text() writes them. */
#pragma once

#include <stdio.h>

struct sql {
	FILE *f; /* owned; NULL: out of memory */
	char *text;
	size_t len;
};

void sql_init(struct sql *q);
void sql_fini(struct sql *q);
/* The text of the query, valid until sql_fini(); NULL: out of memory. */
const char *sql_done(struct sql *q);

void sql_add(struct sql *q, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Any text as a quoted literal. */
void sql_text(struct sql *q, const char *text);
