/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry.c - the tables of entries, and the encoding of an entry in a store.
 *
 * Protobuf's wire format: field 1 is the kind, the others have the numbers of entry.tbl.h. Numbers are varints (INT
 * folded), REAL is eight bytes, TEXT is bytes that end with a NUL, so that a reader can borrow them as they are.
 */
#include "model/entry.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/pb.h"

#define KIND_NUMBER 1u
#define TEXT_MAX    2047u
#define WIRE_VARINT 0u
#define WIRE_REAL   1u
#define WIRE_BYTES  2u

const struct entry_field_row entry_fields[FIELDS] = {
#define FIELD(ID, number, TYPE, name, UNIT) { name, number, ENTRY_T_##TYPE, ENTRY_U_##UNIT },
#include "model/entry.tbl.h"
};

const struct entry_kind_row entry_kinds[ENTRY_KINDS] = {
#define ENTRY(ID, number, what, word, sentence) { what, word, sentence, number },
#include "model/entry.tbl.h"
};

const char *entry_what(const struct journal_entry *e)
{
	return e->kind == ENTRY_LINE ? entry_word(e, FIELD_WHAT) : entry_kinds[e->kind].what;
}

enum entry_kind entry_alarm(const char *word, size_t len)
{
	for (int k = ENTRY_HANG; k < ENTRY_KINDS; k++)
		if (strlen(entry_kinds[k].word) == len && !memcmp(entry_kinds[k].word, word, len))
			return (enum entry_kind)k;
	return ENTRY_KINDS;
}

/* --- lists --- */

static uint8_t *put(uint8_t *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	return p;
}

size_t entry_pack(uint8_t *buf, size_t cap, size_t len, uint64_t v)
{
	return len + 10 > cap ? len : (size_t)(put(buf + len, v) - buf);
}

bool entry_next(const struct journal_entry *e, enum entry_field f, size_t *at, uint64_t *v)
{
	const uint8_t *from = entry_has(e, f) ? e->v[f].list.at : NULL;
	struct pb in;

	if (!from || *at >= e->v[f].list.len)
		return false;
	in = (struct pb){ from + *at, from + e->v[f].list.len, false };
	*v = pb_varint(&in);
	*at = (size_t)(in.p - from);
	return !in.bad;
}

const char *entry_next_text(const struct journal_entry *e, enum entry_field f, size_t *at)
{
	const char *from = entry_has(e, f) ? e->v[f].list.at : NULL, *text;

	if (!from || *at >= e->v[f].list.len)
		return NULL;
	text = from + *at;
	*at += strlen(text) + 1;
	return text;
}

/* --- encoding --- */

static uint8_t *put_bytes(uint8_t *p, const void *at, size_t len)
{
	p = put(p, len);
	if (len)
		memcpy(p, at, len);
	return p + len;
}

static uint8_t *put_text(uint8_t *p, const char *text)
{
	size_t n = strnlen(text, TEXT_MAX);

	p = put(p, n + 1);
	memcpy(p, text, n);
	p[n] = '\0';
	return p + n + 1;
}

static uint8_t *put_field(uint8_t *p, const struct journal_entry *e, int f)
{
	uint64_t tag = (uint64_t)entry_fields[f].number << 3;

	switch (entry_fields[f].type) {
	case ENTRY_T_UINT:
	case ENTRY_T_FLAG:
		return put(put(p, tag | WIRE_VARINT), e->v[f].u);
	case ENTRY_T_INT:
		return put(put(p, tag | WIRE_VARINT),
			   (uint64_t)e->v[f].i << 1 ^ (uint64_t)(e->v[f].i >> 63));
	case ENTRY_T_REAL:
		p = put(p, tag | WIRE_REAL);
		memcpy(p, &e->v[f].f, sizeof(double));
		return p + sizeof(double);
	case ENTRY_T_TEXT:
		return put_text(put(p, tag | WIRE_BYTES), e->v[f].s);
	case ENTRY_T_UINTS:
	case ENTRY_T_TEXTS:
		return put_bytes(put(p, tag | WIRE_BYTES), e->v[f].list.at, e->v[f].list.len);
	}
	return p;
}

