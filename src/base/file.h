/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - small files, read whole. */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The text of a file, followed by a NUL; the caller frees it. 0, or -errno: -EFBIG if it has more
 * than `most` bytes. */
int file_read(char **text, size_t *len, const char *path, size_t most);

/* The same of a regular file alone, -EFBIG of any other; it waits for nobody. `dir`: where a relative
 * path begins, or AT_FDCWD; `flags`: of open(), such as O_NOFOLLOW. Behind the text are FILE_ROOM bytes
 * more, as many as JSON_PAD of json_read.h. */
#define FILE_ROOM 64u
int file_regular(char **text, size_t *len, int dir, const char *path, int flags, size_t most);

/* Whether that name is of what is written to as it is: a device, a pipe, or a link in /dev to one of
 * the process's own files. A file that is renamed to it would replace it. */
bool file_is_stream(const char *path);

/* The first cap - 1 bytes of any file that does not let one wait, followed by a NUL. How many, or
 * -errno. */
ssize_t file_text(int dir, const char *path, char *buf, size_t cap);
