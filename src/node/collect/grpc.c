/* SPDX-License-Identifier: Apache-2.0 */
/* grpc.c - see grpc.h. RFC 9113: a frame is its length in three bytes, type, flags, stream in four, and its payload. */
#include "collect/grpc.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"

#define HEAD      9u
#define FRAME_MAX 16384u /* what we let the server send */
#define FLAG_END  1u     /* of the stream; of settings and pings: an answer */
#define FLAG_HEAD 4u     /* end of the headers */
#define FLAG_PAD  8u

enum frame { DATA, HEADERS, PRIORITY, RESET, SETTINGS, PROMISE, PING, GOAWAY, WINDOW };

void grpc_fini(struct grpc *g)
{
	free(g->frame);
	free(g->data);
	*g = (struct grpc){ 0 };
}

static int append(uint8_t **to, size_t *len, size_t *cap, const void *bytes, size_t n)
{
	if (n > GRPC_BYTES_MAX - *len)
		return -EFBIG;
	if (vec_room(to, cap, *len + n, 1) < 0)
		return -ENOMEM;
	if (n)
		memcpy(*to + *len, bytes, n);
	*len += n;
	return 0;
}

static size_t frame(uint8_t *out, enum frame type, uint8_t flags, uint8_t stream, const void *body,
		    uint8_t n)
{
	const uint8_t head[HEAD] = { 0, 0, n, (uint8_t)type, flags, 0, 0, 0, stream };

	memcpy(out, head, HEAD);
	if (n)
		memcpy(out + HEAD, body, n);
	return HEAD + n;
}

/* What the server waits for; one that asks for more than there is room for gives up on us. */
static int answer(struct grpc *g, enum frame type, const uint8_t *body, uint8_t n)
{
	if (g->say_len + HEAD + n > sizeof(g->say))
		return -EBADMSG;
	g->say_len += frame(g->say + g->say_len, type, FLAG_END, 0, body, n);
	return 0;
}

static int on_data(struct grpc *g, const uint8_t *body, size_t n, uint8_t flags)
{
	size_t pad = 0;

	if (flags & FLAG_PAD) {
		pad = n ? *body : 0;
		if (!n || pad >= n)
			return -EBADMSG;
		body++;
		n -= 1 + pad;
	}
	return append(&g->data, &g->len, &g->cap, body, n);
}

static int on_frame(struct grpc *g, const uint8_t *f, size_t n)
{
	uint8_t type = f[3], flags = f[4];
	bool ours = !(f[5] & 0x7f) && !f[6] && !f[7] && f[8] == 1;
	int err = 0;

	if (type == SETTINGS && !(flags & FLAG_END))
		err = answer(g, SETTINGS, NULL, 0);
	else if (type == PING && !(flags & FLAG_END))
		err = n == 8 ? answer(g, PING, f + HEAD, 8) : -EBADMSG;
	else if (type == DATA && ours)
		err = on_data(g, f + HEAD, n, flags);
	else if ((type == RESET && ours) || type == PROMISE)
		err = -EBADMSG;
	else if (type == GOAWAY && !g->len)
		err = -EBADMSG;
	if (!err && ours && (type == DATA || type == HEADERS) && flags & FLAG_END)
		g->end = true;
	return err;
}

int grpc_take(struct grpc *g, const void *bytes, size_t n)
{
	size_t at = 0;
	int err = append(&g->frame, &g->frame_len, &g->frame_cap, bytes, n);

	while (!err && !g->end && g->frame_len - at >= HEAD) {
		const uint8_t *f = g->frame + at;
		size_t len = (size_t)f[0] << 16 | (size_t)f[1] << 8 | f[2];

		if (len > FRAME_MAX)
			return -EBADMSG;
		if (g->frame_len - at < HEAD + len)
			break;
		err = on_frame(g, f, len);
		at += HEAD + len;
	}
	if (at)
		memmove(g->frame, g->frame + at, g->frame_len - at);
	g->frame_len -= at;
	return err;
}

int grpc_message(const struct grpc *g, const uint8_t **data, size_t *len)
{
	const uint8_t *d = g->data;

	/* Not packed, and its length. */
	if (!g->end || g->len < 5 || d[0] ||
	    ((size_t)d[1] << 24 | (size_t)d[2] << 16 | (size_t)d[3] << 8 | d[4]) != g->len - 5)
		return -EBADMSG;
	*data = d + 5;
	*len = g->len - 5;
	return 0;
}

/* A header that nobody has to remember: both as they are, their lengths in a byte. */
static size_t header(uint8_t *out, const char *name, const char *value)
{
	size_t n = strlen(name), v = strlen(value);

	out[0] = 0;
	out[1] = (uint8_t)n;
	memcpy(out + 2, name, n);
	out[2 + n] = (uint8_t)v;
	memcpy(out + 3 + n, value, v);
	return 3 + n + v;
}

/* All that we ever say first: who we are, as much as you like, the question, nothing more. */
static size_t question(uint8_t out[512], const char *method)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	/* Remember no headers; push nothing; a window of all that we take, for the stream and the connection. */
	static const uint8_t settings[] = { 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 4, 0, 64, 0, 0 };
	static const uint8_t window[] = { 0, 64, 0, 0 }, empty[5] = { 0 };
	uint8_t headers[240];
	size_t h = 0, n = sizeof(preface) - 1;

	h += header(headers + h, ":method", "POST");
	h += header(headers + h, ":scheme", "http");
	h += header(headers + h, ":path", method);
	h += header(headers + h, ":authority", "localhost");
	h += header(headers + h, "content-type", "application/grpc");
	h += header(headers + h, "te", "trailers");
	memcpy(out, preface, n);
	n += frame(out + n, SETTINGS, 0, 0, settings, sizeof(settings));
	n += frame(out + n, WINDOW, 0, 0, window, sizeof(window));
	n += frame(out + n, HEADERS, FLAG_HEAD, 1, headers, (uint8_t)h);
	return n + frame(out + n, DATA, FLAG_END, 1, empty, sizeof(empty));
}

static int say(int fd, const uint8_t *bytes, size_t n)
{
	return send(fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n ? 0 : -EPIPE;
}

static int connect_to(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	strcpy(a.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd < 0 ? -errno : fd;
}

static int listen_to(struct grpc *g, int fd, uint64_t until_ms)
{
	uint8_t bytes[16384];
	int err = 0;

	while (!err && !g->end) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now = clock_mono_ms();
		ssize_t n;

		if (now >= until_ms || poll(&p, 1, (int)(until_ms - now)) <= 0)
			return -ETIMEDOUT;
		n = read(fd, bytes, sizeof(bytes));
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		err = grpc_take(g, bytes, (size_t)n);
		if (!err && g->say_len)
			err = say(fd, g->say, g->say_len);
		g->say_len = 0;
	}
	return err;
}

int grpc_ask(struct grpc *g, const char *path, const char *method, uint32_t timeout_ms)
{
	uint8_t first[512];
	int err, fd;

	if (strlen(method) > 100)
		return -EINVAL;
	fd = connect_to(path);
	if (fd < 0)
		return fd;
	err = say(fd, first, question(first, method));
	err = err ? err : listen_to(g, fd, clock_mono_ms() + timeout_ms);
	close(fd);
	return err;
}
