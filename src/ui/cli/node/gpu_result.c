/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_result.c - see gpu_result.h. */
#include "cli/node/gpu_result.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LINE_MOST 320u

static void join(char to[GPU_TEXT], const char *text)
{
	size_t at = strlen(to);

	snprintf(to + at, GPU_TEXT - at, "%s%s", at ? "; " : "", text);
}

void gpu_result_add(struct gpu_result *r, const char *text)
{
	join(r->text, text);
}

static void put(struct gpu_pair *p, const char *key, const char *value)
{
	snprintf(p->key, sizeof(p->key), "%s", key);
	snprintf(p->value, sizeof(p->value), "%s", value);
}

void gpu_result_set(struct gpu_result *r, const char *key, const char *value)
{
	if (r->sets < GPU_SETS)
		put(&r->set[r->sets++], key, value);
}

static bool take_pair(struct gpu_result *r, bool fact, char *rest)
{
	char *space = strchr(rest, ' ');

	if (!space || space == rest)
		return false;
	*space = '\0';
	if (!fact)
		gpu_result_set(r, rest, space + 1);
	else if (r->facts < GPU_FACTS)
		put(&r->fact[r->facts++], rest, space + 1);
	return true;
}

static bool take_verdict(struct gpu_result *r, const char *word)
{
	static const char *const words[] = { "pass", "fail", "unknown" };

	for (unsigned i = 0; i < 3; i++)
		if (!strcmp(words[i], word)) {
			r->verdict = (enum gpu_verdict)i;
			r->whole = true;
			return true;
		}
	return false;
}

static bool take_line(struct gpu_result *r, char *line)
{
	char *rest = strchr(line, ' ');

	for (const char *s = line; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 127)
			return false;
	if (!rest || r->whole)
		return false;
	*rest++ = '\0';
	if (!strcmp(line, "say"))
		join(r->text, rest);
	else if (!strcmp(line, "fix"))
		join(r->fix, rest);
	else if (!strcmp(line, "fact") || !strcmp(line, "set"))
		return take_pair(r, *line == 'f', rest);
	else
		return !strcmp(line, "result") && take_verdict(r, rest);
	return true;
}

int gpu_result_parse(struct gpu_result *r, const char *text, size_t len)
{
	char line[LINE_MOST];

	memset(r, 0, sizeof(*r));
	r->verdict = GPU_FAIL;
	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;

		if (!end || n >= sizeof(line) || memchr(text, '\0', n))
			return -EINVAL;
		memcpy(line, text, n);
		line[n] = '\0';
		if (!take_line(r, line))
			return -EINVAL;
		text += n + 1;
		len -= n + 1;
	}
	return 0;
}

const char *gpu_result_fact(const struct gpu_result *r, const char *key)
{
	for (unsigned i = 0; i < r->facts; i++)
		if (!strcmp(r->fact[i].key, key))
			return r->fact[i].value;
	return NULL;
}
