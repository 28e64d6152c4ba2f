/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - records of steps, packed and unpacked. See steps.h. */
#include "store/steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/varint.h"

#define RAW_MAX ((size_t)STORE_STEPS * STEP_MAX)
#define LEVEL   1

struct steps_codec {
	ZSTD_CCtx *zip;   /* owned */
	ZSTD_DCtx *unzip; /* owned */
	struct rows raw;
};

int steps_codec_new(struct steps_codec **out)
{
	struct steps_codec *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	*out = c;
	return 0;
}

void steps_codec_free(struct steps_codec *c)
{
	if (!c)
		return;
	ZSTD_freeCCtx(c->zip);
	ZSTD_freeDCtx(c->unzip);
	rows_fini(&c->raw);
	free(c);
}

static int raw_room(struct steps_codec *c, size_t len)
{
	c->raw.len = 0;
	return rows_reserve(&c->raw, len ? len : 1);
}

/* Each record is checked: what is stored can be read. */
static int to_raw(struct steps_codec *c, const struct store_steps *b)
{
	const uint8_t *was = NULL;
	size_t at = 0, was_len = 0;
	struct step_rec r;
	uint32_t n = 0;

	for (; at < b->len; n++) {
		int len = step_rec_decode(&r, b->bytes + at, b->len - at);

		if (len < 0)
			return -EINVAL;
		for (size_t i = 0; i < (size_t)len; i++)
			c->raw.data[at + i] =
				(uint8_t)(b->bytes[at + i] - (i < was_len ? was[i] : 0));
		was = b->bytes + at;
		was_len = (size_t)len;
		at += was_len;
	}
	return n == b->count ? 0 : -EINVAL;
}

int steps_pack(struct steps_codec *c, const struct store_steps *b, struct rows *out)
{
	struct seal s = { .type = SEAL_STEPS,
			  .owner = b->process,
			  .count = b->count,
			  .t0_ns = b->t0_ns,
			  .t1_ns = b->t1_ns };
	size_t bound = ZSTD_compressBound(b->len), n;
	uint8_t *body, *p;
	int err;

	if (!b->count || b->count > STORE_STEPS || b->len > RAW_MAX)
		return -EINVAL;
	out->len = 0;
	err = rows_reserve(out, sizeof(s) + VARINT_MAX + bound + b->len);
	if (err == 0)
		err = raw_room(c, b->len);
	if (err == 0)
		err = to_raw(c, b);
	if (err < 0)
		return err;
	if (!c->zip)
		c->zip = ZSTD_createCCtx();
	if (!c->zip)
		return -ENOMEM;
	body = out->data + sizeof(s);
	p = varint_put(body, b->len);
	n = ZSTD_compressCCtx(c->zip, p, bound, c->raw.data, b->len, LEVEL);
	if (ZSTD_isError(n) || n >= b->len) {
		memcpy(p, c->raw.data, b->len);
		n = b->len;
	}
	s.len = (uint32_t)(p + n - body);
	seal_close(&s, body);
	memcpy(out->data, &s, sizeof(s));
	out->len = sizeof(s) + s.len;
	return 0;
}

/* Back from differences; each record says how long it is. */
static int from_raw(struct steps_codec *c, uint32_t count)
{
	uint8_t *raw = c->raw.data, *was = NULL;
	size_t at = 0, was_len = 0;
	struct step_rec r;

	for (uint32_t n = 0; n < count; n++) {
		size_t left = c->raw.len - at;
		int len;

		for (size_t i = 0; i < was_len && i < left; i++)
			raw[at + i] = (uint8_t)(raw[at + i] + was[i]);
		len = step_rec_decode(&r, raw + at, left);
		/* A longer record before it: what is behind this one was changed as well. */
		for (size_t i = len > 0 ? (size_t)len : left; len > 0 && i < was_len && i < left;
		     i++)
			raw[at + i] = (uint8_t)(raw[at + i] - was[i]);
		if (len < 0)
			return -EBADMSG;
		was = raw + at;
		was_len = (size_t)len;
		at += was_len;
	}
	return at == c->raw.len ? 0 : -EBADMSG;
}

int steps_unpack(struct steps_codec *c, const void *data, size_t len, struct store_steps *out)
{
	struct varint_in in;
	struct seal s;
	uint64_t want;
	size_t left;
	int err;

	err = seal_check(&s, data, len);
	if (err < 0)
		return err == -EPROTO ? err : -EBADMSG;
	in = (struct varint_in){ (const uint8_t *)data + sizeof(s),
				 (const uint8_t *)data + sizeof(s) + s.len, false };
	want = varint_get(&in);
	left = (size_t)(in.end - in.p);
	if (s.type != SEAL_STEPS || in.bad || !s.count || s.count > STORE_STEPS || want > RAW_MAX ||
	    want < left)
		return -EBADMSG;
	if (!c->unzip)
		c->unzip = ZSTD_createDCtx();
	if (!c->unzip || raw_room(c, want) < 0)
		return -ENOMEM;
	if (want == left)
		memcpy(c->raw.data, in.p, left);
	else if (ZSTD_decompressDCtx(c->unzip, c->raw.data, want, in.p, left) != want)
		return -EBADMSG;
	c->raw.len = want;
	err = from_raw(c, s.count);
	if (err == 0)
		*out = (struct store_steps){
			s.owner, s.count, s.t0_ns, s.t1_ns, c->raw.data, want
		};
	return err;
}
