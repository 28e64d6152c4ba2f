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

	s->kind = SRC_NUMBER;
	for (s->at += base == 16 ? 2 : 0; s->at < s->end; s->at++) {
		char c = *s->at, low = (char)(c | 32);
		int d = src_digit(c) ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : 99;

		if (d < base)
			v = v * (uint64_t)base + (uint64_t)d;
		else if (c == '.' || (base == 10 && low == 'e') || (base == 16 && low == 'p'))
			flt = true;
		else if ((c == '+' || c == '-') && flt &&
			 (s->at[-1] | 32) == (base == 16 ? 'p' : 'e'))
			continue;
		else if (base == 10 && low == 'f')
			flt = true;
		else if (!is_letter(c) && !src_digit(c))
			break;
	}
	s->number = flt ? 0 : (int64_t)v;
	s->number_flt = flt;
}

void src_token(struct cl_text *s)
{
	static const char two[][3] = { "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--",
				       "+=", "-=", "*=", "/=", "|=", "&=", "^=", "->", "%=" };

	skip_space(s);
	s->word = s->at;
	s->len = 0;
	s->kind = SRC_END;
	if (s->at >= s->end || ++s->tokens > SOURCE_TOKENS) {
		s->at = s->end;
		return;
	}
	if (is_letter(*s->at)) {
		s->kind = SRC_WORD;
		while (s->at < s->end && (is_letter(*s->at) || src_digit(*s->at)))
			s->at++;
	} else if (src_digit(*s->at) ||
		   (*s->at == '.' && s->end - s->at > 1 && src_digit(s->at[1]))) {
		number(s);
	} else {
		s->kind = SRC_SIGN;
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

bool src_is(const struct cl_text *s, const char *text)
{
	return s->kind != SRC_END && s->len == strlen(text) && !memcmp(s->word, text, s->len);
}

bool src_eat(struct cl_text *s, const char *text)
{
	if (!src_is(s, text))
		return false;
	src_token(s);
	return true;
}

void src_need(struct cl_text *s, const char *text)
{
	if (!src_eat(s, text))
		s->bad = true;
}

/* From an opening sign behind its closing one. */
void src_skip_pair(struct cl_text *s, const char *open, const char *close)
{
	uint32_t depth = 0;

	do {
		if (src_is(s, open))
			depth++;
		else if (src_is(s, close))
			depth--;
		src_token(s);
	} while (depth && s->kind != SRC_END);
}

void src_skip_attributes(struct cl_text *s)
{
	while (src_is(s, "__attribute__")) {
		src_token(s);
		src_skip_pair(s, "(", ")");
	}
}

/* --- types --- */

static const struct src_base_type bases[] = {
	{ "float", 4, 1 }, { "half", 2, 1 },   { "double", 8, 1 },   { "int", 4, 0 },
	{ "uint", 4, 0 },  { "bool", 1, 0 },   { "char", 1, 0 },     { "uchar", 1, 0 },
	{ "short", 2, 0 }, { "ushort", 2, 0 }, { "long", 8, 0 },     { "ulong", 8, 0 },
	{ "void", 0, 0 },  { "size_t", 8, 0 }, { "unsigned", 4, 0 }, { "signed", 4, 0 },
};

const struct src_base_type *src_base(const struct cl_text *s, uint8_t *width)
{
	uint32_t n = s->len, w = 0, ten = 1;

	while (n && src_digit(s->word[n - 1])) {
		w += ten * (uint32_t)(s->word[--n] - '0');
		ten *= 10;
		if (ten > 100)
			return NULL;
	}
	*width = (uint8_t)(w ? w : 1);
	for (size_t i = 0; s->kind == SRC_WORD && i < sizeof(bases) / sizeof(bases[0]); i++)
		if (strlen(bases[i].name) == n && !memcmp(bases[i].name, s->word, n))
			return &bases[i];
	return NULL;
}

static bool qualifier(struct cl_text *s, uint8_t *space)
{
	if (src_is(s, "__global") || src_is(s, "global"))
		*space = SRC_GLOBAL;
	else if (src_is(s, "__constant") || src_is(s, "constant"))
		*space = SRC_GLOBAL;
	else if (src_is(s, "__local") || src_is(s, "local"))
		*space = SRC_LOCAL_SPACE;
	else if (!src_is(s, "const") && !src_is(s, "volatile") && !src_is(s, "restrict") &&
		 !src_is(s, "__restrict") && !src_is(s, "__private") && !src_is(s, "private") &&
		 !src_is(s, "static") && !src_is(s, "__restrict__"))
		return false;
	src_token(s);
	return true;
}

bool src_at_type(const struct cl_text *s)
{
	struct cl_text peek = { .word = s->word, .len = s->len, .kind = s->kind };
	uint8_t w, space;

	peek.at = peek.end = s->word + s->len; /* src_token() stops there */
	return src_base(s, &w) || qualifier(&peek, &space);
}

/* Qualifiers, a type, stars: t is what is pointed to. *pointer: stars. */
void src_type(struct cl_text *s, struct src_val *t, uint8_t *space, uint32_t *pointer)
{
	const struct src_base_type *b = NULL, *more;
	uint8_t w = 1;

	*t = (struct src_val){ .width = 1, .bytes = 4 };
	*space = SRC_PRIVATE;
	*pointer = 0;
	for (;;) {
		src_skip_attributes(s);
		if (qualifier(s, space))
			continue;
		more = src_base(s, &w);
		if (!more)
			break;
		if (!b || more->bytes != 4) { /* unsigned long */
			t->width = w;
			t->bytes = more->bytes;
			t->flt = more->flt;
		}
		b = more;
		src_token(s);
	}
	for (; src_eat(s, "*"); (*pointer)++)
		while (qualifier(s, space))
			;
	while (qualifier(s, space))
		;
	if (!b || *pointer > 1)
		s->bad = true;
}
