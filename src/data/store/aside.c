/* SPDX-License-Identifier: Apache-2.0 */
/* aside.c - moves a store that cannot be used out of the way, with its log and index. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#define ASIDE_MAX 1000

int store_set_aside(const char *path, char *to, size_t to_len)
{
	static const char *const parts[] = { "", "-wal", "-shm" };
	char from[PATH_MAX], name[PATH_MAX];
	int err = -EEXIST;

	for (int n = 1; err == -EEXIST && n <= ASIDE_MAX; n++) {
		if ((size_t)snprintf(to, to_len, "%s.bad-%d", path, n) >= to_len)
			return -ENAMETOOLONG;
		/* The store first: a log without its store is thrown away by SQLite, not used. */
		err = renameat2(AT_FDCWD, path, AT_FDCWD, to, RENAME_NOREPLACE) < 0 ? -errno : 0;
	}
	for (size_t i = 1; err == 0 && i < sizeof(parts) / sizeof(parts[0]); i++) {
		if ((size_t)snprintf(from, sizeof(from), "%s%s", path, parts[i]) >= sizeof(from) ||
		    (size_t)snprintf(name, sizeof(name), "%s%s", to, parts[i]) >= sizeof(name))
			return -ENAMETOOLONG;
		if (rename(from, name) < 0 && errno != ENOENT)
			err = -errno;
	}
	return err;
}
