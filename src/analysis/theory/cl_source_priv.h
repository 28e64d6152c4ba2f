/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cl_source_priv.h - shared by the files behind cl_source.h: cl_source_token.c words and types,
 * cl_source_expr.c expressions and their cost, cl_source.c statements and kernels.
 */
#pragma once

#include "theory/cl_source.h"

#define CL_SRC_DEPTH     48u /* of what is nested */
#define CL_SRC_TIMES_MAX (1ull << 40)
#define CL_SRC_LOOP(d)   (1u << (8 + (d))) /* in deps: a loop that is open */

enum { CL_SRC_END, CL_SRC_WORD, CL_SRC_NUMBER, CL_SRC_SIGN }; /* kind of a token */
enum {
	CL_SRC_VALUE,
	CL_SRC_PRIVATE,
	CL_SRC_LOCAL_SPACE,
	CL_SRC_GLOBAL
}; /* where a pointer leads */

/* What an expression is. */
struct cl_val {
	uint32_t deps;
	uint8_t space, flt, width, bytes; /* space: of a pointer, with what it points to */
	bool konst;
	int64_t v;
};

struct cl_base_type {
	const char *name;
	uint8_t bytes, flt;
};

static inline bool cl_digit(char c)
{
	return c >= '0' && c <= '9';
}

void cl_token(struct cl_text *s); /* the next one */
bool cl_is(const struct cl_text *s, const char *text);
bool cl_eat(struct cl_text *s, const char *text);
void cl_need(struct cl_text *s, const char *text);
void cl_skip_pair(struct cl_text *s, const char *open, const char *close);
void cl_skip_attributes(struct cl_text *s);
const struct cl_base_type *cl_base(const struct cl_text *s, uint8_t *width);
bool cl_at_type(const struct cl_text *s);
/* Qualifiers, a type, stars: t is what is pointed to. */
void cl_type(struct cl_text *s, struct cl_val *t, uint8_t *space, uint32_t *stars);

struct cl_val cl_expr(struct cl_text *s);
struct cl_val cl_binary(struct cl_text *s, uint32_t level);
struct cl_var *cl_declare(struct cl_text *s, uint32_t hash, const struct cl_val *t, uint8_t space);
