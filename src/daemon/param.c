/* SPDX-License-Identifier: Apache-2.0 */
/* param.c - the settings' parser: every byte may be wrong, every error names its place. */
#include "daemon/param.h"

#include <errno.h>
#include <stdarg.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIVE  true
#define START false

const struct param_row param_table[] = {
#define PARAM(key, type, def, min, max, unit, live, help) \
	{ #key,                                           \
	  PARAM_##type,                                   \
	  live,                                           \
	  def,                                            \
	  min,                                            \
	  max,                                            \
	  unit,                                           \
	  help,                                           \
	  offsetof(struct param, key),                    \
	  sizeof(((struct param *)0)->key) },
#include "daemon/param.tbl.h"
};
const size_t param_count = sizeof(param_table) / sizeof(param_table[0]);

static int say(struct param_why *why, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int say(struct param_why *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	/* A file may hold any bytes; a terminal is not to see them. */
	for (char *c = why->text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return -EINVAL;
}

static const struct param_row *find(const char *key)
{
	for (size_t i = 0; i < param_count; i++)
		if (!strcmp(param_table[i].key, key))
			return &param_table[i];
	return NULL;
}

static int set_num(const struct param_row *r, const char *value, int64_t *out,
		   struct param_why *why)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(value, &end, 10);
	if (end == value || *end || errno || v < r->min || v > r->max)
		return say(why, "%s: expected a whole number from %lld to %lld%s%s, not '%.60s'",
			   r->key, (long long)r->min, (long long)r->max, *r->unit ? " " : "",
			   r->unit, value);
	*out = v;
	return 0;
}

static int set_path(const struct param_row *r, const char *value, struct param_path *out,
		    struct param_why *why)
{
	size_t len = strlen(value);

	if (len > (size_t)r->max)
		return say(why, "%s: expected a path of at most %lld bytes, not %zu", r->key,
			   (long long)r->max, len);
	if (len == 0 ? r->min > 0 : value[0] != '/')
		return say(why, "%s: expected an absolute path, not '%.60s'", r->key, value);
	memset(out, 0, sizeof(*out)); /* whole, so that reloads can compare */
	memcpy(out->s, value, len);
	return 0;
}

static int set_word(const struct param_row *r, const char *value, int64_t *out,
		    struct param_why *why)
{
	size_t len = strlen(value);
	int64_t i = 0;

	for (const char *w = r->unit; *w; i++) {
		size_t n = strcspn(w, "|");

		if (n == len && !memcmp(w, value, n)) {
			*out = i;
			return 0;
		}
		w += n + (w[n] == '|');
	}
	return say(why, "%s: expected one of %s, not '%.60s'", r->key, r->unit, value);
}

const struct param_row *param_get(const struct param *p, const char *key,
				  char out[PARAM_PATH_BYTES])
{
	const struct param_row *r = find(key);
	const void *field = r ? (const char *)p + r->off : NULL;
	const char *word;
	int64_t v;

	*out = '\0';
	if (!r)
		return NULL;
	if (r->type == PARAM_PATH) {
		snprintf(out, PARAM_PATH_BYTES, "%s", ((const struct param_path *)field)->s);
		return r;
	}
	memcpy(&v, field, sizeof(v));
	if (r->type == PARAM_NUM) {
		snprintf(out, PARAM_PATH_BYTES, "%lld", (long long)v);
		return r;
	}
	for (word = r->unit; v > 0 && *word; v--)
		word += strcspn(word, "|") + (word[strcspn(word, "|")] == '|');
	snprintf(out, PARAM_PATH_BYTES, "%.*s", (int)strcspn(word, "|"), word);
	return r;
}

int param_set(struct param *p, const char *key, const char *value, struct param_why *why)
{
	const struct param_row *r = find(key);
	void *field;

	if (!r)
		return say(why, "%.60s: no such setting (aond --help lists them)", key);
	field = (char *)p + r->off;
	switch (r->type) {
	case PARAM_NUM:
		return set_num(r, value, field, why);
	case PARAM_PATH:
		return set_path(r, value, field, why);
	case PARAM_WORD:
		return set_word(r, value, field, why);
	}
	return -EINVAL;
}

void param_defaults(struct param *p)
{
	struct param_why why;

	memset(p, 0, sizeof(*p));
	for (size_t i = 0; i < param_count; i++)
		if (param_set(p, param_table[i].key, param_table[i].def, &why))
			abort(); /* the table is wrong */
}

static char *trim(char *s)
{
	char *end = s + strlen(s);

	while (*s == ' ' || *s == '\t')
		s++;
	while (end > s && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	*end = '\0';
	return s;
}

/* `key = value`, a comment, or nothing. */
static int parse_line(struct param *p, char *line, struct param_why *why)
{
	char *key, *eq;

	line[strcspn(line, "#")] = '\0';
	key = trim(line);
	if (!*key)
		return 0;
	eq = strchr(key, '=');
	if (!eq)
		return say(why, "%.60s: expected 'key = value'", key);
	*eq = '\0';
	return param_set(p, trim(key), trim(eq + 1), why);
}

int param_parse(struct param *p, const char *name, const char *text, size_t len,
		struct param_why *why)
{
	struct param next = *p;
	struct param_why one;
	char line[1024];
	unsigned no = 0;

	for (const char *at = text, *end = text + len; at < end;) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((nl ? nl : end) - at);

		no++;
		if (n >= sizeof(line))
			return say(why, "%s:%u: expected a line of at most %zu bytes", name, no,
				   sizeof(line) - 1);
		if (memchr(at, '\0', n))
			return say(why, "%s:%u: expected text, found a NUL byte", name, no);
		memcpy(line, at, n);
		line[n] = '\0';
		if (parse_line(&next, line, &one))
			return say(why, "%s:%u: %.400s", name, no, one.text);
		at += n + 1;
	}
	if (param_check(&next, &one))
		return say(why, "%s: %.400s", name, one.text);
	*p = next;
	return 0;
}

int param_load(struct param *p, const char *path, struct param_why *why)
{
	char *text = NULL;
	struct stat st;
	ssize_t n;
	int fd, err;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		err = -errno;
		say(why, "%s: %s", path, strerror(errno));
		return err;
	}
	err = -EINVAL;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > PARAM_FILE_BYTES) {
		say(why, "%s: expected a file of at most %u bytes", path, PARAM_FILE_BYTES);
		goto close_fd;
	}
	text = malloc(PARAM_FILE_BYTES);
	n = text ? read(fd, text, PARAM_FILE_BYTES) : -1;
	if (n < 0)
		say(why, "%s: %s", path, strerror(errno));
	else
		err = param_parse(p, path, text, (size_t)n, why);
	free(text);
