/* SPDX-License-Identifier: Apache-2.0 */
/* site.c - see site.h. */
#include "ident/site.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/fmt.h"
#include "ident/word.h"

#define WORD_MAX 256u
#define STARS    9u

struct star {
	const char *from;
	size_t len;
};

struct line {
	const char *at, *end;
	struct site_why *why;
	size_t number;
};

__attribute__((format(printf, 2, 3))) static int wrong(const struct line *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(l->why->text, sizeof(l->why->text), fmt, ap);
	va_end(ap);
	for (char *c = l->why->text; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f)
			*c = '?';
	l->why->line = l->number;
	return -EINVAL;
}

/* The next word of the line, cut off; its length, 0 at the end, or -EINVAL. */
static int next_word(struct line *l, char out[WORD_MAX])
{
	size_t n = 0;

	while (l->at < l->end && (*l->at == ' ' || *l->at == '\t' || *l->at == '\r'))
		l->at++;
	if (l->at < l->end && *l->at == '#')
		l->at = l->end;
	for (; l->at < l->end && *l->at != ' ' && *l->at != '\t' && *l->at != '\r'; l->at++) {
		if (n == WORD_MAX - 1)
			return wrong(l, "a word is longer than %u bytes", WORD_MAX - 1);
		if ((unsigned char)*l->at < ' ' || (unsigned char)*l->at >= 0x7f)
			return wrong(l, "expected plain ASCII");
		out[n++] = *l->at;
	}
	out[n] = '\0';
	return (int)n;
}

/* Each star takes as little as it can; one line is tried in at most length^2 steps. */
static bool fits(const char *pattern, const char *text, struct star star[STARS])
{
	const char *retry = NULL, *from = NULL;
	size_t n = 0, at = 0;

	while (*text) {
		if (*pattern == '*') {
			if (n < STARS)
				star[n] = (struct star){ text, 0 };
			at = n++;
			retry = ++pattern;
			from = text;
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (retry) {
			pattern = retry;
			text = ++from;
			n = at + 1;
			if (at < STARS)
				star[at].len = (size_t)(text - star[at].from);
		} else {
			return false;
		}
	}
	while (*pattern == '*') {
		if (n < STARS)
			star[n] = (struct star){ text, 0 };
		n++;
		pattern++;
	}
	return !*pattern;
}

/* The value, with what the stars took for {1} to {9}. */
static int fill(const struct line *l, char *out, size_t cap, const char *key, const char *value,
		const struct star star[STARS], bool list)
{
	char buf[WORD_MAX];
	size_t n = 0;

	for (const char *p = value; *p; p++) {
		const struct star *s = NULL;

		if (*p == '{') {
			if (p[1] < '1' || p[1] > '9' || p[2] != '}' || !star[p[1] - '1'].from)
				return wrong(l,
					     "%s: {1} to {9} stand for what a * of the host "
					     "took, and that one took nothing",
					     key);
			s = &star[p[1] - '1'];
			p += 2;
		} else if (!ident_char(*p, list)) {
			return wrong(l, "%s: expected letters, digits and . _ : -%s, not '%.40s'",
				     key, list ? " with commas between" : "", value);
		}
		if (n + (s ? s->len : 1) >= sizeof(buf))
			return wrong(l, "%s: too long", key);
		memcpy(buf + n, s ? s->from : p, s ? s->len : 1);
		n += s ? s->len : 1;
	}
	ident_word(out, cap, buf, n, list);
	if (n && !*out)
		return wrong(l, "%s: longer than %zu bytes", key, cap - 1);
	return 0;
}

static int host_line(struct line *l, struct node_ident *n, bool *found)
{
	struct node_ident to = *n;
	const struct {
		const char *key;
		char *to;
		size_t cap;
		bool list;
	} known[] = { { "rack", to.rack, sizeof(to.rack), false },
		      { "leaf", to.leaf, sizeof(to.leaf), false },
		      { "position", to.position, sizeof(to.position), false },
		      { "nics", to.nics, sizeof(to.nics), true } };
	struct star star[STARS] = { 0 };
	char pattern[WORD_MAX], word[WORD_MAX];
	bool mine;
	int len = next_word(l, pattern), err;

	if (len <= 0)
		return len < 0 ? len : wrong(l, "host: expected a pattern of host names");
	mine = fits(pattern, n->host, star);
	for (size_t i = 0, k = 0; !mine && pattern[i]; i++) /* so that values can be checked */
		if (pattern[i] == '*' && k < STARS)
			star[k++] = (struct star){ "x", 1 };
	while ((len = next_word(l, word)) > 0) {
		char *value = strchr(word, '=');
		size_t i = 0;

		if (!value)
			return wrong(l, "expected key=value, not '%.60s'", word);
		*value++ = '\0';
		while (i < sizeof(known) / sizeof(known[0]) && strcmp(known[i].key, word))
			i++;
		if (i == sizeof(known) / sizeof(known[0]))
			return wrong(l, "expected rack, leaf, position or nics, not '%.60s'", word);
		err = fill(l, known[i].to, known[i].cap, word, value, star, known[i].list);
		if (err < 0)
			return err;
	}
	if (len == 0 && mine && !*found) {
		*n = to;
		*found = true;
	}
	return len;
}

static int one_line(struct line *l, struct node_ident *n, bool *found)
{
	char word[WORD_MAX];
	int len = next_word(l, word);

	if (len <= 0)
		return len;
	if (!strcmp(word, "host"))
		return host_line(l, n, found);
	if (strcmp(word, "cluster"))
		return wrong(l,
			     "expected 'cluster NAME' or 'host PATTERN key=value...', not '%.60s'",
			     word);
	len = next_word(l, word);
	if (len <= 0)
		return len < 0 ? len : wrong(l, "cluster: expected a name");
	ident_word(n->cluster, sizeof(n->cluster), word, (size_t)len, false);
	if (!*n->cluster)
		return wrong(l, "cluster: expected up to %zu letters, digits and . _ : -",
			     sizeof(n->cluster) - 1);
	return next_word(l, word) ? wrong(l, "cluster: expected one name") : 0;
}

int site_read(struct node_ident *n, const char *text, size_t len, struct site_why *why)
{
	struct node_ident to = *n;
	const char *end = text + len;
	bool found = false;
	size_t number = 0;
	int err = 0;

	*why = (struct site_why){ 0 };
	while (text < end && !err) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		struct line l = { text, nl ? nl : end, why, ++number };

		err = one_line(&l, &to, &found);
		text = l.end + (nl != NULL);
		if (!nl)
			break;
	}
	if (!err)
		*n = to;
	return err;
}

int site_load(struct node_ident *n, const char *path, struct site_why *why)
{
	char *text;
	size_t len;
	int err = file_regular(&text, &len, AT_FDCWD, path, 0, SITE_BYTES_MAX);

	*why = (struct site_why){ 0 };
	if (err == -EFBIG)
		return why_say(why, -EINVAL, "expected a file of at most %u bytes", SITE_BYTES_MAX);
	if (err < 0)
		return err;
	err = site_read(n, text, len, why);
	free(text);
	return err;
}
