/* SPDX-License-Identifier: Apache-2.0 */
/* memcg.c - see memcg.h. */
#include "ident/memcg.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"

#define UNLIMITED (1ull << 60) /* version 1 has the largest page number instead of a word */
#define DEPTH     16u

/* The line's path if it is of that kind of cgroup: "4:memory:/path", "0::/path". */
static const char *path_of(const char *line, size_t len, bool v2, size_t *n)
{
	const char *end = line + len, *name = memchr(line, ':', len), *path;
	bool is = v2;

	name = name ? name + 1 : end;
	path = memchr(name, ':', (size_t)(end - name));
	if (!path || path[1] != '/')
		return NULL;
	if (v2 && name != path)
		return NULL;
	for (const char *at = name; !v2 && at < path; at += strcspn(at, ",:") + 1)
		is |= strcspn(at, ",:") == 6 && !memcmp(at, "memory", 6);
	*n = (size_t)(end - path - 1);
	return is ? path + 1 : NULL;
}

static bool find(struct memcg *g, const char *text, const char *mount, bool v2)
{
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n"), n = 0;
		const char *path = path_of(line, len, v2, &n);
		const char *base = v2 ? "" : "/memory";

		if (path && !memmem(path, n, "/..", 3) &&
		    strlen(mount) + strlen(base) + n < MEMCG_DIR - 40) {
			n -= n == 1; /* the root is mount itself */
			g->root = (size_t)snprintf(g->dir, MEMCG_DIR, "%s%s", mount, base);
			snprintf(g->dir + g->root, MEMCG_DIR - g->root, "%.*s", (int)n, path);
			g->v2 = v2;
			return true;
		}
		line += len + (line[len] == '\n');
	}
	return false;
}

bool memcg_find(struct memcg *g, const char *text, const char *mount)
{
	*g = (struct memcg){ 0 };
	return find(g, text, mount, false) || find(g, text, mount, true);
}

static ssize_t read_in(const char *dir, size_t len, const char *name, char *buf, size_t cap)
{
	char path[MEMCG_DIR + 40];

	snprintf(path, sizeof(path), "%.*s/%s", (int)len, dir, name);
	return file_text(AT_FDCWD, path, buf, cap);
}

/* A number of a file; 0: "max", or none. */
static uint64_t number_in(const struct memcg *g, size_t len, const char *name)
{
	char buf[64];
	uint64_t v;

	if (read_in(g->dir, len, name, buf, sizeof(buf)) <= 0)
		return 0;
	v = num_front(buf, NULL);
	return v < UNLIMITED ? v : 0;
}

bool memcg_read(const struct memcg *g, struct memcg_state *out)
{
	const char *limit = g->v2 ? "memory.max" : "memory.limit_in_bytes";
	char buf[1024];
	const char *kills;
	size_t len = strlen(g->dir);

	*out = (struct memcg_state){ 0 };
	if (!len || read_in(g->dir, len, g->v2 ? "memory.events" : "memory.oom_control", buf,
			    sizeof(buf)) <= 0)
		return false;
	kills = strstr(buf, "oom_kill ");
	out->oom_kills = kills ? num_front(kills + strlen("oom_kill "), NULL) : 0;
	out->used = number_in(g, len, g->v2 ? "memory.current" : "memory.usage_in_bytes");
	for (unsigned i = 0; i < DEPTH && len >= g->root; i++) {
		uint64_t v = number_in(g, len, limit);

		if (v && (!out->limit || v < out->limit))
			out->limit = v;
		while (len && g->dir[--len] != '/')
			;
	}
	return true;
}
