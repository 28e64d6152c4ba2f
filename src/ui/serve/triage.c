/* SPDX-License-Identifier: Apache-2.0 */
/*
 * triage.c - see triage.h. A line has six fields, separated by tabs: time, user, run, finding,
 * state, reason.
 */
#include "serve/triage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "base/vec.h"

#define FIELDS 6

int triage_key_ok(const char *key)
{
	size_t n = strspn(key, "abcdefghijklmnopqrstuvwxyz_");

	return n && key[n] == ':' && strlen(key) < TRIAGE_KEY &&
	       strspn(key + n, ":-0123456789") == strlen(key + n);
}

static int known_state(const char *text, size_t len)
{
	const char *w = TRIAGE_STATES;

	for (;; w++) {
		size_t n = strcspn(w, "|");

		if (n == len && !strncmp(w, text, n))
			return 1;
		w += n;
		if (!*w)
			return 0;
	}
}

static int take(char *to, size_t cap, const char *from, size_t len)
{
	if (len >= cap || memchr(from, '\0', len))
		return -EINVAL;
	memcpy(to, from, len);
	to[len] = '\0';
	return 0;
}

static int number(const char *from, size_t len, uint64_t *out)
{
	char text[21];

	return take(text, sizeof(text), from, len) < 0 || strlen(text) != len
		       ? -EINVAL
		       : num_u64(text, 0, UINT64_MAX, out);
}

static int parse_line(struct triage *t, const char *line, size_t len)
{
	const char *field[FIELDS], *end = line + len;
	size_t size[FIELDS];
	uint64_t uid;

	for (int i = 0; i < FIELDS; i++) {
		const char *tab = i + 1 < FIELDS ? memchr(line, '\t', (size_t)(end - line)) : end;

		if (!tab)
			return -EINVAL;
		field[i] = line;
		size[i] = (size_t)(tab - line);
		line = tab + 1;
	}
	if (number(field[0], size[0], &t->at_s) < 0 || number(field[1], size[1], &uid) < 0 ||
	    uid > UINT32_MAX || take(t->run, sizeof(t->run), field[2], size[2]) < 0 ||
	    take(t->key, sizeof(t->key), field[3], size[3]) < 0 || !triage_key_ok(t->key) ||
	    !known_state(field[4], size[4]) ||
	    take(t->state, sizeof(t->state), field[4], size[4]) < 0 ||
	    take(t->note, sizeof(t->note), field[5], size[5]) < 0)
		return -EINVAL;
	t->uid = (uint32_t)uid;
	return 0;
}

static int keep(struct triages *ts, const struct triage *t)
{
	for (size_t i = 0; i < ts->n; i++)
		if (!strcmp(ts->t[i].key, t->key)) {
			ts->t[i] = *t;
			return 0;
		}
	if (vec_more(&ts->t, ts->n, sizeof(*ts->t)) < 0)
		return -ENOMEM;
	ts->t[ts->n++] = *t;
	return 0;
}

int triages_parse(struct triages *out, const char *text, size_t len, const char *run)
{
	const char *end = text + len;
	int err = 0;

	*out = (struct triages){ .n = 0 };
	while (text < end && !err) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		struct triage t;

		stop = stop ? stop : end;
		if (parse_line(&t, text, (size_t)(stop - text)) == 0 && !strcmp(t.run, run))
			err = keep(out, &t);
		text = stop + 1;
	}
	if (err < 0)
		triages_fini(out);
	return err;
}

int triages_read(struct triages *out, const char *path, const char *run)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	char *text = fd < 0 ? NULL : malloc(TRIAGE_BYTES);
	size_t len = 0;
	ssize_t n = 1;

	*out = (struct triages){ .n = 0 };
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	while (text && len < TRIAGE_BYTES && n > 0) {
		n = read(fd, text + len, TRIAGE_BYTES - len);
		len += n > 0 ? (size_t)n : 0;
	}
	err = !text ? -ENOMEM : n < 0 ? -errno : triages_parse(out, text, len, run);
	free(text);
	close(fd);
	return err;
}

void triages_fini(struct triages *ts)
{
	free(ts->t);
	*ts = (struct triages){ .n = 0 };
}

/* Makes the missing folders of a path, for the user alone. */
static int make_folders(const char *path)
{
	char part[4096];

	if (strlen(path) >= sizeof(part))
		return -ENAMETOOLONG;
	for (size_t i = 1; path[i]; i++) {
		if (path[i] != '/')
			continue;
		snprintf(part, i + 1, "%s", path);
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

int triage_put(const char *path, const struct triage *t)
{
	char line[TRIAGE_NOTE + TRIAGE_KEY + 96];
	struct stat sb;
	int n, fd, err = make_folders(path);

	if (err < 0)
		return err;
	n = snprintf(line, sizeof(line), "%" PRIu64 "\t%u\t%s\t%s\t%s\t%s\n", t->at_s, t->uid,
		     t->run, t->key, t->state, t->note);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &sb) < 0)
		err = -errno;
	else if ((uint64_t)sb.st_size + (size_t)n > TRIAGE_BYTES)
		err = -EFBIG;
	/* one write(), so that lines of two servers do not mix */
	else if (write(fd, line, (size_t)n) != n)
		err = errno ? -errno : -EIO;
	close(fd);
	return err;
}
