/* SPDX-License-Identifier: Apache-2.0 */
/* json_tok.c - numbers and texts from tokens. Numbers are read digit by digit: a double would lose nanoseconds. */
#include <stdlib.h>

#include "base/json_read.h"
#include "base/utf8.h"

struct json_tok json_tok_text(struct json_tok t)
{
	if (t.len >= 2 && t.s[0] == '"')
		return (struct json_tok){ t.s + 1, t.len - 2 };
	return t;
}

bool json_tok_is(struct json_tok text, const char *w)
{
	return strlen(w) == text.len && !memcmp(text.s, w, text.len);
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool hex4(const char *s, const char *end, uint32_t *out)
{
	uint32_t v = 0;

	if (end - s < 6 || s[0] != '\\' || s[1] != 'u')
		return false;
	for (int i = 2; i < 6; i++) {
		if (hex(s[i]) < 0)
			return false;
		v = v << 4 | (uint32_t)hex(s[i]);
	}
	*out = v;
	return true;
}

/* Decodes the escape at s. Returns how many bytes of text it took; 0: not an escape. */
static size_t escape(const char *s, const char *end, char out[4], size_t *len)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	uint32_t c, low;
	size_t took = 6;
	const char *at;

	if (end - s < 2)
		return 0;
	at = s[1] ? strchr(from, s[1]) : NULL;
	if (at) {
		out[0] = to[at - from];
		*len = 1;
		return 2;
	}
	if (!hex4(s, end, &c))
		return 0;
	if (c >= 0xd800 && c < 0xdc00 && hex4(s + 6, end, &low) && low >= 0xdc00 && low < 0xe000) {
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		took = 12;
	}
	*len = utf8_put(out, c); /* U+FFFD for half of a pair */
	return took;
}

size_t json_tok_unescape(char *out, size_t cap, struct json_tok text)
{
	const char *s = text.s, *end = s + text.len;
	size_t n = 0;

	while (s < end && n < cap) {
		char c[4];
		size_t len, took = *s == '\\' ? escape(s, end, c, &len) : 0;

		if (!took) {
			out[n++] = *s++;
			continue;
		}
		if (n + len > cap)
			break;
		memcpy(out + n, c, len);
		n += len;
		s += took;
	}
	return n;
}

bool json_tok_scaled(struct json_tok t, int scale, int64_t *out)
{
	static const uint64_t ten[] = { 1,      10,      100,      1000,      10000,
					100000, 1000000, 10000000, 100000000, 1000000000 };
	const char *s, *end;
	bool minus, any = false, point = false;
	int64_t exp = scale;
	uint64_t m = 0;
	unsigned digit;

	t = json_tok_text(t);
	s = t.s;
	end = s + t.len;
	minus = s < end && *s == '-';
	s += minus || (s < end && *s == '+');
	for (; s < end; s++) {
		digit = (unsigned char)*s - '0';
		if (digit > 9) {
			if (*s != '.' || point)
				break;
			point = true;
			continue;
		}
		any = true;
		if (m < UINT64_MAX / 10 - 1) {
			m = m * 10 + digit;
			exp -= point;
		} else {
			exp += !point; /* digits that no longer count */
		}
	}
	if (any && s < end && (*s | 0x20) == 'e') {
		bool down = ++s < end && *s == '-';
		int64_t e = 0;

		s += down || (s < end && *s == '+');
		for (; s < end && (digit = (unsigned char)*s - '0') <= 9; s++)
			e = e < 10000 ? e * 10 + digit : e;
		exp += down ? -e : e;
	}
	if (!any || s != end)
		return false;
	if (exp < -40)
		m = 0;
	for (; exp < -9 && m; exp += 9)
		m /= ten[9];
	if (exp < 0 && m)
		m = (m + ten[-exp] / 2) / ten[-exp];
	for (; exp > 0 && m; exp--)
		if (__builtin_mul_overflow(m, 10, &m))
			return false;
	if (m > INT64_MAX)
		return false;
	*out = minus ? -(int64_t)m : (int64_t)m;
	return true;
}

bool json_tok_i64(struct json_tok t, int64_t *out)
{
	struct json_tok x = json_tok_text(t);
	uint64_t v = 0;

	if (x.len < 3 || x.len > 18 || x.s[0] != '0' || (x.s[1] | 0x20) != 'x')
		return json_tok_scaled(t, 0, out);
	for (size_t i = 2; i < x.len; i++) {
		if (hex(x.s[i]) < 0)
			return false;
		v = v << 4 | (uint64_t)hex(x.s[i]);
	}
	*out = (int64_t)v;
	return true;
}

bool json_tok_real(struct json_tok t, double *out)
{
	struct json_tok x = json_tok_text(t);
	char text[64], *end;

	if (!x.len || x.len >= sizeof(text))
		return false;
	memcpy(text, x.s, x.len);
	text[x.len] = '\0';
	*out = strtod(text, &end);
	return end != text && !*end;
}
