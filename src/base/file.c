/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - see file.h. */
#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"

#define FIRST_BYTES 65536u

/* Also reads files without a known length, such as pipes and files of /proc. */
static int read_on(FILE *f, char **buf, size_t *n, size_t most)
{
	size_t cap = 0;

	do {
		if (vec_grow(buf, &cap, FIRST_BYTES, 1) < 0)
			return -ENOMEM;
		*n += fread(*buf + *n, 1, cap - 1 - *n, f);
		if (ferror(f))
			return -EIO;
		if (*n > most)
			return -EFBIG;
	} while (!feof(f));
	(*buf)[*n] = '\0';
	return 0;
}

bool file_is_stream(const char *path)
{
	struct stat sb;

	if (lstat(path, &sb) < 0)
		return false;
	if (S_ISLNK(sb.st_mode) && !strncmp(path, "/dev/", 5)) /* /dev/stdout */
		return true;
	return !stat(path, &sb) && !S_ISREG(sb.st_mode) && !S_ISDIR(sb.st_mode);
}

int file_read(char **text, size_t *len, const char *path, size_t most)
{
	FILE *f = fopen(path, "re");
	char *buf = NULL;
	size_t n = 0;
	int err = f ? read_on(f, &buf, &n, most) : -errno;

	if (f)
		fclose(f);
	if (err) {
		free(buf);
		return err;
	}
	*text = buf;
	*len = n;
	return 0;
}

static ssize_t read_fd(int fd, char *buf, size_t cap)
{
	size_t n = 0;
	ssize_t got;

	while (n < cap && (got = read(fd, buf + n, cap - n)) != 0) {
		if (got < 0)
			return -errno;
		n += (size_t)got;
	}
	buf[n] = '\0';
	return (ssize_t)n;
}

int file_regular(char **text, size_t *len, int dir, const char *path, int flags, size_t most)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
	char *buf = NULL;
	struct stat sb;
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &sb) < 0)
		n = -errno;
	else if (!S_ISREG(sb.st_mode) || (size_t)sb.st_size > most)
		n = -EFBIG;
	else if (!(buf = malloc((size_t)sb.st_size + FILE_ROOM)))
		n = -ENOMEM;
	else
		n = read_fd(fd, buf, (size_t)sb.st_size);
	close(fd);
	if (n < 0) {
		free(buf);
		return (int)n;
	}
	*text = buf;
	*len = (size_t)n;
	return 0;
}

ssize_t file_text(int dir, const char *path, char *buf, size_t cap)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? -errno : read_fd(fd, buf, cap - 1);

	if (fd >= 0)
		close(fd);
	return n;
}
