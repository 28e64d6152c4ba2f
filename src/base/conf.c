/* SPDX-License-Identifier: Apache-2.0 */
/* conf.c - parser of settings: any byte may be wrong, and every error names its place. */
#include "base/conf.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"

static const struct conf_alias *former(const struct conf *t, const char *name)
{
	for (const struct conf_alias *a = t->alias; a && a->old; a++)
		if (!strcmp(a->old, name))
			return a;
	return NULL;
}

const struct conf_row *conf_find(const struct conf *t, const char *key)
{
	const struct conf_alias *a = former(t, key);

	key = a ? a->key : key;
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->row[i].key, key))
			return &t->row[i];
	return NULL;
}

static int set_num(const struct conf_row *r, const char *value, int64_t *out, struct conf_why *why)
{
	double v;

	if (!num_i64(value, r->min, r->max, out))
		return 0;
	/* Or with a unit: of MiB, 2GiB is 2048. */
	if (num_unit(value, r->unit, (double)r->min, (double)r->max, &v) < 0 || v != (int64_t)v)
		return conf_say(why,
				"%s: expected a whole number from %lld to %lld%s%s, not '%.60s'",
				r->key, (long long)r->min, (long long)r->max, *r->unit ? " " : "",
				r->unit, value);
	*out = (int64_t)v;
	return 0;
}

/* With a unit, or a number of percent, each of which is `scale` of today's. */
static int set_share(const struct conf_row *r, double scale, const char *value, int64_t *out,
		     struct conf_why *why)
{
	double v, percent;

	if (!num_real(value, 0, 1e9, &percent))
		v = 10 * scale * percent;
	else if (num_unit(value, "1/1000", 0, 1e9, &v) < 0)
		v = -1;
	if (v < (double)r->min || v > (double)r->max || fabs(v - nearbyint(v)) > 1e-6)
		return conf_say(why, "%s: expected %g%% to %g%%, in steps of 0.1%%, not '%.60s'",
				r->key, (double)r->min / 10, (double)r->max / 10, value);
	*out = (int64_t)nearbyint(v);
	return 0;
}

static int set_path(const struct conf_row *r, const char *value, struct conf_path *out,
		    struct conf_why *why)
{
	size_t len = strlen(value);

	if (len > (size_t)r->max)
		return conf_say(why, "%s: expected a path of at most %lld bytes, not %zu", r->key,
				(long long)r->max, len);
	if (len == 0 ? r->min > 0 : value[0] != '/')
		return conf_say(why, "%s: expected an absolute path, not '%.60s'", r->key, value);
	memset(out, 0, sizeof(*out)); /* whole, so that reloads can compare */
	memcpy(out->s, value, len);
	return 0;
}

static int set_text(const struct conf_row *r, const char *value, struct conf_path *out,
		    struct conf_why *why)
{
	size_t len = strlen(value);

	if (len < (size_t)r->min || len > (size_t)r->max)
		return conf_say(why, "%s: expected %s of %lld to %lld bytes, not %zu", r->key,
				*r->unit ? r->unit : "text", (long long)r->min, (long long)r->max,
				len);
	memset(out, 0, sizeof(*out));
	memcpy(out->s, value, len);
	return 0;
}

static int set_word(const struct conf_row *r, const char *value, int64_t *out, struct conf_why *why)
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
	return conf_say(why, "%s: expected one of %s, not '%.60s'", r->key, r->unit, value);
}

const struct conf_row *conf_get(const struct conf *t, const void *p, const char *key,
				char out[CONF_PATH_BYTES])
{
	const struct conf_row *r = conf_find(t, key);
	const void *field = r ? (const char *)p + r->off : NULL;
	const char *word;
	int64_t v;

	*out = '\0';
	if (!r)
		return NULL;
	if (r->type == CONF_PATH || r->type == CONF_TEXT) {
		snprintf(out, CONF_PATH_BYTES, "%s", ((const struct conf_path *)field)->s);
		return r;
	}
	memcpy(&v, field, sizeof(v));
	if (r->type == CONF_NUM) {
		snprintf(out, CONF_PATH_BYTES, "%lld", (long long)v);
		return r;
	}
	if (r->type == CONF_SHARE) {
		snprintf(out, CONF_PATH_BYTES, "%g", (double)v / 10);
		return r;
	}
	for (word = r->unit; v > 0 && *word; v--)
		word += strcspn(word, "|") + (word[strcspn(word, "|")] == '|');
	snprintf(out, CONF_PATH_BYTES, "%.*s", (int)strcspn(word, "|"), word);
	return r;
}

