/* SPDX-License-Identifier: Apache-2.0 */
/* cl_source_token.c - words, numbers, signs and types of OpenCL C, see cl_source.h. */
#include <string.h>

#include "base/hash.h"
#include "theory/cl_source_priv.h"

/* --- tokens --- */

static uint32_t hash_of(const char *p, size_t n)
{
	return (uint32_t)fnv_bytes(FNV_BASIS, p, n);
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void skip_space(struct cl_text *s)
{
	while (s->at < s->end) {
		const char *p = s->at;

		if (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r') {
			s->at++;
		} else if (s->end - p > 1 && p[0] == '/' && p[1] == '/') {
			while (s->at < s->end && *s->at != '\n')
				s->at++;
		} else if (s->end - p > 1 && p[0] == '/' && p[1] == '*') {
			const char *e = memmem(p + 2, (size_t)(s->end - p - 2), "*/", 2);

			s->at = e ? e + 2 : s->end;
		} else if (*p == '#') {
			/* What macros make of a text is not known. */
			if (s->end - p < 8 || memcmp(p, "#pragma ", 8) != 0)
				s->bad = true;
			while (s->at < s->end && *s->at != '\n')
				s->at++;
		} else {
			return;
		}
	}
}

static void number(struct cl_text *s)
{
	int base = s->end - s->at > 1 && s->at[0] == '0' && (s->at[1] | 32) == 'x' ? 16 : 10;
	uint64_t v = 0;
	bool flt = false;

	s->kind = CL_SRC_NUMBER;
	for (s->at += base == 16 ? 2 : 0; s->at < s->end; s->at++) {
		char c = *s->at, low = (char)(c | 32);
		int d = cl_digit(c) ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : 99;

		if (d < base)
			v = v * (uint64_t)base + (uint64_t)d;
		else if (c == '.' || (base == 10 && low == 'e') || (base == 16 && low == 'p'))
			flt = true;
		else if ((c == '+' || c == '-') && flt &&
			 (s->at[-1] | 32) == (base == 16 ? 'p' : 'e'))
			continue;
		else if (base == 10 && low == 'f')
			flt = true;
		else if (!is_letter(c) && !cl_digit(c))
			break;
	}
	s->number = flt ? 0 : (int64_t)v;
	s->number_flt = flt;
}

void cl_token(struct cl_text *s)
{
	static const char two[][3] = { "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--",
				       "+=", "-=", "*=", "/=", "|=", "&=", "^=", "->", "%=" };

	skip_space(s);
	s->word = s->at;
	s->len = 0;
	s->kind = CL_SRC_END;
	if (s->at >= s->end || ++s->tokens > CL_SOURCE_TOKENS) {
		s->at = s->end;
		return;
	}
	if (is_letter(*s->at)) {
		s->kind = CL_SRC_WORD;
		while (s->at < s->end && (is_letter(*s->at) || cl_digit(*s->at)))
			s->at++;
	} else if (cl_digit(*s->at) ||
		   (*s->at == '.' && s->end - s->at > 1 && cl_digit(s->at[1]))) {
		number(s);
	} else {
		s->kind = CL_SRC_SIGN;
		s->at++;
		for (size_t i = 0; s->at < s->end && i < sizeof(two) / sizeof(two[0]); i++)
			if (!memcmp(s->word, two[i], 2)) {
				s->at++;
				break;
			}
	}
	s->len = (uint32_t)(s->at - s->word);
	s->hash = hash_of(s->word, s->len);
}

bool cl_is(const struct cl_text *s, const char *text)
{
	return s->kind != CL_SRC_END && s->len == strlen(text) && !memcmp(s->word, text, s->len);
}

bool cl_eat(struct cl_text *s, const char *text)
{
	if (!cl_is(s, text))
		return false;
	cl_token(s);
	return true;
}

void cl_need(struct cl_text *s, const char *text)
{
	if (!cl_eat(s, text))
		s->bad = true;
}

/* From an opening sign behind its closing one. */
void cl_skip_pair(struct cl_text *s, const char *open, const char *close)
{
	uint32_t depth = 0;

	do {
		if (cl_is(s, open))
			depth++;
		else if (cl_is(s, close))
			depth--;
		cl_token(s);
	} while (depth && s->kind != CL_SRC_END);
}

void cl_skip_attributes(struct cl_text *s)
{
	while (cl_is(s, "__attribute__")) {
		cl_token(s);
		cl_skip_pair(s, "(", ")");
	}
}

/* --- types --- */

static const struct cl_base_type bases[] = {
	{ "float", 4, 1 }, { "half", 2, 1 },   { "double", 8, 1 },   { "int", 4, 0 },
	{ "uint", 4, 0 },  { "bool", 1, 0 },   { "char", 1, 0 },     { "uchar", 1, 0 },
	{ "short", 2, 0 }, { "ushort", 2, 0 }, { "long", 8, 0 },     { "ulong", 8, 0 },
	{ "void", 0, 0 },  { "size_t", 8, 0 }, { "unsigned", 4, 0 }, { "signed", 4, 0 },
};

const struct cl_base_type *cl_base(const struct cl_text *s, uint8_t *width)
{
	uint32_t n = s->len, w = 0, ten = 1;

	while (n && cl_digit(s->word[n - 1])) {
		w += ten * (uint32_t)(s->word[--n] - '0');
		ten *= 10;
		if (ten > 100)
			return NULL;
	}
	*width = (uint8_t)(w ? w : 1);
	for (size_t i = 0; s->kind == CL_SRC_WORD && i < sizeof(bases) / sizeof(bases[0]); i++)
		if (strlen(bases[i].name) == n && !memcmp(bases[i].name, s->word, n))
			return &bases[i];
	return NULL;
}

static bool qualifier(struct cl_text *s, uint8_t *space)
{
	if (cl_is(s, "__global") || cl_is(s, "global"))
		*space = CL_SRC_GLOBAL;
	else if (cl_is(s, "__constant") || cl_is(s, "constant"))
		*space = CL_SRC_GLOBAL;
	else if (cl_is(s, "__local") || cl_is(s, "local"))
		*space = CL_SRC_LOCAL_SPACE;
	else if (!cl_is(s, "const") && !cl_is(s, "volatile") && !cl_is(s, "restrict") &&
		 !cl_is(s, "__restrict") && !cl_is(s, "__private") && !cl_is(s, "private") &&
		 !cl_is(s, "static") && !cl_is(s, "__restrict__"))
		return false;
	cl_token(s);
	return true;
}

bool cl_at_type(const struct cl_text *s)
{
	struct cl_text peek = { .word = s->word, .len = s->len, .kind = s->kind };
	uint8_t w, space;

	peek.at = peek.end = s->word + s->len; /* cl_token() stops there */
	return cl_base(s, &w) || qualifier(&peek, &space);
}

/* Qualifiers, a type, stars: t is what is pointed to. *pointer: stars. */
void cl_type(struct cl_text *s, struct cl_val *t, uint8_t *space, uint32_t *pointer)
{
	const struct cl_base_type *b = NULL, *more;
	uint8_t w = 1;

	*t = (struct cl_val){ .width = 1, .bytes = 4 };
	*space = CL_SRC_PRIVATE;
	*pointer = 0;
	for (;;) {
		cl_skip_attributes(s);
		if (qualifier(s, space))
			continue;
		more = cl_base(s, &w);
		if (!more)
			break;
		if (!b || more->bytes != 4) { /* unsigned long */
			t->width = w;
			t->bytes = more->bytes;
			t->flt = more->flt;
		}
		b = more;
		cl_token(s);
	}
	for (; cl_eat(s, "*"); (*pointer)++)
		while (qualifier(s, space))
			;
	while (qualifier(s, space))
		;
	if (!b || *pointer > 1)
		s->bad = true;
}