/* Room that it takes at most. */
static size_t room(const struct journal_entry *e, int f)
{
	switch (entry_fields[f].type) {
	case ENTRY_T_TEXT:
		return strnlen(e->v[f].s, TEXT_MAX) + 16;
	case ENTRY_T_UINTS:
	case ENTRY_T_TEXTS:
		return e->v[f].list.len + 16;
	default:
		return 16;
	}
}

size_t entry_encode(const struct journal_entry *e, uint8_t out[ENTRY_BYTES])
{
	uint8_t *p = put(put(out, KIND_NUMBER << 3), entry_kinds[e->kind].number);

	for (int f = 0; f < FIELDS; f++) {
		bool is = entry_has(e, (enum entry_field)f) &&
			  (entry_fields[f].type != ENTRY_T_REAL || isfinite(e->v[f].f));

		if (is && room(e, f) <= ENTRY_BYTES - (size_t)(p - out))
			p = put_field(p, e, f);
	}
	return (size_t)(p - out);
}

/* --- decoding --- */

static bool is_list(const struct pb *data)
{
	struct pb in = *data;

	while (in.p < in.end && !in.bad)
		pb_varint(&in);
	return !in.bad;
}

static bool take(struct journal_entry *e, enum entry_field f, const struct pb_field *x)
{
	static const uint8_t wire[] = {
		[ENTRY_T_UINT] = WIRE_VARINT, [ENTRY_T_INT] = WIRE_VARINT,
		[ENTRY_T_REAL] = WIRE_REAL,   [ENTRY_T_FLAG] = WIRE_VARINT,
		[ENTRY_T_TEXT] = WIRE_BYTES,  [ENTRY_T_UINTS] = WIRE_BYTES,
		[ENTRY_T_TEXTS] = WIRE_BYTES,
	};
	enum entry_type type = entry_fields[f].type;
	size_t len = (size_t)(x->data.end - x->data.p);
	double real;

	if (x->wire != wire[type])
		return false;
	switch (type) {
	case ENTRY_T_UINT:
	case ENTRY_T_FLAG:
		entry_u(e, f, x->v);
		return true;
	case ENTRY_T_INT:
		entry_i(e, f, (int64_t)(x->v >> 1 ^ -(x->v & 1)));
		return true;
	case ENTRY_T_REAL:
		memcpy(&real, &x->v, sizeof(real));
		entry_f(e, f, real);
		return isfinite(real);
	case ENTRY_T_TEXT:
		entry_s(e, f, (const char *)x->data.p);
		return len && strnlen((const char *)x->data.p, len) == len - 1;
	case ENTRY_T_UINTS:
		entry_list(e, f, x->data.p, len);
		return is_list(&x->data);
	case ENTRY_T_TEXTS:
		entry_list(e, f, x->data.p, len);
		return !len || !x->data.end[-1];
	}
	return false;
}

static bool take_kind(struct journal_entry *e, uint64_t number)
{
	for (int k = 0; k < ENTRY_KINDS; k++)
		if (entry_kinds[k].number == number) {
			e->kind = (enum entry_kind)k;
			return true;
		}
	return false;
}

int entry_decode(struct journal_entry *e, const void *bytes, size_t len)
{
	struct pb in = { bytes, (const uint8_t *)bytes + len, false };
	struct pb_field x;
	bool known = false;

	e->have = 0;
	e->text = NULL;
	e->kind = ENTRY_LINE;
	while (pb_next(&in, &x)) {
		if (x.num == KIND_NUMBER && x.wire == WIRE_VARINT)
			known = take_kind(e, x.v);
		for (int f = 0; f < FIELDS; f++)
			if (entry_fields[f].number == x.num && !take(e, (enum entry_field)f, &x))
				return -EBADMSG;
	}
	if (!known && !entry_has(e, FIELD_WHAT)) /* of a version to come */
		entry_s(e, FIELD_WHAT, "unknown");
	return in.bad ? -EBADMSG : 0;
}
