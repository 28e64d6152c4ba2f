/* SPDX-License-Identifier: Apache-2.0 */
/* facts.h - a node's properties as sorted pairs of key and value: "kernel/release" is "6.1.0". */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

#define FACTS_MAX  8192u
#define FACT_KEY   128u /* bytes, NUL with them */
#define FACT_VALUE 256u

struct facts {
	struct facts_row {
		char *key, *value; /* owned */
	} * f;                     /* owned */
	size_t n;
};

/* The last value of a word counts. Too long or too many: -EMSGSIZE. */
int facts_set(struct facts *f, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
const char *facts_get(const struct facts *f, const char *key); /* NULL: not known */
bool facts_number(const struct facts *f, const char *key, double *out);
void facts_fini(struct facts *f);

void facts_json(const struct facts *f, struct json *j); /* as "facts" of the object that is open */
/* "facts" of an object of JSON: of a profile, of a report, of a BMC. Any bytes; -EBADMSG: it has none. */
int facts_parse(struct facts *f, const char *text, size_t len);
/* The same of a file; -EFBIG: more than 4 MiB. */
int facts_load(struct facts *f, const char *path);