close_fd:
	close(fd);
	return err;
}

int param_check(const struct param *p, struct param_why *why)
{
	if (p->chunk_bytes & (p->chunk_bytes - 1))
		return say(why, "chunk_bytes: expected a power of two, not '%lld'",
			   (long long)p->chunk_bytes);
	if (p->pool_small_kib > p->pool_kib)
		return say(why, "pool_small_kib: expected at most pool_kib (%lld), not '%lld'",
			   (long long)p->pool_kib, (long long)p->pool_small_kib);
	if (p->pool_kib + p->pool_kib / 4 > p->pools_mib * 1024)
		return say(why, "pools_mib: expected room for one pool of pool_kib, not '%lld'",
			   (long long)p->pools_mib);
	return 0;
}

int param_reload(struct param *p, const struct param *next, param_key_fn *kept, void *arg)
{
	int changed = 0;

	for (size_t i = 0; i < param_count; i++) {
		const struct param_row *r = &param_table[i];
		void *to = (char *)p + r->off;
		const void *from = (const char *)next + r->off;

		if (!memcmp(to, from, r->size))
			continue;
		if (r->live) {
			memcpy(to, from, r->size);
			changed++;
		} else {
			kept(arg, r->key);
		}
	}
	return changed;
}

void param_help(FILE *f)
{
	for (size_t i = 0; i < param_count; i++) {
		const struct param_row *r = &param_table[i];

		fprintf(f, "  %-17s %s%s%s%s\n", r->key, *r->def ? r->def : "(empty)",
			r->type == PARAM_NUM && *r->unit ? " " : "",
			r->type == PARAM_NUM ? r->unit : "", r->live ? "" : "   (at start)");
		fprintf(f, "                    %s\n", r->help);
	}
}
