/* SPDX-License-Identifier: Apache-2.0 */
/* sink.c - see sink.h. */
#include "export/sink.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/json.h"
#include "base/utf8.h"

#define GZ_LEVEL 5 /* of 9: two thirds of the time of the usual 6 for a few per cent */

struct sink_gz {
	z_stream z;
	uint8_t out[SINK_BYTES];
};

static void hand_over(struct sink *s, const void *bytes, size_t n)
{
	if (!s->err && n)
		s->err = s->write(s->arg, bytes, n);
}

static void deflate_all(struct sink *s, int how)
{
	struct sink_gz *g = s->gz;
	int r = Z_OK;

	g->z.next_in = (Bytef *)s->buf;
	g->z.avail_in = (uInt)s->used;
	do {
		g->z.next_out = g->out;
		g->z.avail_out = sizeof(g->out);
		r = deflate(&g->z, how);
		hand_over(s, g->out, sizeof(g->out) - g->z.avail_out);
	} while (!s->err && r == Z_OK && g->z.avail_out == 0);
	if (r == Z_STREAM_ERROR && !s->err)
		s->err = -EIO;
}

int sink_new(struct sink **out, export_write_fn *fn, void *arg, bool gz)
{
	struct sink *s = malloc(sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->write = fn;
	s->arg = arg;
	s->gz = NULL;
	s->err = 0;
	s->used = 0;
	if (gz) {
		s->gz = calloc(1, sizeof(*s->gz));
		/* 15 + 16: the largest window, and gzip's head */
		if (!s->gz || deflateInit2(&s->gz->z, GZ_LEVEL, Z_DEFLATED, 15 + 16, 8,
					   Z_DEFAULT_STRATEGY) != Z_OK) {
			free(s->gz);
			free(s);
			return -ENOMEM;
		}
	}
	*out = s;
	return 0;
}

int sink_end(struct sink *s)
{
	int err;

	if (s->gz) {
		deflate_all(s, Z_FINISH);
		deflateEnd(&s->gz->z);
	} else {
		hand_over(s, s->buf, s->used);
	}
	err = s->err;
	free(s->gz);
	free(s);
	return err;
}

void sink_flush(struct sink *s)
{
	if (s->gz)
		deflate_all(s, Z_NO_FLUSH);
	else
		hand_over(s, s->buf, s->used);
	s->used = 0;
}

void sink_put(struct sink *s, const void *bytes, size_t n)
{
	const char *at = bytes;

	while (n) {
		size_t room = SINK_BYTES - s->used, part = n < room ? n : room;

		memcpy(s->buf + s->used, at, part);
		s->used += part;
		at += part;
		n -= part;
		if (s->used == SINK_BYTES)
			sink_flush(s);
	}
}

void sink_u64(struct sink *s, uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + v % 10);
	while (v /= 10);
	sink_put(s, digits + at, sizeof(digits) - at);
}

void sink_us(struct sink *s, uint64_t ns)
{
	unsigned rest = (unsigned)(ns % 1000);

	sink_u64(s, ns / 1000);
	sink_byte(s, '.');
	sink_byte(s, (char)('0' + rest / 100));
	sink_byte(s, (char)('0' + rest / 10 % 10));
	sink_byte(s, (char)('0' + rest % 10));
}

void sink_real(struct sink *s, double v)
{
	char text[40];

	snprintf(text, sizeof(text), "%.17g", isfinite(v) ? v : 0.0);
	sink_str(s, text);
}

void sink_json(struct sink *s, const char *text)
{
	char room[JSON_ESCAPE];
	const char *piece;
	size_t n;

	sink_byte(s, '"');
	while ((piece = json_escape(&text, room, &n)))
		sink_put(s, piece, n);
	sink_byte(s, '"');
}

void sink_pb(struct sink *s, uint32_t field, const struct pb_out *m)
{
	uint8_t head[2 * VARINT_MAX], *p = varint_put(head, field << 3 | 2);

	if (m->err) {
		s->err = s->err ? s->err : m->err;
		return;
	}
	p = varint_put(p, m->len);
	sink_put(s, head, (size_t)(p - head));
	sink_put(s, m->data, m->len);
}

void sink_pb_text(struct pb_out *m, uint32_t field, const char *text)
{
	char room[4100];

	pb_put_str(m, field, utf8_valid(text, room, sizeof(room)));
}
