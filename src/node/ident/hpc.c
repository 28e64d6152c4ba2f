/* SPDX-License-Identifier: Apache-2.0 */
/* hpc.c - see hpc.h. */
#include "ident/hpc.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ident/word.h"

void hpc_job(const char *dir, uint32_t gpu, char *out, size_t cap)
{
	char path[PATH_MAX], text[256];
	size_t len, jobs = 0;
	ssize_t n;
	int fd;

	*out = '\0';
	if (!*dir || snprintf(path, sizeof(path), "%s/%u", dir, gpu) >= (int)sizeof(path))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	for (char *p = text; *p; p += len + (p[len] == '\n')) {
		len = strcspn(p, "\n");
		if (len && !jobs++)
			ident_word(out, cap, p, len, false);
	}
	if (jobs != 1)
		*out = '\0';
}
