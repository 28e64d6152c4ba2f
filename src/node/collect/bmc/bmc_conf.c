/* SPDX-License-Identifier: Apache-2.0 */
/* bmc_conf.c - the file of BMCs, and the files of their passwords. */
#include "collect/bmc/bmc_conf.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/fmt.h"
#include "base/num.h"

enum type { TEXT, NUM, FLAG };

static const struct row {
	const char *key;
	enum type type;
	size_t at, bytes;
	long def, min, max;
	const char *text;
} rows[] = {
#define BMC_TEXT(key, bytes, def, help) \
	{ #key, TEXT, offsetof(struct bmc_conf, key), bytes, 0, 0, 0, def },
#define BMC_NUM(key, def, min, max, help) \
	{ #key, NUM, offsetof(struct bmc_conf, key), 0, def, min, max, NULL },
#define BMC_FLAG(key, def, help) { #key, FLAG, offsetof(struct bmc_conf, key), 0, def, 0, 0, NULL },
#include "collect/bmc/bmc_conf.tbl.h"
};

static void defaults(struct bmc_conf *c)
{
	memset(c, 0, sizeof(*c));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *field = (char *)c + rows[i].at;

		if (rows[i].type == TEXT)
			snprintf(field, rows[i].bytes, "%s", rows[i].text);
		else if (rows[i].type == NUM)
			memcpy(field, &rows[i].def, sizeof(long));
		else
			*(bool *)field = rows[i].def;
	}
}

static int set(struct bmc_conf *c, const char *where, const char *key, const char *value,
	       struct bmc_why *why)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		char *field = (char *)c + r->at;
		int64_t v;

		if (strcmp(r->key, key))
			continue;
		if (r->type == TEXT) {
			if (strlen(value) >= r->bytes)
				return why_say(why, -EINVAL, "%s: %s: expected at most %zu bytes",
					       where, key, r->bytes - 1);
			snprintf(field, r->bytes, "%s", value);
		} else if (r->type == NUM) {
			if (num_i64(value, r->min, r->max, &v) < 0)
				return why_say(
					why, -EINVAL,
					"%s: %s: expected a number from %ld to %ld, not '%s'",
					where, key, r->min, r->max, value);
			memcpy(field, &v, sizeof(v));
		} else {
			if (strcmp(value, "yes") && strcmp(value, "no"))
				return why_say(why, -EINVAL, "%s: %s: expected yes or no, not '%s'",
					       where, key, value);
			*(bool *)field = !strcmp(value, "yes");
		}
		return 0;
	}
	return why_say(why, -EINVAL, "%s: '%s' is no setting of a BMC. See: man bmc.conf", where,
		       key);
}

/* What no line alone can tell. */
static int check(const struct bmc_conf *c, const char *file, struct bmc_why *why)
{
	static const char *const kinds[] = { "node", "switch", "power", "cooling" };
	bool known = false, tls = !strncmp(c->url, "https://", 8),
	     plain = !strncmp(c->url, "http://", 7);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		known |= !strcmp(c->kind, kinds[i]);
	if (!known)
		return why_say(why, -EINVAL,
			       "%s: [%s]: kind: expected node, switch, power or cooling, not '%s'",
			       file, c->name, c->kind);
	if (!tls && !plain && strncmp(c->url, "ipmi:", 5))
		return why_say(why, -EINVAL,
			       "%s: [%s]: url: expected https://HOST or ipmi://HOST, not '%s'",
			       file, c->name, c->url);
	if (strpbrk(c->url, "@ ?#"))
		return why_say(
			why, -EINVAL,
			"%s: [%s]: url: expected a host alone; who to log in as goes into the "
			"file of login",
			file, c->name);
	if (plain && !c->insecure)
		return why_say(
			why, -EINVAL,
			"%s: [%s]: http:// would show the password to any listener; set insecure "
			"= yes to allow it",
			file, c->name);
	return 0;
}

static char *trim(char *s)
{
	char *end;

	while (isspace((unsigned char)*s))
		s++;
	for (end = s + strlen(s); end > s && isspace((unsigned char)end[-1]); end--)
		;
	*end = '\0';
	return s;
}

struct parse {
	struct bmc_confs got;
	struct bmc_conf base;
	const char *file;
	struct bmc_why *why;
};

