/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - a small file, read whole. */
#pragma once

#include <stddef.h>

/* The text of a file, followed by a NUL; the caller frees it. 0, or -errno: -EFBIG if it has more
 * than `most` bytes. */
int file_read(char **text, size_t *len, const char *path, size_t most);
