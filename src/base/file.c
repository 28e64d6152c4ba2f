/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - see file.h. */
#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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
