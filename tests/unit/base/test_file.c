/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "t.h"

int main(void)
{
	char path[] = "/tmp/aon_file_XXXXXX", *text = NULL, *big = malloc(200001);
	int fd = mkstemp(path);
	size_t len = 1;

	if (fd < 0 || !big)
		return 1;
	T_OK(!file_read(&text, &len, path, 10) && !len && !*text, "an empty file is an empty text");
	free(text);
	memset(big, 'x', 200000);
	if (write(fd, big, 200000) != 200000)
		return 1;
	T_OK(!file_read(&text, &len, path, 200000) && len == 200000 && !text[len] &&
		     !memcmp(text, big, len),
	     "a file of the greatest length is read whole, with a NUL behind it");
	free(text);
	text = NULL;
	T_OK(file_read(&text, &len, path, 199999) == -EFBIG && !text, "a longer one is refused");
	T_OK(!file_read(&text, &len, "/proc/self/stat", 65536) && len > 10,
	     "a file that does not say its length is read");
	free(text);
	close(fd);
	unlink(path);
	T_OK(file_read(&text, &len, path, 10) == -ENOENT, "no file: the reason is told");
	T_OK(file_read(&text, &len, "/tmp", 10) == -EIO, "a folder is no file");
	free(big);
	return t_done();
}
