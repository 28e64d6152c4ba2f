/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pb.h - reads the wire format of protobuf field by field, from untrusted bytes, and writes it.
 *
 *	while (pb_next(&in, &f)) switch (f.num) { ... }
 *	if (in.bad) ... at in.p
 *
 *	at = pb_open(&out, FIELD); pb_put_u64(&out, 1, v); pb_close(&out, at);
 *	if (out.err) ...
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/varint.h"

/* --- reading --- */

struct pb {
	const uint8_t *p, *end;
	bool bad; /* p is where */
};

struct pb_field {
	uint32_t num;
	uint8_t wire;   /* 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes */
	uint64_t v;     /* of 0, 1 and 5 */
	struct pb data; /* of 2 */
};

static inline uint64_t pb_varint(struct pb *in)
{
	struct varint_in at = { in->p, in->end, false };
	uint64_t v = varint_get(&at);

	if (at.bad)
		in->bad = true;
	else
		in->p = at.p;
	return v;
}

static inline bool pb_next(struct pb *in, struct pb_field *f)
{
	const uint8_t *start = in->p;
	uint64_t tag, len = 0;

	if (in->bad || in->p >= in->end)
		return false;
	tag = pb_varint(in);
	f->num = (uint32_t)(tag >> 3);
	f->wire = tag & 7;
	f->v = 0;
	if (f->wire == 0)
		f->v = pb_varint(in);
	else if (f->wire == 1)
		len = 8;
	else if (f->wire == 5)
		len = 4;
	else if (f->wire == 2)
		len = pb_varint(in);
	else
		in->bad = true;
	if (in->bad || !f->num || tag >> 35 || len > (uint64_t)(in->end - in->p)) {
		in->bad = true;
		in->p = start;
		return false;
	}
	f->data = (struct pb){ in->p, in->p + len, false };
	if (f->wire == 1 || f->wire == 5)
		memcpy(&f->v, in->p, len);
	in->p += len;
	return true;
}

/* If a field is longer than the remaining bytes (pb_next() failed): these bytes as its data. */
static inline bool pb_rest(struct pb *in, struct pb_field *f)
{
	struct pb at = { in->p, in->end, false };
	uint64_t tag = pb_varint(&at), len = pb_varint(&at);

	if (!in->bad || at.bad || (tag & 7) != 2 || len <= (uint64_t)(in->end - at.p))
		return false;
	*f = (struct pb_field){ .num = (uint32_t)(tag >> 3), .wire = 2, .data = at };
	return true;
}

static inline bool pb_is(const struct pb *data, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(data->end - data->p) == len && !memcmp(data->p, text, len);
}

/* --- writing --- */

struct pb_out {
	uint8_t *data; /* owned */
	size_t len, cap;
	int err; /* -ENOMEM: nothing is added after it */
};

void pb_free(struct pb_out *b);

/* Raw bytes outside of any field. */
void pb_put_raw(struct pb_out *b, const void *data, size_t len);
void pb_put_varint(struct pb_out *b, uint64_t v);

void pb_put_u64(struct pb_out *b, uint32_t field, uint64_t v);
void pb_put_fixed64(struct pb_out *b, uint32_t field, uint64_t v);
void pb_put_double(struct pb_out *b, uint32_t field, double v);
void pb_put_bytes(struct pb_out *b, uint32_t field, const void *data, size_t len);
void pb_put_str(struct pb_out *b, uint32_t field, const char *s);

/* A message, or packed numbers: what is added between the two is in it. */
size_t pb_open(struct pb_out *b, uint32_t field);
void pb_close(struct pb_out *b, size_t at);
