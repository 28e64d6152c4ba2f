/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c - encodes, checks and decodes a batch. */
#include "ship/spool/batch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/vec.h"

#define LEVEL 3 /* repeats lie a row apart: level 1 hardly finds them */

uint64_t ship_hash(const void *data, size_t len)
{
	uint64_t h = XXH3_64bits(data, len);

	return h ? h : 1;
}

uint64_t ship_hash_text(const char *s)
{
	return ship_hash(s, strlen(s));
}

static uint64_t head_sum(const struct batch_head *h)
{
	return XXH3_64bits(h, offsetof(struct batch_head, sum));
}

int batch_pack(struct rowbin *out, struct batch_head *h, enum ship_table_id table,
	       const struct rowbin *rows, uint32_t n)
{
	const struct ship_table *t = ship_table(table);
	uint16_t day;
	size_t got;
	int err;

	if (n > BATCH_ROWS_MAX || rows->len > BATCH_BYTES_MAX)
		return -E2BIG;
	if (rowbin_check(t, t->cols, rows->data, rows->len, n, &day))
		return -EBADMSG;
	err = vec_room(&out->data, &out->cap, BATCH_HEAD + ZSTD_compressBound(rows->len), 1);
	if (err)
		return err;
	got = ZSTD_compress(out->data + BATCH_HEAD, out->cap - BATCH_HEAD, rows->data, rows->len,
			    LEVEL);
	if (ZSTD_isError(got))
		return -ENOMEM;
	h->magic = BATCH_MAGIC;
	h->version = BATCH_VERSION;
	h->schema = SHIP_SCHEMA;
	memset(h->table, 0, sizeof(h->table));
	memcpy(h->table, t->name, strlen(t->name));
	h->rows = n;
	h->bytes = (uint32_t)rows->len;
	h->stored = (uint32_t)got;
	h->day = day;
	h->body_sum = XXH3_64bits(out->data + BATCH_HEAD, got);
	h->sum = head_sum(h);
	memcpy(out->data, h, BATCH_HEAD);
	out->len = BATCH_HEAD + got;
	return 0;
}

int batch_parse_head(struct batch_head *out, const void *data, size_t len)
{
	struct batch_head h;

	if (len < BATCH_HEAD)
		return -ENODATA;
	memcpy(&h, data, sizeof(h));
	if (h.magic != BATCH_MAGIC || h.sum != head_sum(&h) || h.table[sizeof(h.table) - 1])
		return -EBADMSG;
	if (h.version != BATCH_VERSION || h.schema > SHIP_SCHEMA || ship_table_find(h.table) < 0)
		return -EPROTO;
	if (!h.rows || h.rows > BATCH_ROWS_MAX || !h.bytes || h.bytes > BATCH_BYTES_MAX ||
	    h.stored > BATCH_MAX - BATCH_HEAD || !h.src || !h.seq || h.day > UINT16_MAX)
		return -EBADMSG;
	*out = h;
	return 0;
}

int batch_parse(struct batch_head *out, const void *data, size_t len)
{
	struct batch_head h;
	int err = batch_parse_head(&h, data, len);

	if (err)
		return err;
	if (len - BATCH_HEAD < h.stored)
		return -ENODATA;
	if (len - BATCH_HEAD > h.stored ||
	    h.body_sum != XXH3_64bits((const char *)data + BATCH_HEAD, h.stored))
		return -EBADMSG;
	*out = h;
	return 0;
}

enum ship_table_id batch_table(const struct batch_head *h)
{
	return (enum ship_table_id)ship_table_find(h->table);
}

int batch_unpack(struct rowbin *out, const struct batch_head *h, const void *data)
{
	const struct ship_table *t = ship_table(batch_table(h));
	uint16_t day = 0;
	size_t got;
	int err = vec_room(&out->data, &out->cap, h->bytes, 1);

	if (err)
		return err;
	got = ZSTD_decompress(out->data, h->bytes, (const char *)data + BATCH_HEAD, h->stored);
	if (ZSTD_isError(got) || got != h->bytes)
		return -EBADMSG;
	err = rowbin_check(t, ship_cols(t, h->schema), out->data, got, h->rows, &day);
	if (err || day != h->day)
		return -EBADMSG;
	out->len = got;
	return 0;
}

char *batch_token(char out[BATCH_TOKEN], const struct batch_head *h)
{
	snprintf(out, BATCH_TOKEN, "%016llx-%llu", (unsigned long long)h->src,
		 (unsigned long long)h->seq);
	return out;
}
