/* SPDX-License-Identifier: Apache-2.0 */
/* url.c - see url.h. Every byte is untrusted. */
#include "serve/http/url.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* UTF-8 without control characters (C0 and C1). */
static bool is_text(const char *s)
{
	uint32_t ucs;
	size_t n;

	for (; *s; s += n) {
		n = utf8_get(s, &ucs);
		if (!n || ucs < 0x20 || (ucs >= 0x7f && ucs < 0xa0))
			return false;
	}
	return true;
}

/* Decodes s in place. */
static int decode(char *s, bool plus)
{
	char *to = s;

	for (const char *from = s; *from; from++) {
		int hi, lo;

		if (*from != '%') {
			*to++ = plus && *from == '+' ? ' ' : *from;
			continue;
		}
		hi = hex(from[1]);
		lo = hi < 0 ? -1 : hex(from[2]);
		if (lo < 0 || !(hi | lo))
			return -EINVAL;
		*to++ = (char)(hi << 4 | lo);
		from += 2;
	}
	*to = '\0';
	return is_text(s) ? 0 : -EINVAL;
}

static int wrong(struct url *u, const char *why)
{
	snprintf(u->why, sizeof(u->why), "%s", why);
	return -EINVAL;
}

/* Decodes each segment on its own, so that an encoded slash is an error. */
static int parse_path(struct url *u, char *path)
{
	char *to = path;

	if (*path != '/')
		return wrong(u, "the target is not a path");
	u->path = path;
	for (char *seg = path + 1; seg;) {
		char *next = strchr(seg, '/');
		size_t len;

		if (next)
			*next++ = '\0';
		if (decode(seg, false) < 0)
			return wrong(u, "the path is not text with whole percent signs");
		if (strchr(seg, '/') || strchr(seg, '\\') || !strcmp(seg, ".") ||
		    !strcmp(seg, ".."))
			return wrong(u, "the path leads elsewhere");
		len = strlen(seg);
		*to++ = '/';
		memmove(to, seg, len);
		to += len;
		seg = next;
	}
	*to = '\0';
	return 0;
}

int url_parse(struct url *u, char *text)
{
	char *query = strchr(text, '?'), *part;

	memset(u, 0, sizeof(*u));
	if (query)
		*query++ = '\0';
	if (parse_path(u, text) < 0)
		return -EINVAL;
	while ((part = strsep(&query, "&"))) {
		struct url_arg *a = &u->arg[u->args];

		if (!*part)
			continue;
		if (u->args == URL_ARGS)
			return wrong(u, "too many parameters");
		a->key = strsep(&part, "=");
		a->value = part ? part : a->key + strlen(a->key);
		if (decode(a->key, true) < 0 || decode(a->value, true) < 0)
			return wrong(u, "the query is not text with whole percent signs");
		if (url_get(u, a->key))
			return wrong(u, "a parameter is given twice");
		u->args++;
	}
	return 0;
}

const char *url_get(const struct url *u, const char *key)
{
	for (size_t i = 0; i < u->args; i++)
		if (!strcmp(u->arg[i].key, key))
			return u->arg[i].value;
	return NULL;
}

/*
 * Parses one "4" or "4-7" of a list. Returns the start of the next item, NULL at the end; *bad:
 * invalid.
 */
static const char *list_item(const char *s, uint64_t *lo, uint64_t *hi, bool *bad)
{
	uint64_t *v[2] = { lo, hi };

	for (int i = 0; i < 2; i++) {
		size_t n = strspn(s, "0123456789");
		char digits[16];

		*bad = !n || n > 9;
		if (*bad)
			return NULL;
		snprintf(digits, sizeof(digits), "%.*s", (int)n, s);
		*v[i] = num_front(digits, NULL);
		s += n;
		if (i == 0 && *s != '-') {
			*hi = *lo;
			break;
		}
		s += i == 0;
	}
	*bad = (*s && *s != ',') || *hi < *lo;
	return *s == ',' && !*bad ? s + 1 : NULL;
}

int url_list(const char *text)
{
	uint64_t lo, hi;
	bool bad = false;

	while (text && !bad)
		text = list_item(text, &lo, &hi, &bad);
	return bad ? -EINVAL : 0;
}

bool url_listed(const char *text, int64_t number)
{
	uint64_t lo, hi;
	bool bad = false;

	if (!text)
		return true;
	while (text && !bad) {
		text = list_item(text, &lo, &hi, &bad);
		if (!bad && number >= 0 && (uint64_t)number >= lo && (uint64_t)number <= hi)
			return true;
	}
	return false;
}
