/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pb.h - reads the wire format of protobuf field by field, from untrusted bytes.
 *
 *	while (pb_next(&in, &f)) switch (f.num) { ... }
 *	if (in.bad) ... at in.p
 */
#ifndef AON_PB_H
#define AON_PB_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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
	const uint8_t *start = in->p;
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 70 && in->p < in->end; shift += 7) {
		uint8_t b = *in->p++;

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	in->p = start;
	in->bad = true;
	return 0;
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

/* Where pb_next() found that a field is longer than what is left: that, as its data. */
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

#endif /* AON_PB_H */
