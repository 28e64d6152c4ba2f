/* SPDX-License-Identifier: Apache-2.0 */
/* blob_pack.c - compresses a sealed blob, column by column, and puts the sums on it. */
#include "store/blob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/varint.h"
#include "base/vec.h"
#include "store/columns.h"
#include "store/seal.h"

/* A column shorter than this is left as it is: a frame of zstd has a head of its own. */
#define PACK_MIN 32u

/*
 * Two compressors. Low bits of times are jitter: looking for repeats there takes most of the
 * time and finds what it should not use. Theirs hardly looks (a table of 64, in large steps)
 * and only counts how often each byte occurs: 20 -> 14 ns an event, and no byte more.
 */
struct blob_packer {
	ZSTD_CCtx *zstd;  /* owned */
	ZSTD_CCtx *noise; /* owned: for the columns ..0 and ..1 of times */
	uint8_t *out;     /* owned; cap bytes */
	size_t cap;
};

static ZSTD_CCtx *new_zstd(int hash_log)
{
	ZSTD_CCtx *z = ZSTD_createCCtx();

	if (!z)
		return NULL;
	ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, 1);
	ZSTD_CCtx_setParameter(z, ZSTD_c_contentSizeFlag, 0);
	ZSTD_CCtx_setParameter(z, ZSTD_c_hashLog, hash_log);
	ZSTD_CCtx_setParameter(z, ZSTD_c_minMatch, 7);
	return z;
}

/* Large steps turn entropy coding off by default, so it is asked for (literalCompressionMode);
 * a library that does not know the word keeps to small steps. */
static void only_count(ZSTD_CCtx *z)
{
	if (!ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_experimentalParam5, 1)))
		ZSTD_CCtx_setParameter(z, ZSTD_c_targetLength, 8);
}

int blob_packer_new(struct blob_packer **out)
{
	struct blob_packer *z = calloc(1, sizeof(*z));

	if (!z)
		return -ENOMEM;
	z->zstd = new_zstd(12); /* stays in the first cache */
	z->noise = new_zstd(6);
	if (!z->zstd || !z->noise) {
		blob_packer_free(z);
		return -ENOMEM;
	}
	only_count(z->noise);
	*out = z;
	return 0;
}

static bool is_noise(int col)
{
	return col == COL_GAP0 || col == COL_GAP1 || col == COL_DUR0 || col == COL_DUR1 ||
	       col == COL_S_TICK0;
}

void blob_packer_free(struct blob_packer *z)
{
	if (!z)
		return;
	ZSTD_freeCCtx(z->zstd);
	ZSTD_freeCCtx(z->noise);
	free(z->out);
	free(z);
}

/* The stored form of one column at `p`, which has room for the raw one. Returns its codec. */
static int pack_column(ZSTD_CCtx *z, uint8_t *p, const uint8_t *raw, size_t len, size_t *stored)
{
	size_t n;

	if (len > 1 && memcmp(raw, raw + 1, len - 1) == 0) {
		*p = *raw;
		*stored = 1;
		return CODEC_CONST;
	}
	if (len >= PACK_MIN) {
		n = ZSTD_compress2(z, p, len - 1, raw, len);
		if (!ZSTD_isError(n)) {
			*stored = n;
			return CODEC_ZSTD;
		}
	}
	memcpy(p, raw, len);
	*stored = len;
	return CODEC_RAW;
}

static uint8_t *pack_body(struct blob_packer *z, uint8_t *p, struct varint_in *in)
{
	uint8_t head[2 + 2 * VARINT_MAX], *h;
	size_t raw, stored;

	while (in->p < in->end) {
		h = head;
		*h++ = *in->p++;
		in->p++; /* CODEC_RAW */
		raw = varint_get(in);
		varint_get(in);
		/* After the longest head that it may get, then moved up to the head it got. */
		*h++ = (uint8_t)pack_column(is_noise(head[0]) ? z->noise : z->zstd,
					    p + sizeof(head), in->p, raw, &stored);
		h = varint_put(varint_put(h, raw), stored);
		memcpy(p, head, (size_t)(h - head));
		p += h - head;
		memmove(p, p + sizeof(head) - (h - head), stored);
		p += stored;
		in->p += raw;
	}
	return p;
}

int blob_pack(struct blob_packer *z, struct blob *b)
{
	struct seal s = { .type = SEAL_EVENTS,
			  .t0_ns = b->t0_ns,
			  .t1_ns = b->t1_ns,
			  .count = b->events,
			  .records = b->records };
	struct varint_in in = { b->data + sizeof(s), b->data + b->len, false };
	uint8_t *p;
	int err;

	if (b->packed)
		return 0;
	err = vec_room(&z->out, &z->cap, b->len + 2 + 2 * VARINT_MAX, 1);
	if (err < 0)
		return err;
	p = pack_body(z, z->out, &in);
	s.len = (uint32_t)(p - z->out);
	/* A packed column is never longer than the raw one, so everything fits where it came from. */
	memcpy(b->data + sizeof(s), z->out, s.len);
	seal_close(&s, b->data + sizeof(s));
	memcpy(b->data, &s, sizeof(s));
	b->len = (uint32_t)sizeof(s) + s.len;
	b->packed = 1;
	return 0;
}
