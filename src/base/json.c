/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - JSON to a stream; see json.h. */
#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"

static void put_string(FILE *f, const char *s)
{
	uint32_t ucs;
	size_t len;

	putc('"', f);
	while (*s) {
		len = fmt_utf8(s, &ucs);
		if (!len)
			ucs = 0xfffd;
		if (ucs == '"' || ucs == '\\')
			fprintf(f, "\\%c", (int)ucs);
		else if (!len || ucs < 0x20 || (ucs >= 0x7f && ucs < 0xa0)) /* C1: terminals obey */
			fprintf(f, "\\u%04x", ucs);
		else
			fwrite(s, 1, len, f);
		s += len ? len : 1;
	}
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
