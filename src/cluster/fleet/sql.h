/* SPDX-License-Identifier: Apache-2.0 */
/* sql.h - builds a question's SQL. Names from outside may be any bytes: sql_text() writes them. */
#pragma once

#include <stdio.h>

struct sql {
	FILE *f; /* owned; NULL: no memory */
	char *text;
	size_t len;
};

void sql_init(struct sql *q);
void sql_fini(struct sql *q);
/* The question, good until sql_fini(); NULL: no memory. */
const char *sql_done(struct sql *q);

void sql_add(struct sql *q, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A literal of any text, quoted. */
void sql_text(struct sql *q, const char *text);
