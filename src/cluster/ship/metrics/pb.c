/* SPDX-License-Identifier: Apache-2.0 */
/* pb.c - see pb.h. */
#include "ship/metrics/pb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_LEN = 2 };

void pb_fini(struct pb *b)
{
	free(b->data);
	*b = (struct pb){ 0 };
}

void pb_bytes(struct pb *b, const void *data, size_t len)
{
	if (!b->err)
		b->err = vec_room(&b->data, &b->cap, b->len + len, 1);
	if (b->err || !len)
		return;
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static size_t varint(uint8_t out[10], uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		out[n++] = (uint8_t)(v | 0x80);
	out[n++] = (uint8_t)v;
	return n;
}

void pb_varint(struct pb *b, uint64_t v)
{
	uint8_t out[10];

	pb_bytes(b, out, varint(out, v));
}

static void tag(struct pb *b, uint32_t field, uint32_t wire)
{
	pb_varint(b, (uint64_t)field << 3 | wire);
}

void pb_u64(struct pb *b, uint32_t field, uint64_t v)
{
	tag(b, field, WIRE_VARINT);
	pb_varint(b, v);
}

void pb_fixed64(struct pb *b, uint32_t field, uint64_t v)
{
	tag(b, field, WIRE_64);
	pb_bytes(b, &v, sizeof(v));
}

void pb_double(struct pb *b, uint32_t field, double v)
{
	tag(b, field, WIRE_64);
	pb_bytes(b, &v, sizeof(v));
}

void pb_str(struct pb *b, uint32_t field, const char *s)
{
	tag(b, field, WIRE_LEN);
	pb_varint(b, strlen(s));
	pb_bytes(b, s, strlen(s));
}

size_t pb_open(struct pb *b, uint32_t field)
{
	tag(b, field, WIRE_LEN);
	return b->len;
}

void pb_close(struct pb *b, size_t at)
{
	uint8_t len[10];
	size_t n, body;

	if (b->err)
		return;
	body = b->len - at;
	n = varint(len, body);
	pb_bytes(b, len, n); /* room; its place is before the body */
	if (b->err)
		return;
	memmove(b->data + at + n, b->data + at, body);
	memcpy(b->data + at, len, n);
}
