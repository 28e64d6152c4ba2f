/* SPDX-License-Identifier: Apache-2.0 */
/* json_read.c - the less frequent steps of json_read.h, out of line. */
#include "base/json_read.h"

#include "base/file.h"

_Static_assert(FILE_ROOM >= JSON_PAD, "what is read from a file can be read as JSON");

const char *json_comment(const char *p, const char *end)
{
	const char *q;

	if (p + 1 >= end)
		return end;
	if (p[1] == '/') {
		q = memchr(p, '\n', (size_t)(end - p));
		return q ? q : end;
	}
	if (p[1] == '*') {
		q = memmem(p + 2, (size_t)(end - p) - 2, "*/", 2);
		return q ? q + 2 : end;
	}
	return p;
}

const char *json_nested(const char *p, const char *end)
{
	size_t depth = 0;

	for (;;) {
		p = json_bracket(p);
		if (p >= end)
			return end + 1;
		if (*p == '"') {
			p = json_string(p + 1, end);
			if (p > end)
				return p;
			continue;
		}
		depth += (*p | 0x20) == '{' ? 1 : (size_t)-1;
		p++;
		if (!depth)
			return p;
	}
}

static bool word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$';
}

const char *json_key(const char *p, const char *end, struct json_tok *key)
{
	const char *q;

	if (p >= end)
		return end + 1;
	if (*p == '"') {
		q = json_string(p + 1, end);
		if (q > end)
			return q;
		*key = (struct json_tok){ p + 1, (size_t)(q - p) - 2 };
	} else {
		for (q = p; word(*q); q++)
			;
		if (q >= end)
			return end + 1;
		if (q == p)
			return NULL;
		*key = (struct json_tok){ p, (size_t)(q - p) };
	}
	p = json_space(q, end);
	if (p >= end)
		return end + 1;
	return *p == ':' ? json_space(p + 1, end) : NULL;
}

bool json_item(const char **p, const char *end, struct json_tok *value)
{
	const char *q = json_space(*p, end), *r;

	while (q < end && *q == ',')
		q = json_space(q + 1, end);
	if (q >= end || *q == ']' || *q == '}')
		return false;
	r = json_skip(q, end);
	if (!r || r > end)
		return false;
	*value = (struct json_tok){ q, (size_t)(r - q) };
	*p = r;
	return true;
}

bool json_pair(const char **p, const char *end, struct json_tok *key, struct json_tok *value)
{
	const char *q = json_space(*p, end);

	while (q < end && *q == ',')
		q = json_space(q + 1, end);
	if (q >= end || *q == '}')
		return false;
	q = json_key(q, end, key);
	if (!q || q >= end)
		return false;
	*p = q;
	return json_item(p, end, value);
}
