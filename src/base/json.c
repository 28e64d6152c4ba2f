/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - JSON to a stream; see json.h. */
#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

const char *json_escape(const char **text, char room[JSON_ESCAPE], size_t *len)
{
	const char *s = *text;
	uint32_t c;
	size_t n = 0;

	/* What may stay as it is, together. */
	while (s[n] >= ' ' && s[n] < 0x7f && s[n] != '"' && s[n] != '\\')
		n++;
	*len = n;
	*text = s + n;
	if (n || !*s)
		return n ? s : NULL;
	n = utf8_get(s, &c);
	if (!n)
		c = UTF8_BAD;
	*text = s + (n ? n : 1);
	if (c == '"' || c == '\\')
		*len = (size_t)snprintf(room, JSON_ESCAPE, "\\%c", (int)c);
	else if (!n || c < 0xa0) /* C1: terminals obey */
		*len = (size_t)snprintf(room, JSON_ESCAPE, "\\u%04x", c);
	else
		*len = n;
	return n && c >= 0xa0 ? s : room;
}

static void put_string(FILE *f, const char *s)
{
	char room[JSON_ESCAPE];
	const char *piece;
	size_t n;

	putc('"', f);
	while ((piece = json_escape(&s, room, &n)))
		fwrite(piece, 1, n, f);
	putc('"', f);
}

static void lead(struct json *j, const char *key)
{
	if (j->comma[j->depth])
		putc(',', j->f);
	j->comma[j->depth] = true;
	if (key) {
		put_string(j->f, key);
		putc(':', j->f);
	}
}

void json_init(struct json *j, FILE *f)
{
	memset(j, 0, sizeof(*j));
	j->f = f;
}

void json_open(struct json *j, const char *key, char kind)
{
	assert(j->depth < JSON_DEPTH);
	lead(j, key);
	putc(kind, j->f);
	j->depth++;
	j->comma[j->depth] = false;
	j->close[j->depth] = kind == '{' ? '}' : ']';
}

void json_close(struct json *j)
{
	assert(j->depth > 0);
	putc(j->close[j->depth], j->f);
	j->depth--;
}

void json_end(struct json *j)
{
	while (j->depth)
		json_close(j);
	putc('\n', j->f);
	j->comma[0] = false;
}

void json_str(struct json *j, const char *key, const char *s)
{
	lead(j, key);
	if (s)
		put_string(j->f, s);
	else
		fputs("null", j->f);
}

void json_u64(struct json *j, const char *key, uint64_t v)
{
	lead(j, key);
	fprintf(j->f, "%" PRIu64, v);
}

void json_i64(struct json *j, const char *key, int64_t v)
{
	lead(j, key);
	fprintf(j->f, "%" PRId64, v);
}

void json_real(struct json *j, const char *key, double v)
{
	if (!__builtin_isfinite(v)) {
		json_null(j, key);
		return;
	}
	lead(j, key);
	fprintf(j->f, "%.6g", v);
}

void json_double(struct json *j, const char *key, double v)
{
	char text[32];

	if (!__builtin_isfinite(v)) {
		json_null(j, key);
		return;
	}
	lead(j, key);
	snprintf(text, sizeof(text), "%.15g", v);
	if (strtod(text, NULL) != v)
		snprintf(text, sizeof(text), "%.17g", v);
	fputs(text, j->f);
}

void json_bool(struct json *j, const char *key, bool v)
{
	lead(j, key);
	fputs(v ? "true" : "false", j->f);
}

void json_null(struct json *j, const char *key)
{
	lead(j, key);
	fputs("null", j->f);
}

void json_raw(struct json *j, const char *key, const char *text, size_t len)
{
	lead(j, key);
	fwrite(text, 1, len, j->f);
}
