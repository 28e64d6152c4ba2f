/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob_dec.c - the decoder: untrusted bytes back into the columns that are asked for.
 * Holds at most about 1.6 MB.
 */
#include "store/blob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/varint.h"
#include "store/columns.h"
#include "store/seal.h"

static const uint8_t widths[COLS] = {
#define X(num, NAME, width) [num] = width,
	COLUMNS(X)
#undef X
};

struct blob_dec {
	ZSTD_DCtx *zstd; /* owned */
	struct column_state state;
	struct varint_in col[COLS]; /* each in raw[] */
	uint8_t *to;                /* where the next one goes */
	bool samples;               /* some are there and asked for */
	uint8_t raw[COLUMNS_WIDTH * BLOB_EVENTS];
	struct event_strips out;
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

/* The columns of `want` (bits of enum column); the others are stepped over. */
static int unpack(struct blob_dec *d, const struct varint_in *body, size_t events, uint32_t want)
{
	struct varint_in scan = *body, *in = &scan;

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
		if (id < COLS && want >> id & 1) {
			if (d->col[id].p || raw > widths[id] * events)
				return -EBADMSG;
			err = unpack_column(d, d->to, raw, codec, in->p, stored);
			if (err < 0)
				return err;
			d->col[id] = (struct varint_in){ d->to, d->to + raw, false };
			d->to += raw;
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

/* Checks the sums, begins with a state of zeros; *body gets what is to be unpacked. */
static int begin(struct blob_dec *d, const void *data, size_t len, struct seal *s,
		 struct varint_in *body)
{
	int err;

	err = seal_check(s, data, len);
	if (err < 0)
		return err == -EPROTO ? err : -EBADMSG;
	if (s->type != SEAL_EVENTS || s->count > BLOB_EVENTS)
		return -EBADMSG;
	body->p = (const uint8_t *)data + sizeof(*s);
	body->end = body->p + s->len;
	body->bad = false;
	memset(&d->state, 0, sizeof(d->state));
	memset(d->col, 0, sizeof(d->col));
	d->to = d->raw;
	return 0;
}

/* Was each column that was unpacked as long as its events need? */
static int end(const struct blob_dec *d)
{
	for (int i = 0; i < COLS; i++)
		if (d->col[i].bad || d->col[i].p != d->col[i].end)
			return -EBADMSG;
	return 0;
}

/* --- one pass a column, each over what it needs --- */

#define C(NAME) (1u << COL_##NAME)

/* By bit of enum event_column: what it needs of the others, and of the blob. TAG is always there. */
static const struct {
	uint32_t cols, stored;
} needs[] = {
	/* clang-format off */
	{ EVENT_COL_DUR | EVENT_COL_TRACK | EVENT_COL_DEPTH, C(GAP0) | C(GAP1) | C(GAP2) }, /* START */
	{ EVENT_COL_NAME | EVENT_COL_A,                     C(DUR0) | C(DUR1) | C(DUR2) }, /* DUR */
	{ EVENT_COL_NAME,                                   C(A) },                        /* A */
	{ 0,                                                C(B) },                        /* B */
	{ 0,                                                C(NAME) },                     /* NAME */
	{ EVENT_COL_TRACK,                                   C(CORR) },                     /* CORR */
	{ 0,                                                C(TRACK) },                     /* TRACK */
	{ 0,                                                0 },                           /* KIND */
	{ 0,                                                C(FLAGS) },                    /* FLAGS */
	{ 0,                                                C(DEPTH) },                    /* DEPTH */
	/* clang-format on */
};

/* Adds what the columns of `want` need; *stored gets the columns of the blob. A column needs
 * only columns after it, so one pass is enough. */
static uint32_t close_over(uint32_t want, uint32_t *stored)
{
	*stored = C(TAG);
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (want >> i & 1) {
			want |= needs[i].cols;
			*stored |= needs[i].stored;
		}
	return want;
}

static inline bool is_sample(const struct blob_dec *d, size_t i)
{
	return d->out.kind[i] == EVENT_SAMPLE;
}

static void strip_track(struct blob_dec *d, const uint8_t *tag, size_t n)
{
	struct varint_in in = d->col[COL_TRACK];
	uint32_t track = 0;

	for (size_t i = 0; i < n; i++) {
		if (tag[i] & TAG_TRACK)
			track += (uint32_t)unzigzag(varint_get(&in));
		d->out.track[i] = is_sample(d, i) ? 0 : track;
	}
	d->col[COL_TRACK] = in;
}

static void strip_extra(struct blob_dec *d, const uint8_t *tag, size_t n, uint32_t want)
{
	uint64_t b = 0;

	for (size_t i = 0; i < n; i++) {
		bool has = tag[i] & TAG_EXTRA && !is_sample(d, i);

		if (want & EVENT_COL_FLAGS)
			d->out.flags[i] = has ? get_byte(&d->col[COL_FLAGS]) : 0;
		if (want & EVENT_COL_DEPTH)
			d->out.depth[i] = has ? (uint16_t)varint_get(&d->col[COL_DEPTH]) : 0;
		if (want & EVENT_COL_B) {
			b += has ? unzigzag(varint_get(&d->col[COL_B])) : 0;
			d->out.b[i] = has ? b : 0;
		}
	}
}

static void strip_corr(struct blob_dec *d, const uint8_t *tag, size_t n)
{
	struct varint_in in = d->col[COL_CORR];

	for (size_t i = 0; i < n; i++) {
		uint32_t *last = &d->state.tracks[d->out.track[i] % STATE_TRACKS].corr;

		if (tag[i] & TAG_CORR)
			*last += (uint32_t)unzigzag(varint_get(&in));
		d->out.corr[i] = is_sample(d, i) ? 0 : *last;
	}
	d->col[COL_CORR] = in;
}

static void strip_name(struct blob_dec *d, size_t n)
{
	struct varint_in in = d->col[COL_NAME];

	for (size_t i = 0; i < n; i++)
		d->out.name[i] = is_sample(d, i) ? 0 : (uint32_t)varint_get(&in);
	d->col[COL_NAME] = in;
}

static void strip_a(struct blob_dec *d, size_t n)
{
	struct varint_in in = d->col[COL_A];

	for (size_t i = 0; i < n; i++) {
		uint64_t *last = &d->state.a[d->out.name[i] % STATE_NAMES];
		uint64_t v = is_sample(d, i) ? 0 : varint_get(&in);

		if (!column_gpu(d->out.kind[i]))
			v = *last += unzigzag(v);
		d->out.a[i] = v;
	}
	d->col[COL_A] = in;
}

static void strip_dur(struct blob_dec *d, size_t n)
{
	struct varint_in in[3] = { d->col[COL_DUR0], d->col[COL_DUR1], d->col[COL_DUR2] };
	const struct event_strips *o = &d->out;

	for (size_t i = 0; i < n; i++) {
		uint32_t *last = &d->state.dur[column_dur(o->kind[i], o->name[i], o->a[i])];
		uint64_t v;

		if (is_sample(d, i)) {
			d->out.dur_ns[i] = 0;
			continue;
		}
		v = *last + unzigzag(get_split(in));
		d->out.dur_ns[i] = v;
		*last = (uint32_t)v;
	}
	memcpy(&d->col[COL_DUR0], in, sizeof(in));
}

static void strip_start(struct blob_dec *d, size_t n)
{
	struct varint_in in[3] = { d->col[COL_GAP0], d->col[COL_GAP1], d->col[COL_GAP2] };
	const struct event_strips *o = &d->out;
	uint64_t end_ns = 0;

	for (size_t i = 0; i < n; i++) {
		struct column_track *l = &d->state.tracks[o->track[i] % STATE_TRACKS];
		uint64_t at;

		if (is_sample(d, i)) {
			d->out.start_ns[i] = 0;
			continue;
		}
		at = (l->end_ns ? l->end_ns : end_ns) + unzigzag(get_split(in));
		if (column_from_end(l, o->kind[i], o->depth[i]))
			at -= o->dur_ns[i];
		d->out.start_ns[i] = at;
		end_ns = at + o->dur_ns[i];
		l->end_ns = end_ns;
		l->depth = o->depth[i];
	}
	memcpy(&d->col[COL_GAP0], in, sizeof(in));
}

/* Samples: all that they have, over what the other strips left there. */
#define S_COLUMNS (C(S_TICK0) | C(S_TICK1) | C(S_DUR) | C(S_NAME) | C(S_A) | C(S_B) | C(S_TRACK))

static void strip_sample(struct blob_dec *d, size_t i)
{
	struct column_samples *s = &d->state.samples;
	struct event_strips *o = &d->out;
	uint64_t late = get_byte(&d->col[COL_S_TICK0]);
	uint32_t slot;

	if (late & 0x80)
		late = (late & 0x7f) | varint_get(&d->col[COL_S_TICK1]) << 7;
	s->dur_ns += unzigzag(varint_get(&d->col[COL_S_DUR]));
	s->track += (uint32_t)unzigzag(varint_get(&d->col[COL_S_TRACK]));
	o->name[i] = (uint32_t)varint_get(&d->col[COL_S_NAME]);
	slot = o->name[i] % STATE_NAMES;
	o->a[i] = s->a[slot] += unzigzag(varint_get(&d->col[COL_S_A]));
	o->b[i] = s->b[slot] += unzigzag(varint_get(&d->col[COL_S_B]));
	o->track[i] = s->track;
	o->dur_ns[i] = s->dur_ns;
	o->start_ns[i] = (column_tick(s, s->track) + unzigzag(late)) * SAMPLE_TICK_NS;
	s->last_ns = o->start_ns[i] + s->dur_ns;
	s->end_ns[s->track % STATE_TRACKS] = s->last_ns;
}

/* True if one of the kinds of `kinds` is there. */
static bool strip_kind(struct blob_dec *d, const uint8_t *tag, size_t n, uint32_t kinds)
{
	uint32_t seen = 0;

	for (size_t i = 0; i < n; i++) {
		d->out.kind[i] = tag[i] & TAG_KIND;
		seen |= 1u << d->out.kind[i];
	}
	d->samples = seen & kinds & 1u << EVENT_SAMPLE;
	return seen & kinds;
}

static void strip_all(struct blob_dec *d, const uint8_t *tag, size_t n, uint32_t want)
{
	if (want & EVENT_COL_TRACK)
		strip_track(d, tag, n);
	if (want & (EVENT_COL_FLAGS | EVENT_COL_DEPTH | EVENT_COL_B))
		strip_extra(d, tag, n, want);
	if (want & EVENT_COL_CORR)
		strip_corr(d, tag, n);
	if (want & EVENT_COL_NAME)
		strip_name(d, n);
	if (want & EVENT_COL_A)
		strip_a(d, n);
	if (want & EVENT_COL_DUR)
		strip_dur(d, n);
	if (want & EVENT_COL_START)
		strip_start(d, n);
	for (size_t i = 0; d->samples && i < n; i++)
		if (is_sample(d, i))
			strip_sample(d, i);
}

int blob_columns(struct blob_dec *d, const void *data, size_t len, uint32_t want, uint32_t kinds,
		 struct event_columns *out)
{
	uint32_t stored, all = close_over(want, &stored);
	struct varint_in body;
	const uint8_t *tag;
	struct seal s;
	int err;

	err = begin(d, data, len, &s, &body);
	if (err == 0)
		err = unpack(d, &body, s.count, C(TAG));
	if (err < 0)
		return err;
	tag = d->col[COL_TAG].p;
	if ((size_t)(d->col[COL_TAG].end - tag) != s.count)
		return -EBADMSG;
	d->col[COL_TAG].p = d->col[COL_TAG].end;
	*out = (struct event_columns){ 0 };
	if (!strip_kind(d, tag, s.count, kinds))
		return 0;
	err = unpack(d, &body, s.count, (stored & ~C(TAG)) | (d->samples ? S_COLUMNS : 0));
	if (err < 0)
		return err;
	strip_all(d, tag, s.count, all);
	err = end(d);
	if (err < 0)
		return err;
	out->n = s.count;
#define X(bit, NAME, field, type) out->field = want & EVENT_COL_##NAME ? d->out.field : NULL;
	EVENT_COLUMNS(X)
#undef X
	out->kind = d->out.kind;
	return 0;
}
