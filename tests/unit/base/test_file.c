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
	char path[] = "/tmp/aon_file_XXXXXX", *text = NULL, *big = malloc(200001), head[8];
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
	T_OK(!file_regular(&text, &len, AT_FDCWD, path, O_NOFOLLOW, 200000) && len == 200000 &&
		     !text[len],
	     "so is a regular file");
	free(text);
	text = NULL;
	T_OK(file_regular(&text, &len, AT_FDCWD, path, 0, 199999) == -EFBIG && !text &&
		     file_regular(&text, &len, AT_FDCWD, "/dev/null", 0, 10) == -EFBIG && !text,
	     "a longer one and a device are refused");
	T_OK(file_text(AT_FDCWD, path, head, sizeof(head)) == 7 && !strcmp(head, "xxxxxxx"),
	     "the begin of a file is cut to fit");
	T_OK(file_text(AT_FDCWD, "/nonexistent", head, sizeof(head)) == -ENOENT && *head == 'x',
	     "without a file the text is untouched");
	T_OK(!file_read(&text, &len, "/proc/self/stat", 65536) && len > 10,
	     "a file that does not say its length is read");
	free(text);
	T_OK(file_is_stream("/dev/null") && !file_is_stream(path) && !file_is_stream("/tmp"),
	     "a device is written to as it is, a file and a folder are not");
	close(fd);
	unlink(path);
	T_OK(!file_is_stream(path), "nor is what is not there");
	T_OK(file_read(&text, &len, path, 10) == -ENOENT, "no file: the reason is told");
	T_OK(file_read(&text, &len, "/tmp", 10) == -EIO, "a folder is no file");
	free(big);
	return t_done();
}
