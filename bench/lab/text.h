/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - JSON text in memory, for readers of truths and findings, and what is wrong with it. */
#ifndef AON_LAB_TEXT_H
#define AON_LAB_TEXT_H

#include "import/json_in.h"
#include "lab/folder.h"

struct text {
	char *text, *end; /* owned; behind end are JSON_PAD quotes */
	struct folder_why *why;
};

int text_init(struct text *x, const char *text, size_t len, struct folder_why *why);
void text_fini(struct text *x);
/* -EINVAL */
int text_wrong(const struct text *x, const char *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int text_number(const struct text *x, struct json_tok t, double most, double *out,
		const char *what);
/* "rank:3", "job". False: it is none. */
bool text_place(struct diag_part *out, const char *text, size_t len);
int text_string(const struct text *x, struct json_tok t, char *out, size_t cap, const char *what);

#endif /* AON_LAB_TEXT_H */
