/* SPDX-License-Identifier: Apache-2.0 */
/* facts.c - a sorted list of words and values. */
#include "validate/facts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/num.h"
#include "base/order.h"
#include "base/vec.h"

#define FILE_MAX (4u << 20)

static size_t place(const struct facts *f, const char *key)
{
	return first_where(i, 0, f->n, strcmp(f->f[i].key, key) >= 0);
}

static bool is_at(const struct facts *f, size_t at, const char *key)
{
	return at < f->n && !strcmp(f->f[at].key, key);
}

static int put(struct facts *f, const char *key, const char *value)
{
	size_t at = place(f, key);
	char *v, *k;

	if (is_at(f, at, key)) {
		v = strdup(value);
		if (!v)
			return -ENOMEM;
		free(f->f[at].value);
		f->f[at].value = v;
		return 0;
	}
	if (f->n == FACTS_MAX)
		return -EMSGSIZE;
	if (vec_more(&f->f, f->n, sizeof(*f->f)) < 0)
		return -ENOMEM;
	k = strdup(key);
	v = strdup(value);
	if (!k || !v) {
		free(k);
		free(v);
		return -ENOMEM;
	}
	memmove(&f->f[at + 1], &f->f[at], (f->n - at) * sizeof(*f->f));
	f->f[at] = (struct facts_row){ k, v };
	f->n++;
	return 0;
}

int facts_set(struct facts *f, const char *key, const char *fmt, ...)
{
	char value[FACT_VALUE];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(value) || strlen(key) >= FACT_KEY || !*key)
		return -EMSGSIZE;
	return put(f, key, value);
}

const char *facts_get(const struct facts *f, const char *key)
{
	size_t at = place(f, key);

	return is_at(f, at, key) ? f->f[at].value : NULL;
}

bool facts_number(const struct facts *f, const char *key, double *out)
{
	const char *text = facts_get(f, key);
	const char *end;
	double v;

	if (!text || !*text)
		return false;
	v = num_front_real(text, &end);
	if (*end)
		return false;
	*out = v;
	return true;
}

void facts_fini(struct facts *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->f[i].key);
		free(f->f[i].value);
	}
	free(f->f);
	*f = (struct facts){ 0 };
}

void facts_json(const struct facts *f, struct json *j)
{
	json_open(j, "facts", '{');
	for (size_t i = 0; i < f->n; i++)
		json_str(j, f->f[i].key, f->f[i].value);
	json_close(j);
}

static void take(struct facts *f, struct json_tok object)
{
	const char *p = object.s + 1, *end = object.s + object.len;
	char k[FACT_KEY], v[FACT_VALUE];
	struct json_tok key, value;

	while (json_pair(&p, end, &key, &value)) {
		struct json_tok text = json_tok_text(value);

		if (*value.s == '{' || *value.s == '[' || key.len >= sizeof(k) ||
		    text.len >= sizeof(v))
			continue;
		k[json_tok_unescape(k, sizeof(k) - 1, key)] = '\0';
		v[json_tok_unescape(v, sizeof(v) - 1, text)] = '\0';
		facts_set(f, k, "%s", v);
	}
}

int facts_parse(struct facts *f, const char *text, size_t len)
{
	char *copy = malloc(len + JSON_PAD);
	const char *p, *q, *end;
	struct json_tok key, value;
	int err = -EBADMSG;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	memset(copy + len, '"', JSON_PAD);
	end = copy + len;
	p = json_space(copy, end);
	q = p < end && *p == '{' ? json_skip(p, end) : NULL;
	if (q && q <= end)
		for (p++; err && json_pair(&p, end, &key, &value);)
			if (json_tok_is(key, "facts") && *value.s == '{') {
				take(f, value);
				err = 0;
			}
	free(copy);
	return err;
}

int facts_load(struct facts *f, const char *path)
{
	FILE *in = fopen(path, "re");
	char *text;
	size_t n;
	int err;

	if (!in)
		return -errno;
	text = malloc(FILE_MAX);
	n = text ? fread(text, 1, FILE_MAX, in) : 0;
	err = !text           ? -ENOMEM
	      : ferror(in)    ? -EIO
	      : n == FILE_MAX ? -EFBIG
			      : facts_parse(f, text, n);
	fclose(in);
	free(text);
	return err;
}
