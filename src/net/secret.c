/* SPDX-License-Identifier: Apache-2.0 */
/* secret.c - reads credentials from a file, and refuses one that others can read. */
#include "net/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX 4096u

static int check_fd(int fd, const char *path, struct net_why *why)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return why_say(why, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return why_say(why, -EINVAL, "%s: expected a file", path);
	if (st.st_mode & 077)
		return why_say(why, -EACCES,
			       "%s: others may read it (mode %04o): expected 0600. chmod 600 it",
			       path, (unsigned)st.st_mode & 07777);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return why_say(why, -EACCES, "%s: expected a file of ours, not of user %u", path,
			       (unsigned)st.st_uid);
	return 0;
}

static int open_secret(const char *path, struct net_why *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;

	if (fd < 0)
		return why_say(why, -errno, "%s: %s", path, strerror(errno));
	err = check_fd(fd, path, why);
	if (err)
		close(fd);
	return err ? err : fd;
}

int secret_check(const char *path, struct net_why *why)
{
	int fd = open_secret(path, why);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static char *trim(char *s)
{
	char *end = s + strlen(s);

	while (*s == ' ' || *s == '\t')
		s++;
	while (end > s && strchr(" \t\r\n", end[-1]))
		end--;
	*end = '\0';
	return s;
}

int secret_parse(struct credentials *out, const char *name, char *text, struct net_why *why)
{
	struct credentials c = { 0 };
	unsigned no = 0;

	for (char *line = text; line; no++) {
		char *next = strchr(line, '\n'), *eq, *key, *value, *field;

		if (next)
			*next++ = '\0';
		key = trim(line);
		line = next;
		if (!*key || *key == '#')
			continue;
		eq = strchr(key, '=');
		if (eq)
			*eq = '\0';
		value = eq ? trim(eq + 1) : NULL;
		key = trim(key);
		field = !strcmp(key, "user")       ? c.user
			: !strcmp(key, "password") ? c.password
						   : NULL;
		if (!field || !value || strlen(value) >= SECRET_MAX)
			return why_say(why, -EINVAL,
				       "%s:%u: expected 'user = NAME' or 'password = SECRET'", name,
				       no + 1);
		snprintf(field, SECRET_MAX, "%s", value);
	}
	*out = c;
	return 0;
}

int secret_load(struct credentials *out, const char *path, struct net_why *why)
{
	char text[FILE_MAX + 1];
	int fd = open_secret(path, why), err;
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read(fd, text, sizeof(text));
	if (n < 0)
		err = why_say(why, -errno, "%s: %s", path, strerror(errno));
	else if (n == (ssize_t)sizeof(text) || memchr(text, '\0', (size_t)n))
		err = why_say(why, -EINVAL, "%s: expected text of at most %u bytes", path,
			      FILE_MAX);
	else
		err = (text[n] = '\0', secret_parse(out, path, text, why));
	close(fd);
	explicit_bzero(text, sizeof(text));
	return err;
}

void secret_forget(struct credentials *c)
{
	explicit_bzero(c, sizeof(*c));
}
