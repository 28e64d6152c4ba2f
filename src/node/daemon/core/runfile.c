/* SPDX-License-Identifier: Apache-2.0 */
/* runfile.c - see runfile.h. */
#include "daemon/core/runfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/num.h"

char *runfile_read(int dir, const char *name)
{
	char *text = NULL;
	size_t len;
	int err = file_regular(&text, &len, dir, name, O_NOFOLLOW, RUNFILE_BYTES);

	if (err && err != -ENOENT)
		log_warn("%s: cannot be read: what was set before is forgotten", name);
	return text;
}

void runfile_write(int dir, const char *name, void (*put)(FILE *f, const void *arg),
		   const void *arg)
{
	char tmp[64];
	FILE *f;
	bool bad;
	int fd;

	snprintf(tmp, sizeof(tmp), "%s.new", name);
	fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	bad = !f;
	if (f) {
		put(f, arg);
		bad = ferror(f);
		bad = fclose(f) || bad;
	} else if (fd >= 0) {
		close(fd);
	}
	if (bad || renameat(dir, tmp, dir, name) < 0)
		log_warn("%s: %s: what was set ends with aond", name, strerror(errno));
}

bool runfile_number(const char *text, uint64_t *out)
{
	return text && !num_u64(text, 0, UINT64_MAX, out);
}