int conf_set(const struct conf *t, void *p, const char *key, const char *value,
	     struct conf_why *why)
{
	const struct conf_row *r = conf_find(t, key);
	const struct conf_alias *a = former(t, key), *word = former(t, value);
	void *field;

	if (!r)
		return conf_say(why, "%.60s: no such setting (%s lists them)", key, t->help);
	field = (char *)p + r->off;
	switch (r->type) {
	case CONF_NUM:
		return set_num(r, value, field, why);
	case CONF_SHARE:
		return set_share(r, a && a->scale > 0 ? a->scale : 1, value, field, why);
	case CONF_PATH:
		return set_path(r, value, field, why);
	case CONF_WORD:
		return set_word(r, word ? word->key : value, field, why);
	case CONF_TEXT:
		return set_text(r, value, field, why);
	}
	return -EINVAL;
}

void conf_defaults(const struct conf *t, void *p)
{
	struct conf_why why;

	memset(p, 0, t->size);
	for (size_t i = 0; i < t->n; i++)
		if (conf_set(t, p, t->row[i].key, t->row[i].def, &why))
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
static int parse_line(const struct conf *t, void *p, char *line, struct conf_why *why)
{
	char *key, *eq;

	line[strcspn(line, "#")] = '\0';
	key = trim(line);
	if (!*key)
		return 0;
	eq = strchr(key, '=');
	if (!eq)
		return conf_say(why, "%.60s: expected 'key = value'", key);
	*eq = '\0';
	return conf_set(t, p, trim(key), trim(eq + 1), why);
}

int conf_parse(const struct conf *t, void *p, const char *name, const char *text, size_t len,
	       struct conf_why *why)
{
	void *next = malloc(t->size);
	struct conf_why one;
	char line[1024];
	unsigned no = 0;
	int err = 0;

	if (!next)
		return -ENOMEM;
	memcpy(next, p, t->size);
	for (const char *at = text, *end = text + len; at < end && !err;) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((nl ? nl : end) - at);

		no++;
		if (n >= sizeof(line)) {
			err = conf_say(why, "%s:%u: expected a line of at most %zu bytes", name, no,
				       sizeof(line) - 1);
		} else if (memchr(at, '\0', n)) {
			err = conf_say(why, "%s:%u: expected text, found a NUL byte", name, no);
		} else {
			memcpy(line, at, n);
			line[n] = '\0';
			if (parse_line(t, next, line, &one))
				err = conf_say(why, "%s:%u: %.400s", name, no, one.text);
		}
		at += n + 1;
	}
	if (!err && t->check && t->check(next, &one))
		err = conf_say(why, "%s: %.400s", name, one.text);
	if (!err)
		memcpy(p, next, t->size);
	free(next);
	return err;
}

int conf_load(const struct conf *t, void *p, const char *path, struct conf_why *why)
{
	char *text;
	size_t len;
	int err = file_regular(&text, &len, AT_FDCWD, path, 0, CONF_FILE_BYTES);

	if (err == -EFBIG)
		return conf_say(why, "%s: expected a file of at most %u bytes", path,
				CONF_FILE_BYTES);
	if (err < 0)
		return why_say(why, err, "%s: %s", path, strerror(-err));
	err = conf_parse(t, p, path, text, len, why);
	free(text);
	return err;
}

int conf_reload(const struct conf *t, void *p, const void *next, conf_key_fn *kept, void *arg)
{
	int changed = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct conf_row *r = &t->row[i];
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

void conf_help(const struct conf *t, FILE *f)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct conf_row *r = &t->row[i];
		bool number = r->type == CONF_NUM || r->type == CONF_SHARE;

		fprintf(f, "  %-17s %s%s%s%s\n", r->key, *r->def ? r->def : "(empty)",
			number && *r->unit ? " " : "", number ? r->unit : "",
			r->live ? "" : "   (at start)");
		fprintf(f, "                    %s\n", r->help);
	}
}
