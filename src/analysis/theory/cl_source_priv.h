/* SPDX-License-Identifier: Apache-2.0 */
/* cl_source_priv.h - what the files of cl_source.h share: cl_source_token.c words and types, cl_source_expr.c
 * expressions and what they cost, cl_source.c statements and kernels. */
#ifndef AON_THEORY_CL_SOURCE_PRIV_H
#define AON_THEORY_CL_SOURCE_PRIV_H

#include "theory/cl_source.h"

#define SRC_DEPTH     48u /* of what is nested */
#define SRC_TIMES_MAX (1ull << 40)
#define SRC_LOOP(d)   (1u << (8 + (d))) /* in deps: a loop that is open */

enum { SRC_END, SRC_WORD, SRC_NUMBER, SRC_SIGN };             /* kind of a token */
enum { SRC_VALUE, SRC_PRIVATE, SRC_LOCAL_SPACE, SRC_GLOBAL }; /* where a pointer leads */

/* What an expression is. */
struct src_val {
	uint32_t deps;
	uint8_t space, flt, width, bytes; /* space: of a pointer, with what it points to */
	bool konst;
	int64_t v;
};

struct src_base_type {
	const char *name;
	uint8_t bytes, flt;
};

static inline bool src_digit(char c)
{
	return c >= '0' && c <= '9';
}

void src_token(struct cl_text *s); /* the next one */
bool src_is(const struct cl_text *s, const char *text);
bool src_eat(struct cl_text *s, const char *text);
void src_need(struct cl_text *s, const char *text);
void src_skip_pair(struct cl_text *s, const char *open, const char *close);
void src_skip_attributes(struct cl_text *s);
const struct src_base_type *src_base(const struct cl_text *s, uint8_t *width);
bool src_at_type(const struct cl_text *s);
/* Qualifiers, a type, stars: t is what is pointed to. */
void src_type(struct cl_text *s, struct src_val *t, uint8_t *space, uint32_t *stars);

struct src_val src_expr(struct cl_text *s);
struct src_val src_binary(struct cl_text *s, uint32_t level);
struct source_var *src_declare(struct cl_text *s, uint32_t hash, const struct src_val *t,
			       uint8_t space);

#endif /* AON_THEORY_CL_SOURCE_PRIV_H */
