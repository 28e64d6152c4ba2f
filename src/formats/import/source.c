/* SPDX-License-Identifier: Apache-2.0 */
/* source.c - reads a file, a pipe or memory, through zlib when it begins as gzip does. */
#include "import/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/vec.h"

#define IN_BYTES   (256u << 10)
#define PEEK_BYTES 4096u
#define GZIP_BITS  (15 + 16)

struct source {
	int fd;                           /* owned; -1: memory, or standard input is borrowed */
	bool borrowed, gzip, eof, member; /* member: inside one */
	const unsigned char *mem;         /* borrowed */
	size_t mem_left;
	unsigned char *in; /* owned; what was read and not given yet */
	size_t in_at, in_len;
	uint64_t read, size; /* of the file */
	z_stream z;
	char peek[PEEK_BYTES];
	size_t peek_at, peek_len;
	int err; /* given once the text before it is used up */
	char why[96];
};

/* Raw bytes of the file; fewer than len only at its end. */
static ssize_t raw_read(struct source *s, void *buf, size_t len)
{
	size_t got = 0;

	if (s->mem) {
		got = len < s->mem_left ? len : s->mem_left;
		memcpy(buf, s->mem, got);
		s->mem += got;
		s->mem_left -= got;
	}
	while (!s->mem && got < len) {
		ssize_t n = read(s->fd, (char *)buf + got, len - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	s->read += got;
	return (ssize_t)got;
}

static int fill(struct source *s)
{
	ssize_t n = raw_read(s, s->in, IN_BYTES);

	if (n < 0)
		return (int)n;
	s->in_at = 0;
	s->in_len = (size_t)n;
	s->eof = n < IN_BYTES;
	return 0;
}

static int damaged(struct source *s, const char *what)
{
	snprintf(s->why, sizeof(s->why), "%s at byte %llu of the gzip file", what,
		 (unsigned long long)source_at(s));
	return -EBADMSG;
}

/* After a member: another one, zero bytes that pad it, or the end. 1: go on. */
static int next_member(struct source *s)
{
	s->member = false;
	for (;;) {
		while (s->in_at < s->in_len && !s->in[s->in_at])
			s->in_at++;
		if (s->in_at < s->in_len)
			break;
		if (s->eof)
			return 0;
		if (fill(s) < 0)
			return damaged(s, "cannot be read");
	}
	if (s->in[s->in_at] != 0x1f)
		return damaged(s, "something that is no gzip follows");
	if (inflateReset2(&s->z, GZIP_BITS) != Z_OK)
		return -ENOMEM;
	s->member = true;
	return 1;
}

static ssize_t inflate_read(struct source *s, void *buf, size_t len)
{
	int err = 0;

	s->z.next_out = buf;
	s->z.avail_out = (uInt)(len > (1u << 30) ? 1u << 30 : len);
	while (s->z.avail_out && !err) {
		int r;

		if (!s->member) {
			r = next_member(s);
			if (r <= 0) {
				err = r;
				break;
			}
		}
		if (s->in_at == s->in_len && !s->eof)
			err = fill(s);
		s->z.next_in = s->in + s->in_at;
		s->z.avail_in = (uInt)(s->in_len - s->in_at);
		r = inflate(&s->z, Z_NO_FLUSH);
		s->in_at = s->in_len - s->z.avail_in;
		if (r == Z_STREAM_END)
			s->member = false;
		else if (r == Z_BUF_ERROR && s->in_at == s->in_len && s->eof)
			err = damaged(s, "ends inside gzip data");
		else if (r != Z_OK && r != Z_BUF_ERROR)
			err = damaged(s, s->z.msg ? s->z.msg : "does not inflate");
	}
	s->err = err;
	len -= s->z.avail_out;
	return len ? (ssize_t)len : err;
}

static ssize_t text_read(struct source *s, void *buf, size_t len)
{
	size_t had = s->in_len - s->in_at;
	ssize_t n;

	if (s->err)
		return s->err;
	if (s->gzip)
		return inflate_read(s, buf, len);
	had = had < len ? had : len;
	memcpy(buf, s->in + s->in_at, had);
	s->in_at += had;
	if (had == len || s->eof)
		return (ssize_t)had;
	n = raw_read(s, (char *)buf + had, len - had);
	return n < 0 ? n : (ssize_t)had + n;
}

ssize_t source_read(struct source *s, void *buf, size_t len)
{
	size_t had = s->peek_len - s->peek_at;
	ssize_t n;

	had = had < len ? had : len;
	memcpy(buf, s->peek + s->peek_at, had);
	s->peek_at += had;
	if (had == len)
		return (ssize_t)had;
	n = text_read(s, (char *)buf + had, len - had);
	if (n < 0 && had) {
		s->err = (int)n;
		n = 0;
	}
	return n < 0 ? n : (ssize_t)had + n;
}

ssize_t source_peek(struct source *s, const char **bytes)
{
	if (!s->peek_len) {
		ssize_t n = text_read(s, s->peek, PEEK_BYTES);

		if (n < 0)
			return n;
		s->peek_len = (size_t)n;
	}
	*bytes = s->peek;
	return (ssize_t)s->peek_len;
}

int source_all(struct source *s, char **bytes, size_t *len)
{
	size_t cap = 0, n = 0;
	char *buf = NULL;
	ssize_t got;

	do {
		size_t to = cap ? cap * 2 : s->size && !s->gzip ? s->size + 1 : IN_BYTES;

		if (to > SOURCE_ALL_MAX || vec_resize(&buf, to, 1) < 0) {
			free(buf);
			return to <= SOURCE_ALL_MAX ? -ENOMEM : -EFBIG;
		}
		cap = to;
		got = source_read(s, buf + n, cap - n);
		n += got > 0 ? (size_t)got : 0;
	} while (n == cap);
	*bytes = buf;
	*len = n;
	return 0;
}

static int start(struct source *s)
{
	int err;

	s->in = malloc(IN_BYTES);
	if (!s->in)
		return -ENOMEM;
	err = fill(s);
	if (err < 0)
		return err;
	if (s->in_len < 3 || s->in[0] != 0x1f || s->in[1] != 0x8b || s->in[2] != 8)
		return 0;
	if (inflateInit2(&s->z, GZIP_BITS) != Z_OK)
		return -ENOMEM;
	s->gzip = s->member = true;
	return 0;
}

int source_open_bytes(struct source **out, const void *bytes, size_t len)
{
	struct source *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->fd = -1;
	s->mem = bytes ? bytes : (const void *)"";
	s->mem_left = s->size = len;
	err = start(s);
	if (err < 0) {
		source_close(s);
		return err;
	}
	*out = s;
	return 0;
}

int source_open(struct source **out, const char *path)
{
	struct source *s = calloc(1, sizeof(*s));
	struct stat sb;
	int err;

	if (!s)
		return -ENOMEM;
	s->borrowed = !strcmp(path, "-");
	s->fd = s->borrowed ? 0 : open(path, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0 || fstat(s->fd, &sb) < 0)
		err = -errno;
	else
		err = S_ISDIR(sb.st_mode) ? -EISDIR : start(s);
	if (err < 0) {
		source_close(s);
		return err;
	}
	s->size = S_ISREG(sb.st_mode) ? (uint64_t)sb.st_size : 0;
	*out = s;
	return 0;
}

void source_close(struct source *s)
{
	if (!s)
		return;
	if (s->gzip)
		inflateEnd(&s->z);
	if (s->fd >= 0 && !s->borrowed)
		close(s->fd);
	free(s->in);
	free(s);
}

uint64_t source_at(const struct source *s)
{
	return s->read - (s->in_len - s->in_at);
}

uint64_t source_size(const struct source *s)
{
	return s->size;
}

bool source_gzip(const struct source *s)
{
	return s->gzip;
}

const char *source_why(const struct source *s)
{
	return s->why;
}
