/* SPDX-License-Identifier: Apache-2.0 */
/* rowbin.c - encodes rows, and decodes them. */
#include "ship/rowbin.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "base/vec.h"

#define VARINT_BYTES 3u /* bytes of the length of the longest string */

static const uint8_t width[SHIP_TYPES] = {
	[SHIP_T_U8] = 1,  [SHIP_T_U16] = 2, [SHIP_T_U32] = 4, [SHIP_T_U64] = 8,
	[SHIP_T_I32] = 4, [SHIP_T_F32] = 4, [SHIP_T_F64] = 8, [SHIP_T_DAY] = 2,
};

void rowbin_fini(struct rowbin *b)
{
	free(b->data);
	*b = (struct rowbin){ 0 };
}

static int reserve(struct rowbin *b, size_t more)
{
	return vec_room(&b->data, &b->cap, b->len + more, 1);
}

static bool is_string(const struct ship_col *c)
{
	return c->type == SHIP_T_STR || c->type == SHIP_T_WORD;
}

static const struct ship_str *string_of(const struct ship_col *c, const void *row)
{
	return (const void *)((const char *)row + c->off);
}

static size_t cut(const struct ship_str *s)
{
	return s->len < ROWBIN_STR_MAX ? s->len : ROWBIN_STR_MAX;
}

static size_t size_of(const struct ship_table *t, const void *row)
{
	size_t n = 0;

	for (uint32_t i = 0; i < t->cols; i++)
		n += is_string(&t->col[i]) ? VARINT_BYTES + cut(string_of(&t->col[i], row))
					   : width[t->col[i].type];
	return n;
}

static uint8_t *put_string(uint8_t *at, const struct ship_str *s)
{
	size_t len = cut(s);

	at = varint_put(at, len);
	if (len)
		memcpy(at, s->s, len);
	return at + len;
}

int rowbin_put(struct rowbin *b, const struct ship_table *t, const void *row)
{
	uint16_t day;
	uint64_t t_ns;
	uint8_t *at;

	if (reserve(b, size_of(t, row)))
		return -ENOMEM;
	memcpy(&t_ns, (const char *)row + t->time_off, sizeof(t_ns));
	day = ship_day(t_ns);
	at = b->data + b->len;
	for (uint32_t i = 0; i < t->cols; i++) {
		const struct ship_col *c = &t->col[i];

		if (is_string(c)) {
			at = put_string(at, string_of(c, row));
			continue;
		}
		memcpy(at, c->type == SHIP_T_DAY ? (const char *)&day : (const char *)row + c->off,
		       width[c->type]);
		at += width[c->type];
	}
	b->len = (size_t)(at - b->data);
	return 0;
}

/* Decodes the string at `at`: its size including the length, or -errno. */
static int get_string(const uint8_t *at, size_t left, struct ship_str *out)
{
	struct varint_in in = { at, at + (left < VARINT_BYTES ? left : VARINT_BYTES), false };
	size_t len = varint_get(&in), n = (size_t)(in.p - at);

	if (in.bad)
		return left < VARINT_BYTES ? -ENODATA : -EBADMSG;
	if (len > ROWBIN_STR_MAX || n != varint_len(len)) /* a length has only one valid encoding */
		return -EBADMSG;
	if (len > left - n)
		return -ENODATA;
	*out = (struct ship_str){ (const char *)at + n, len };
	return (int)(n + len);
}

int rowbin_get(const struct ship_table *t, uint32_t cols, const void *data, size_t len, void *row)
{
	const uint8_t *at = data, *end = at + len;
	int n;

	memset(row, 0, t->row);
	for (uint32_t i = 0; i < cols; i++) {
		const struct ship_col *c = &t->col[i];
		void *field = (char *)row + c->off;

		if (is_string(c)) {
			n = get_string(at, (size_t)(end - at), field);
			if (n < 0)
				return n;
		} else {
			n = width[c->type];
			if (end - at < n)
				return -ENODATA;
			memcpy(field, at, (size_t)n);
		}
		at += n;
	}
	return (int)(at - (const uint8_t *)data);
}

/* Large enough for a row of any table. */
union any_row {
#define TABLE(ID, name, newest, time, order, partition, days, what) struct ship_##name name;
#define COL(TYPE, name, CODEC, since, what)
#define END(ID, name)
#include "ship/table.tbl.h"
};

static const struct ship_col *day_of(const struct ship_table *t)
{
	for (uint32_t i = 0; i < t->cols; i++)
		if (t->col[i].type == SHIP_T_DAY)
			return &t->col[i];
	return NULL;
}

int rowbin_check(const struct ship_table *t, uint32_t cols, const void *data, size_t len,
		 uint32_t rows, uint16_t *day)
{
	const struct ship_col *c = day_of(t);
	const uint8_t *at = data;
	uint16_t first = 0, one;
	union any_row row;

	for (uint32_t i = 0; i < rows; i++) {
		int n = rowbin_get(t, cols, at, len, &row);

		if (n < 0)
			return n;
		memcpy(&one, (const char *)&row + c->off, sizeof(one));
		if (i && one != first)
			return -EBADMSG;
		first = one;
		at += n;
		len -= (size_t)n;
	}
	if (len || !rows)
		return -EBADMSG;
	*day = first;
	return 0;
}
