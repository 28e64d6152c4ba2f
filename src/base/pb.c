/* SPDX-License-Identifier: Apache-2.0 */
/* pb.c - writes protobuf; see pb.h. Little endian, as every machine that aon runs on. */
#include "base/pb.h"

#include <stdlib.h>

#include "base/vec.h"

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_LEN = 2 };

void pb_free(struct pb_out *b)
{
	free(b->data);
	*b = (struct pb_out){ 0 };
}

/* Where `len` more bytes go; NULL: there is no memory. */
static uint8_t *room(struct pb_out *b, size_t len)
{
	if (!b->err)
		b->err = vec_room(&b->data, &b->cap, b->len + len, 1);
	return b->err ? NULL : b->data + b->len;
}

static void put_tag(struct pb_out *b, uint32_t field, unsigned wire, uint64_t v)
{
	uint8_t *p = room(b, 2 * VARINT_MAX);

	if (!p)
		return;
	p = varint_put(p, (uint64_t)field << 3 | wire);
	if (wire != WIRE_64)
		p = varint_put(p, v);
	b->len = (size_t)(p - b->data);
}

void pb_put_raw(struct pb_out *b, const void *data, size_t len)
{
	uint8_t *p = room(b, len);

	if (!p || !len)
		return;
	memcpy(p, data, len);
	b->len += len;
}

void pb_put_varint(struct pb_out *b, uint64_t v)
{
	uint8_t *p = room(b, VARINT_MAX);

	if (p)
		b->len = (size_t)(varint_put(p, v) - b->data);
}

void pb_put_u64(struct pb_out *b, uint32_t field, uint64_t v)
{
	put_tag(b, field, WIRE_VARINT, v);
}

void pb_put_fixed64(struct pb_out *b, uint32_t field, uint64_t v)
{
	put_tag(b, field, WIRE_64, 0);
	pb_put_raw(b, &v, sizeof(v));
}

void pb_put_double(struct pb_out *b, uint32_t field, double v)
{
	put_tag(b, field, WIRE_64, 0);
	pb_put_raw(b, &v, sizeof(v));
}

void pb_put_bytes(struct pb_out *b, uint32_t field, const void *data, size_t len)
{
	put_tag(b, field, WIRE_LEN, len);
	pb_put_raw(b, data, len);
}

void pb_put_str(struct pb_out *b, uint32_t field, const char *s)
{
	pb_put_bytes(b, field, s, strlen(s));
}

/* A byte is kept for the length: most messages are shorter than 128. */
size_t pb_open(struct pb_out *b, uint32_t field)
{
	put_tag(b, field, WIRE_LEN, 0);
	return b->len;
}

void pb_close(struct pb_out *b, size_t at)
{
	size_t body = b->len - at, more = varint_len(body) - 1;

	if (!room(b, more))
		return;
	if (more)
		memmove(b->data + at + more, b->data + at, body);
	varint_put(b->data + at - 1, body);
	b->len += more;
}
