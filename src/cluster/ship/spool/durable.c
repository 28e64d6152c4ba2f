/* SPDX-License-Identifier: Apache-2.0 */
/* durable.c - write, sync, rename: in the order that survives a crash. */
#include "ship/spool/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/file.h"

int (*durable_hook)(const char *step, const char *name);

static int before(const char *step, const char *name)
{
	char place[32];

	snprintf(place, sizeof(place), "spool.%s", step);
	fault_point(place);
	return durable_hook ? durable_hook(step, name) : 0;
}

static int write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int durable_write(int dir, const char *name, const void *data, size_t len)
{
	int fd, err;

	err = before("write", name);
	if (err)
		return err;
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	err = write_all(fd, data, len / 2);
	err = err ? err : before("half", name);
	err = err ? err : write_all(fd, (const char *)data + len / 2, len - len / 2);
	err = err ? err : before("sync", name);
	if (!err && fsync(fd) < 0)
		err = -errno;
	if (close(fd) < 0 && !err)
		err = -errno;
	if (err)
		unlinkat(dir, name, 0);
	return err;
}

int durable_sync(int dir)
{
	int err = before("folder", ".");

	return err ? err : fsync(dir) < 0 ? -errno : 0;
}

int durable_replace(int dir, const char *name, const void *data, size_t len, bool *doubt)
{
	char tmp[NAME_MAX];
	int err;

	snprintf(tmp, sizeof(tmp), "%s.new", name);
	err = durable_write(dir, tmp, data, len);
	err = err ? err : durable_rename(dir, tmp, dir, name);
	if (err) {
		*doubt = false;
		return err;
	}
	err = durable_sync(dir);
	*doubt = err != 0;
	return err;
}

int durable_unlink(int dir, const char *name)
{
	int err = before("unlink", name);

	if (err)
		return err;
	return unlinkat(dir, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int durable_rename(int dir, const char *from, int to_dir, const char *to)
{
	int err = before("rename", to);

	if (err)
		return err;
	return renameat(dir, from, to_dir, to) < 0 ? -errno : 0;
}

int durable_read(int dir, const char *name, size_t max, void **out, size_t *len)
{
	char *text;
	int err = file_regular(&text, len, dir, name, O_NOFOLLOW, max);

	if (!err)
		*out = text;
	return err;
}
