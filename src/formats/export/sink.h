/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink.h - bytes on their way out: a buffer, gzip if asked for, text and protobuf in small pieces.
 *
 * The first failure stays and the rest is dropped, so that a writer asks once, at the end.
 */
#ifndef AON_EXPORT_SINK_H
#define AON_EXPORT_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "export/export.h"

#define SINK_BYTES (64u << 10)

struct sink {
	export_write_fn *write;
	void *arg;
	struct sink_gz *gz; /* owned; NULL: plain */
	int err;
	size_t used;
	char buf[SINK_BYTES];
};

int sink_new(struct sink **out, export_write_fn *fn, void *arg, bool gz);
int sink_end(struct sink *s); /* flushes and frees; the first failure, or 0 */

void sink_flush(struct sink *s);
void sink_put(struct sink *s, const void *bytes, size_t n);

static inline void sink_byte(struct sink *s, char c)
{
	if (s->used == SINK_BYTES)
		sink_flush(s);
	s->buf[s->used++] = c;
}

static inline void sink_str(struct sink *s, const char *text)
{
	sink_put(s, text, strlen(text));
}

void sink_u64(struct sink *s, uint64_t v);
void sink_us(struct sink *s, uint64_t ns); /* microseconds with three decimals */
void sink_real(struct sink *s, double v);  /* not finite: 0 */
/* In quotes, escaped; bytes that are not UTF-8 become U+FFFD. */
void sink_json(struct sink *s, const char *text);
/* Valid UTF-8 of `text`: `text` itself, or `room` filled with as much as fits. */
const char *sink_utf8(const char *text, char *room, size_t cap);

/* --- protobuf: a message is built, then put with its length --- */

#define PB_BYTES 20480u /* a slice with its texts */

struct pb {
	size_t used; /* beyond PB_BYTES: it did not fit */
	uint8_t buf[PB_BYTES];
};

static inline void pb_raw(struct pb *m, const void *bytes, size_t n)
{
	if (m->used + n <= PB_BYTES)
		memcpy(m->buf + m->used, bytes, n);
	m->used += n;
}

static inline void pb_varint(struct pb *m, uint64_t v)
{
	uint8_t b[10];
	size_t n = 0;

	for (; v > 0x7f; v >>= 7)
		b[n++] = (uint8_t)(v | 0x80);
	b[n++] = (uint8_t)v;
	pb_raw(m, b, n);
}

static inline void pb_u64(struct pb *m, uint32_t field, uint64_t v)
{
	pb_varint(m, field << 3);
	pb_varint(m, v);
}

static inline void pb_f64(struct pb *m, uint32_t field, uint64_t bits)
{
	pb_varint(m, field << 3 | 1);
	pb_raw(m, &bits, sizeof(bits)); /* little endian, as all that aon runs on */
}

static inline void pb_bytes(struct pb *m, uint32_t field, const void *bytes, size_t n)
{
	pb_varint(m, field << 3 | 2);
	pb_varint(m, n);
	pb_raw(m, bytes, n);
}

static inline void pb_text(struct pb *m, uint32_t field, const char *text)
{
	char room[4100];

	text = sink_utf8(text, room, sizeof(room));
	pb_bytes(m, field, text, strnlen(text, sizeof(room)));
}

static inline void pb_msg(struct pb *m, uint32_t field, const struct pb *inner)
{
	if (inner->used > PB_BYTES)
		m->used = PB_BYTES + 1; /* neither does this one fit: sink_pb() says so */
	else
		pb_bytes(m, field, inner->buf, inner->used);
}

/* One field of the outermost message, which has no length. */
void sink_pb(struct sink *s, uint32_t field, const struct pb *m);

#endif /* AON_EXPORT_SINK_H */
