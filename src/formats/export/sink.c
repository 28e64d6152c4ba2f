/* SPDX-License-Identifier: Apache-2.0 */
/* sink.c - see sink.h. */
#include "export/sink.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/num.h"
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

static void deflate_all(struct sink *s, const void *bytes, size_t n, int how)
{
	struct sink_gz *g = s->gz;
	int r = Z_OK;

	g->z.next_in = (Bytef *)bytes;
	g->z.avail_in = (uInt)n;
	do {
		g->z.next_out = g->out;
		g->z.avail_out = sizeof(g->out);
		r = deflate(&g->z, how);
		hand_over(s, g->out, sizeof(g->out) - g->z.avail_out);
	} while (!s->err && r == Z_OK && g->z.avail_out == 0);
	if (r == Z_STREAM_ERROR && !s->err)
		s->err = -EIO;
}

/* Takes all: what fails is in `err`, and the stream need not try again. */
static ssize_t take(void *arg, const char *bytes, size_t n)
{
	struct sink *s = arg;

	if (s->gz)
		deflate_all(s, bytes, n, Z_NO_FLUSH);
	else
		hand_over(s, bytes, n);
	return (ssize_t)n;
}

int sink_new(struct sink **out, export_write_fn *fn, void *arg, bool gz)
{
	struct sink *s = malloc(sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->write = fn;
	s->arg = arg;
	s->gz = gz ? calloc(1, sizeof(*s->gz)) : NULL;
	s->err = 0;
	s->f = fopencookie(s, "w", (cookie_io_functions_t){ .write = take });
	/* 15 + 16: the largest window, and gzip's head */
	if (!s->f || (gz && (!s->gz || deflateInit2(&s->gz->z, GZ_LEVEL, Z_DEFLATED, 15 + 16, 8,
						    Z_DEFAULT_STRATEGY) != Z_OK))) {
		if (s->f)
			fclose(s->f);
		free(s->gz);
		free(s);
		return -ENOMEM;
	}
	setvbuf(s->f, s->buf, _IOFBF, sizeof(s->buf));
	*out = s;
	return 0;
}

int sink_end(struct sink *s)
{
	int err;

	fclose(s->f);
	if (s->gz) {
		deflate_all(s, NULL, 0, Z_FINISH);
		deflateEnd(&s->gz->z);
	}
	err = s->err;
	free(s->gz);
	free(s);
	return err;
}

void sink_u64(struct sink *s, uint64_t v)
{
	char room[NUM_LEN];

	sink_str(s, num_text(room, v));
}

void sink_i64(struct sink *s, int64_t v)
{
	if (v < 0)
		sink_byte(s, '-');
	sink_u64(s, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

const char *sink_real(char room[SINK_REAL], double v)
{
	snprintf(room, SINK_REAL, "%.17g", isfinite(v) ? v : 0.0);
	return room;
}

void sink_pb(struct sink *s, uint32_t field, const struct pb_out *m)
{
	uint8_t head[2 * VARINT_MAX], *p = varint_put(head, field << 3 | 2);

	if (m->err) {
		s->err = s->err ? s->err : m->err;
		return;
	}
	p = varint_put(p, m->len);
	fwrite_unlocked(head, 1, (size_t)(p - head), s->f);
	fwrite_unlocked(m->data, 1, m->len, s->f);
}

void sink_pb_text(struct pb_out *m, uint32_t field, const char *text)
{
	char room[4100];

	pb_put_str(m, field, utf8_valid(text, room, sizeof(room)));
}
