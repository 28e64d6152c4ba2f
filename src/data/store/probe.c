/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - is this file an aon store? Asked of its first bytes, before SQLite sees it. */
#include "store/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of SQLite's file head. */
#define HEAD_BYTES   100
#define HEAD_PAGES   28
#define HEAD_VERSION 60
#define HEAD_APP_ID  68

static int check_head(const uint8_t *head, const struct stat *sb, bool has_wal, const char *path,
		      struct store_why *why)
{
	uint32_t page = (uint32_t)head[16] << 8 | head[17];
	uint64_t want;

	if (memcmp(head, "SQLite format 3", 16) != 0 || be32(head + HEAD_APP_ID) != STORE_APP_ID)
		return store_because(why, -EMEDIUMTYPE, "%s is not an aon store", path);
	if (be32(head + HEAD_VERSION) > STORE_VERSION)
		return store_because(
			why, -EPROTO,
			"%s is of version %u, newer than this aon reads (%u): update aon", path,
			be32(head + HEAD_VERSION), STORE_VERSION);
	page = page == 1 ? 65536 : page;
	want = (uint64_t)be32(head + HEAD_PAGES) * page;
	/* With a log, the file may be behind its own head. */
	if (!has_wal && (uint64_t)sb->st_size < want)
		return store_because(
			why, -EBADMSG, "%s is cut short (%llu of %llu bytes): try `aon recover`",
			path, (unsigned long long)sb->st_size, (unsigned long long)want);
	return 0;
}

int store_probe(const char *path, bool *wal, struct store_why *why)
{
	uint8_t head[HEAD_BYTES];
	char log[PATH_MAX];
	struct stat sb, log_sb;
	bool has_wal;
	ssize_t n;
	int fd, err;

	if ((size_t)snprintf(log, sizeof(log), "%s-wal", path) >= sizeof(log))
		return store_because(why, -ENAMETOOLONG, "%.100s...: the name is too long", path);
	/* A FIFO must not stop us. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		err = -errno;
		return store_because(why, err, "%s: %s", path, strerror(-err));
	}
	err = fstat(fd, &sb) < 0 ? -errno : 0;
	n = err < 0 || !S_ISREG(sb.st_mode) ? 0 : pread(fd, head, sizeof(head), 0);
	if (n < 0)
		err = -errno;
	close(fd);
	if (err < 0)
		return store_because(why, err, "%s: %s", path, strerror(-err));
	has_wal = stat(log, &log_sb) == 0 && log_sb.st_size > 0;
	if (wal)
		*wal = has_wal;
	if (!S_ISREG(sb.st_mode))
		return store_because(why, -EMEDIUMTYPE, "%s is not a file", path);
	if (n == 0 && !has_wal)
		return store_because(why, -EMEDIUMTYPE, "%s is empty, not an aon store", path);
	if (n < HEAD_BYTES && n > 0 && memcmp(head, "SQLite format 3", n < 16 ? (size_t)n : 16))
		return store_because(why, -EMEDIUMTYPE, "%s is not an aon store", path);
	if (n < HEAD_BYTES)
		return store_because(why, -EBADMSG,
				     "%s is cut short (%lld bytes): try `aon recover`", path,
				     (long long)sb.st_size);
	return check_head(head, &sb, has_wal, path, why);
}
