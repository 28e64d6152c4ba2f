/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_read.h - the basic steps of reading JSON text, without a tree in memory.
 *
 * JSON_PAD quotes follow the text. Each step takes a pointer into the text and returns the one
 * behind what it read. Every loop stops at a quote at the latest, so no step checks for the end:
 *
 *	NULL    this is not JSON
 *	> end   the text ended first
 *
 * It accepts more than the standard: comments, NaN, keys without quotes, extra or missing commas,
 * any bytes in strings. Skipped parts are not checked: only brackets are counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define JSON_PAD 64u

/* A token: with its quotes if it is a string. */
struct json_tok {
	const char *s;
	size_t len;
};

/* The text of a string without quotes; anything else unchanged. */
struct json_tok json_tok_text(struct json_tok t);
/* Writes the text unescaped, at most cap bytes; bad escapes stay as they are. */
size_t json_tok_unescape(char *out, size_t cap, struct json_tok text);
/* A whole number: also in quotes, also 0x. False: not a number, or it does not fit. */
bool json_tok_i64(struct json_tok t, int64_t *out);
/* A number times 10^scale, rounded: 12.5 with scale 3 is 12500. */
bool json_tok_scaled(struct json_tok t, int scale, int64_t *out);
bool json_tok_real(struct json_tok t, double *out);
bool json_tok_is(struct json_tok text, const char *word);

/* --- steps --- */

/* Finds the next quote or backslash. */
static inline const char *json_quote(const char *p)
{
#ifdef __SSE2__
	const __m128i q = _mm_set1_epi8('"'), b = _mm_set1_epi8('\\');

	for (;; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		int m = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(v, q), _mm_cmpeq_epi8(v, b)));

		if (m)
			return p + __builtin_ctz((unsigned)m);
	}
#else
	/* A byte is zero where it matches; the lowest match is exact. */
	const uint64_t ones = 0x0101010101010101ull, high = ones << 7;

	for (;; p += 8) {
		uint64_t v, q, b, m;

		memcpy(&v, p, 8);
		q = v ^ ones * '"';
		b = v ^ ones * '\\';
		m = ((q - ones) & ~q & high) | ((b - ones) & ~b & high);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		if (m)
			while (*p != '"' && *p != '\\')
				p++;
#else
		if (m)
			p += __builtin_ctzll(m) / 8;
#endif
		if (m)
			return p;
	}
#endif
}

/* At a quote, a bracket or a brace. */
static inline const char *json_bracket(const char *p)
{
#ifdef __SSE2__
	const __m128i q = _mm_set1_epi8('"'), o = _mm_set1_epi8('{'), c = _mm_set1_epi8('}'),
		      fold = _mm_set1_epi8(0x20);

	for (;; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i f = _mm_or_si128(v, fold); /* [ and ] become { and } */
		int m = _mm_movemask_epi8(
			_mm_or_si128(_mm_cmpeq_epi8(v, q),
				     _mm_or_si128(_mm_cmpeq_epi8(f, o), _mm_cmpeq_epi8(f, c))));

		if (m)
			return p + __builtin_ctz((unsigned)m);
	}
#else
	while (*p != '"' && (*p | 0x20) != '{' && (*p | 0x20) != '}')
		p++;
	return p;
#endif
}

/* Behind the string whose first byte after its quote is at p. */
static inline const char *json_string(const char *p, const char *end)
{
	for (;;) {
		p = json_quote(p);
		if (*p == '"')
			return p + 1;
		p += 2;
		if (p > end)
			return p;
	}
}

/* Behind the comment at p; p itself if it is none; end if it does not end in the window. */
const char *json_comment(const char *p, const char *end);

static inline const char *json_space(const char *p, const char *end)
{
	for (;;) {
		const char *q;

		while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')
			p++;
		if (*p != '/' || p >= end)
			return p;
		q = json_comment(p, end);
		if (q == p)
			return p;
		p = q;
	}
}

const char *json_nested(const char *p, const char *end);

/* Behind any value. */
static inline const char *json_skip(const char *p, const char *end)
{
	const char *q = p;

	if (p >= end)
		return end + 1;
	if (*p == '"')
		return json_string(p + 1, end);
	if (*p == '{' || *p == '[')
		return json_nested(p, end);
	while (*q != ',' && *q != '}' && *q != ']' && *q != '"' && (unsigned char)*q > ' ')
		q++;
	if (q >= end)
		return end + 1;
	return q == p ? NULL : q;
}

/* Behind a key and its colon, at the value. `key` gets the key without quotes. */
const char *json_key(const char *p, const char *end, struct json_tok *key);

/*
 * Pairs of an object (p behind its brace) or values of an array (behind its bracket) that is
 * whole in the window: false at its end, or where it is not JSON.
 */
bool json_pair(const char **p, const char *end, struct json_tok *key, struct json_tok *value);
bool json_item(const char **p, const char *end, struct json_tok *value);
