/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - JSON to a stream; see json.h. */
#include "base/json.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"

#define PIECE 64u /* of a text at a time */

static void flush(struct json *j)
{
	fwrite_unlocked(j->buf, 1, j->used, j->f);
	j->used = 0;
}

/* Where the next n bytes go; n is small. */
static char *room(struct json *j, size_t n)
{
	if (j->used + n > sizeof(j->buf))
		flush(j);
	return j->buf + j->used;
}

static void put(struct json *j, char c)
{
	*room(j, 1) = c;
	j->used++;
}

static bool is_plain(char c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

/* The character at s, which is not plain; returns where the next one is. */
static const char *put_odd(struct json *j, const char *s)
{
	char *at = room(j, 8);
	uint32_t c;
	size_t n = utf8_get(s, &c);

	if (!n)
		c = UTF8_BAD;
	if (c == '"' || c == '\\')
		j->used += (size_t)snprintf(at, 8, "\\%c", (int)c);
	else if (!n || c < 0xa0) /* C1: terminals obey */
		j->used += (size_t)snprintf(at, 8, "\\u%04x", c);
	else
		j->used += (size_t)((char *)mempcpy(at, s, n) - at);
	return s + (n ? n : 1);
}

/* The text in quotes, and `then` behind it. */
static void put_string(struct json *j, const char *s, char then)
{
	char *at = room(j, PIECE), *end = at + PIECE - 3;

	*at++ = '"';
	for (;;) {
		while (is_plain(*s) && at < end)
			*at++ = *s++;
		j->used = (size_t)(at - j->buf);
		if (!*s)
			break;
		if (!is_plain(*s))
			s = put_odd(j, s);
		at = room(j, PIECE);
		end = at + PIECE - 3;
	}
	*at++ = '"';
	if (then)
		*at++ = then;
	j->used = (size_t)(at - j->buf);
}

static void lead(struct json *j, const char *key)
{
	if (j->comma[j->depth])
		put(j, ',');
	j->comma[j->depth] = true;
	if (key)
		put_string(j, key, ':');
}

/* What is whole goes out, so that the stream may be used otherwise. */
static void done(struct json *j)
{
	if (!j->depth)
		flush(j);
}

void json_init(struct json *j, FILE *f)
{
	memset(j, 0, offsetof(struct json, buf));
	j->f = f;
}

void json_begin(struct json *j, FILE *f, const char *schema)
{
	json_init(j, f);
	json_open(j, NULL, '{');
	json_str(j, "schema", schema);
}

void json_open(struct json *j, const char *key, char kind)
{
	assert(j->depth < JSON_DEPTH);
	lead(j, key);
	put(j, kind);
	j->depth++;
	j->comma[j->depth] = false;
	j->close[j->depth] = kind == '{' ? '}' : ']';
}

void json_close(struct json *j)
{
	assert(j->depth > 0);
	put(j, j->close[j->depth]);
	j->depth--;
	done(j);
}

void json_line(struct json *j)
{
	if (j->comma[j->depth])
		put(j, ',');
	put(j, '\n');
	j->comma[j->depth] = false;
}

void json_end(struct json *j)
{
	while (j->depth)
		json_close(j);
	putc_unlocked('\n', j->f);
	j->comma[0] = false;
}

void json_str(struct json *j, const char *key, const char *s)
{
	if (!s) {
		json_null(j, key);
		return;
	}
	lead(j, key);
	put_string(j, s, 0);
	done(j);
}

static void put_token(struct json *j, const char *key, const char *text, size_t n)
{
	lead(j, key);
	memcpy(room(j, n), text, n);
	j->used += n;
	done(j);
}

void json_token(struct json *j, const char *key, const char *text)
{
	put_token(j, key, text, strlen(text));
}

void json_u64(struct json *j, const char *key, uint64_t v)
{
	char text[NUM_LEN], *at = num_text(text, v);

	put_token(j, key, at, (size_t)(text + NUM_LEN - 1 - at));
}

void json_i64(struct json *j, const char *key, int64_t v)
{
	char text[1 + NUM_LEN], *at = num_text(text + 1, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);

	if (v < 0)
		*--at = '-';
	put_token(j, key, at, (size_t)(text + NUM_LEN - at));
}

void json_real(struct json *j, const char *key, double v)
{
	char text[32];

	if (!__builtin_isfinite(v)) {
		json_null(j, key);
		return;
	}
	snprintf(text, sizeof(text), "%.6g", v);
	json_token(j, key, text);
}

void json_double(struct json *j, const char *key, double v)
{
	char text[32];

	if (!__builtin_isfinite(v)) {
		json_null(j, key);
		return;
	}
	snprintf(text, sizeof(text), "%.15g", v);
	if (strtod(text, NULL) != v)
		snprintf(text, sizeof(text), "%.17g", v);
	json_token(j, key, text);
}

void json_bool(struct json *j, const char *key, bool v)
{
	json_token(j, key, v ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
	json_token(j, key, "null");
}

void json_maybe(struct json *j, const char *key, bool is, int64_t v)
{
	if (is)
		json_i64(j, key, v);
	else
		json_null(j, key);
}

void json_raw(struct json *j, const char *key, const char *text, size_t len)
{
	lead(j, key);
	flush(j);
	fwrite(text, 1, len, j->f);
}

void json_put(struct json *j, const struct json_member *m)
{
	for (; m->kind; m++) {
		if (m->kind == JSON_STR)
			json_str(j, m->key, m->s);
		else if (m->kind == JSON_U64)
			json_u64(j, m->key, m->u);
		else if (m->kind == JSON_I64)
			json_i64(j, m->key, m->i);
		else if (m->kind == JSON_REAL)
			json_real(j, m->key, m->d);
		else if (m->kind == JSON_DOUBLE)
			json_double(j, m->key, m->d);
		else if (m->kind == JSON_BOOL)
			json_bool(j, m->key, m->b);
		else
			json_null(j, m->key);
	}
}