static int begin(struct parse *p, const char *where, char *line)
{
	size_t len = strlen(line);
	char *name = line + 1;

	if (len < 3 || line[len - 1] != ']' || len - 2 >= BMC_NAME)
		return why_say(p->why, -EINVAL, "%s: expected [NAME] with up to %u letters", where,
			       BMC_NAME - 1);
	line[len - 1] = '\0';
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			return why_say(p->why, -EINVAL,
				       "%s: a name has letters, digits, '.', '_' and '-' only",
				       where);
	for (size_t i = 0; i < p->got.n; i++)
		if (!strcmp(p->got.bmc[i].name, name))
			return why_say(p->why, -EINVAL, "%s: there is a [%s] already", where, name);
	if (p->got.n == BMC_MAX)
		return why_say(p->why, -EINVAL, "%s: more than %u BMCs", where, BMC_MAX);
	p->got.bmc[p->got.n] = p->base;
	snprintf(p->got.bmc[p->got.n++].name, BMC_NAME, "%s", name);
	return 0;
}

static int line_of(struct parse *p, char *line, size_t number)
{
	char where[300], *key = trim(line), *value = strchr(key, '=');

	snprintf(where, sizeof(where), "%s:%zu", p->file, number);
	if (!*key || *key == '#')
		return 0;
	if (*key == '[')
		return begin(p, where, key);
	if (!value)
		return why_say(p->why, -EINVAL, "%s: expected KEY = VALUE or [NAME]", where);
	*value++ = '\0';
	return set(p->got.n ? &p->got.bmc[p->got.n - 1] : &p->base, where, trim(key), trim(value),
		   p->why);
}

int bmc_conf_parse(struct bmc_confs *out, const char *name, const char *text, size_t len,
		   struct bmc_why *why)
{
	struct parse p = { .file = name, .why = why };
	char *copy = malloc(len + 1), *at, *line;
	size_t number = 0;
	int err = -ENOMEM;

	p.got.bmc = calloc(BMC_MAX, sizeof(*p.got.bmc));
	if (!copy || !p.got.bmc)
		goto out;
	memcpy(copy, text, len);
	copy[len] = '\0';
	defaults(&p.base);
	if (strlen(copy) != len) {
		err = why_say(why, -EINVAL, "%s: expected text, there is a zero byte", name);
		goto out;
	}
	at = copy;
	err = 0;
	while (!err && (line = strsep(&at, "\n")))
		err = line_of(&p, line, ++number);
	for (size_t i = 0; !err && i < p.got.n; i++)
		err = check(&p.got.bmc[i], name, why);
out:
	free(copy);
	if (err) {
		free(p.got.bmc);
		return err;
	}
	*out = p.got;
	return 0;
}

static int read_all(int fd, char *buf, size_t cap, size_t *len)
{
	ssize_t n;

	for (*len = 0; *len < cap; *len += (size_t)n) {
		n = read(fd, buf + *len, cap - *len);
		if (n < 0)
			return -errno;
		if (!n)
			return 0;
	}
	return -EFBIG;
}

int bmc_conf_load(struct bmc_confs *out, const char *path, struct bmc_why *why)
{
	char *text;
	size_t len;
	int err = file_read(&text, &len, path, BMC_CONF_BYTES - 1);

	if (err < 0)
		return why_say(why, err, "%s: %s", path, strerror(-err));
	err = bmc_conf_parse(out, path, text, len, why);
	free(text);
	return err;
}

void bmc_confs_fini(struct bmc_confs *c)
{
	free(c->bmc);
	*c = (struct bmc_confs){ 0 };
}

int bmc_login_read(struct bmc_login *out, const char *path, struct bmc_why *why)
{
	char buf[400], *colon;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	struct bmc_login l = { 0 };
	struct stat st;
	size_t len = 0;

	if (fd < 0 || fstat(fd, &st) < 0) {
		err = why_say(why, -errno, "%s: %s", path, strerror(errno));
		goto out;
	}
	if (!S_ISREG(st.st_mode) || st.st_mode & 077) {
		err = why_say(why, -EPERM, "%s: others may read it: chmod 600 %s", path, path);
		goto out;
	}
	err = read_all(fd, buf, sizeof(buf) - 1, &len);
	buf[len] = '\0';
	while (!err && len && (buf[len - 1] == '\n' || buf[len - 1] == '\r'))
		buf[--len] = '\0';
	colon = strchr(buf, ':');
	if (err || !colon || colon == buf || strlen(buf) != len || strpbrk(buf, "\r\n") ||
	    (size_t)(colon - buf) >= sizeof(l.user) || strlen(colon + 1) >= sizeof(l.password)) {
		err = why_say(why, -EINVAL, "%s: expected one line of USER:PASSWORD", path);
		goto wipe;
	}
	*colon = '\0';
	memcpy(l.user, buf, (size_t)(colon - buf));
	memcpy(l.password, colon + 1, strlen(colon + 1));
	*out = l;
wipe:
	explicit_bzero(buf, sizeof(buf));
	explicit_bzero(&l, sizeof(l));
out:
	if (fd >= 0)
		close(fd);
	return err;
}
