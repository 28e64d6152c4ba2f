/* SPDX-License-Identifier: Apache-2.0 */
/* blob_dec.c - the decoder: untrusted bytes back into events. Holds at most about 1.2 MB. */
#include "store/blob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "store/columns.h"
#include "store/seal.h"
#include "store/varint.h"

static const uint8_t widths[COLS] = {
#define X(num, NAME, width) [num] = width,
	COLUMNS(X)
#undef X
};

struct blob_dec {
	ZSTD_DCtx *zstd; /* owned */
	struct column_state state;
	struct varint_in col[COLS]; /* each in raw[] */
	uint8_t raw[COLUMNS_WIDTH * BLOB_EVENTS];
	struct event ev[BLOB_EVENTS];
};

int blob_dec_new(struct blob_dec **out)
{
	struct blob_dec *d = malloc(sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->zstd = ZSTD_createDCtx();
	if (!d->zstd) {
		free(d);
		return -ENOMEM;
	}
	*out = d;
	return 0;
}

void blob_dec_free(struct blob_dec *d)
{
	if (!d)
		return;
	ZSTD_freeDCtx(d->zstd);
	free(d);
}

/* One column's `raw` bytes to `to`. */
static int unpack_column(struct blob_dec *d, uint8_t *to, size_t raw, int codec,
			 const uint8_t *from, size_t stored)
{
	switch (codec) {
	case CODEC_RAW:
		if (stored != raw)
			return -EBADMSG;
		memcpy(to, from, raw);
		return 0;
	case CODEC_CONST:
		if (stored != 1)
			return -EBADMSG;
		memset(to, *from, raw);
		return 0;
	case CODEC_ZSTD:
		return ZSTD_decompressDCtx(d->zstd, to, raw, from, stored) == raw ? 0 : -EBADMSG;
	default:
		return -EPROTO;
	}
}

static int unpack(struct blob_dec *d, struct varint_in *in, size_t events)
{
	uint8_t *to = d->raw;

	memset(d->col, 0, sizeof(d->col));
	while (in->p < in->end) {
		uint64_t raw, stored;
		uint8_t id, codec;
		int err;

		if (in->end - in->p < 2)
			return -EBADMSG;
		id = *in->p++;
		codec = *in->p++;
		raw = varint_get(in);
		stored = varint_get(in);
		if (in->bad || stored > (size_t)(in->end - in->p))
			return -EBADMSG;
		if (id < COLS) {
			if (d->col[id].p || raw > widths[id] * events)
				return -EBADMSG;
			err = unpack_column(d, to, raw, codec, in->p, stored);
			if (err < 0)
				return err;
			d->col[id] = (struct varint_in){ to, to + raw, false };
			to += raw;
		}
		in->p += stored;
	}
	return 0;
}

static inline uint8_t get_byte(struct varint_in *c)
{
	if (c->p < c->end)
		return *c->p++;
	c->bad = true;
	return 0;
}

/* A time from its three columns, `c` the first of them. */
static inline uint64_t get_split(struct varint_in *c)
{
	uint64_t v = get_byte(&c[0]);

	if (!(v & 0x80))
		return v;
	v = (v & 0x7f) | (uint64_t)get_byte(&c[1]) << 7;
	if (!(v & 1u << 14))
		return v;
	return (v & 0x3fff) | varint_get(&c[2]) << 14;
}

static void get_what(struct varint_in *c, struct column_state *s, struct event *ev)
{
	uint8_t tag = get_byte(&c[COL_TAG]);
	uint64_t *last_a;

	*ev = (struct event){ .kind = tag & TAG_KIND, .lane = s->lane };
	if (tag & TAG_LANE)
		ev->lane += (uint32_t)unzigzag(varint_get(&c[COL_LANE]));
	if (tag & TAG_EXTRA) {
		ev->flags = get_byte(&c[COL_FLAGS]);
		ev->depth = (uint16_t)varint_get(&c[COL_DEPTH]);
		ev->b = s->b + unzigzag(varint_get(&c[COL_B]));
		s->b = ev->b;
	}
	ev->corr = s->lanes[ev->lane % STATE_LANES].corr;
	if (tag & TAG_CORR)
		ev->corr += (uint32_t)unzigzag(varint_get(&c[COL_CORR]));
	ev->name = (uint32_t)varint_get(&c[COL_NAME]);
	ev->a = varint_get(&c[COL_A]);
	if (!column_gpu(ev->kind)) {
		last_a = &s->a[ev->name % STATE_NAMES];
		ev->a = *last_a + unzigzag(ev->a);
		*last_a = ev->a;
	}
}

static void get_when(struct varint_in *c, struct column_state *s, struct event *ev)
{
	struct column_lane *l = &s->lanes[ev->lane % STATE_LANES];
	uint32_t *dur = &s->dur[column_dur(ev->kind, ev->name, ev->a)];
	uint64_t at = (l->end_ns ? l->end_ns : s->end_ns) + unzigzag(get_split(c + COL_GAP0));

	ev->dur_ns = *dur + unzigzag(get_split(c + COL_DUR0));
	ev->start_ns = column_from_end(l, ev->kind, ev->depth) ? at - ev->dur_ns : at;
	*dur = (uint32_t)ev->dur_ns;
	s->end_ns = ev->start_ns + ev->dur_ns;
	s->lane = ev->lane;
	*l = (struct column_lane){ .end_ns = s->end_ns, .corr = ev->corr, .depth = ev->depth };
}

int blob_decode(struct blob_dec *d, const void *data, size_t len, const struct event **out,
		size_t *n)
{
	struct varint_in in;
	struct seal s;
	int err;

	err = seal_check(&s, data, len);
	if (err < 0)
		return err == -EPROTO ? err : -EBADMSG;
	if (s.type != SEAL_EVENTS || s.count > BLOB_EVENTS)
		return -EBADMSG;
	in.p = (const uint8_t *)data + sizeof(s);
	in.end = in.p + s.len;
	in.bad = false;
	err = unpack(d, &in, s.count);
	if (err < 0)
		return err;
	memset(&d->state, 0, sizeof(d->state));
	for (uint32_t i = 0; i < s.count; i++) {
		get_what(d->col, &d->state, &d->ev[i]);
		get_when(d->col, &d->state, &d->ev[i]);
	}
	for (int i = 0; i < COLS; i++)
		if (d->col[i].bad || d->col[i].p != d->col[i].end)
			return -EBADMSG;
	*out = d->ev;
	*n = s.count;
	return 0;
}
