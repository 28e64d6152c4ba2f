/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.c - changes of series, a list for each, as columns of varints.
 *
 *	body:    column after column: raw length, stored length, bytes (a zstd frame, or raw where that is
 *	         not longer)
 *	TIMES    wall time minus CLOCK_MONOTONIC in milliseconds (folded); then for each tick but the first:
 *	         milliseconds since the last one, minus those before (folded)
 *	SERIES   for each series: id - last - 1, exponent + 8 (or RAW), unit, rate (folded), entries
 *	GAPS     for each entry: ticks since the last one of its series (of the first: its tick)
 *	LOW      for each entry: seven bits of what it says, and a bit that HIGH has more
 *	HIGH     the rest of those
 *	RAW      doubles of series that are no decimal numbers
 *
 * A value is a whole number of units times 10^-exponent: memory comes in pages, disks in sectors. Between entries it changes by `rate` per tick, which is 0
 * except for counters that rise evenly. An entry of 0 means that the series ended. Otherwise an entry is
 * the difference from the expected value, folded and plus 1; for the first entry, and after a 0, from 0.
 */
#include "store/block.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/order.h"
#include "base/varint.h"
#include "base/vec.h"

#define LEVEL    5
#define MS       1000000u
#define EXP_BIAS 8
#define EXP_MIN  (-6)
#define EXP_MAX  9
#define MODE_RAW (EXP_BIAS + EXP_MAX + 1)
#define EXACT    9007199254740992.0 /* whole numbers up to it are doubles */
#define RAW_MAX  (SEAL_BODY_MAX / 4)

enum column { TIMES, SERIES, GAPS, LOW, HIGH, RAW, COLUMNS };

struct block_codec {
	ZSTD_CCtx *zip;   /* owned */
	ZSTD_DCtx *unzip; /* owned */
	struct rows col[COLUMNS];
	struct change *change; /* owned; change_cap */
	size_t change_cap;
	uint64_t *tick; /* owned; TELEMETRY_TICKS_MAX */
};

int block_codec_new(struct block_codec **out)
{
	struct block_codec *c = calloc(1, sizeof(*c));

	if (c)
		c->tick = calloc(TELEMETRY_TICKS_MAX, sizeof(*c->tick));
	if (!c || !c->tick) {
		free(c);
		return -ENOMEM;
	}
	*out = c;
	return 0;
}

void block_codec_free(struct block_codec *c)
{
	if (!c)
		return;
	ZSTD_freeCCtx(c->zip);
	ZSTD_freeDCtx(c->unzip);
	for (unsigned i = 0; i < COLUMNS; i++)
		rows_fini(&c->col[i]);
	free(c->change);
	free(c->tick);
	free(c);
}

static int reserve_changes(struct block_codec *c, size_t n)
{
	return vec_room(&c->change, &c->change_cap, n + 1, sizeof(*c->change));
}

static int put(struct rows *r, uint64_t v)
{
	int err = rows_reserve(r, VARINT_MAX);

	if (!err)
		r->len = (size_t)(varint_put(r->data + r->len, v) - r->data);
	return err;
}

/* --- numbers --- */

static double power(int exp)
{
	static const double ten[] = { 1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };

	return ten[exp < 0 ? -exp : exp];
}

static double from_whole(int64_t n, int exp)
{
	return exp < 0 ? (double)n * power(exp) : (double)n / power(exp);
}

static bool to_whole(double v, int exp, int64_t *out)
{
	double n = nearbyint(exp < 0 ? v / power(exp) : v * power(exp));

	if (!(fabs(n) < EXACT))
		return false;
	*out = (int64_t)n;
	/* -0 would come back as 0, and be another double. */
	return from_whole(*out, exp) == v && !(v == 0 && signbit(v));
}

/* The fewest digits in which all of them are what they were; MODE_RAW - EXP_BIAS: none. */
static int exponent(const struct change *ch, size_t n)
{
	int64_t whole;
	int exp = EXP_MIN;

	for (size_t i = 0; i < n; i++)
		while (exp <= EXP_MAX && !isnan(ch[i].value) && !to_whole(ch[i].value, exp, &whole))
			exp++;
	for (size_t i = 0; i < n && exp <= EXP_MAX; i++)
		if (!isnan(ch[i].value) && !to_whole(ch[i].value, exp, &whole))
			exp = EXP_MAX + 1;
	return exp;
}

/* --- a series --- */

struct list {
	const struct change *ch;
	size_t n;
	uint32_t ticks;
	int exp;
	uint64_t unit;
	int64_t rate;
};

/* Whole units. */
static bool units(const struct list *l, double v, int64_t *out)
{
	int64_t n;

	if (!to_whole(v, l->exp, &n))
		return false;
	*out = n / (int64_t)l->unit;
	return true;
}

/* The largest number that all of them are multiples of. */
static uint64_t common(const struct change *ch, size_t n, int exp)
{
	uint64_t g = 0;
	int64_t v;

	for (size_t i = 0; i < n && g != 1; i++) {
		uint64_t a, b = g;

		if (isnan(ch[i].value) || !to_whole(ch[i].value, exp, &v))
			continue;
		for (a = (uint64_t)(v < 0 ? -v : v); b;) {
			uint64_t r = a % b;

			a = b;
			b = r;
		}
		g = a;
	}
	return g ? g : 1;
}

/* Where entries go: to the columns, or only counted. */
struct sink {
	struct block_codec *c; /* NULL: count */
	uint64_t bytes, entries;
	uint32_t tick; /* of the last entry */
	int err;
};

static void entry(struct sink *k, uint32_t tick, uint64_t says)
{
	struct rows *low;

	k->bytes += 1 + varint_len(says);
	k->entries++;
	if (!k->c || k->err)
		return;
	low = &k->c->col[LOW];
	k->err = put(&k->c->col[GAPS], tick - k->tick);
	k->tick = tick;
	if (!k->err)
		k->err = rows_reserve(low, 1);
	if (!k->err)
		low->data[low->len++] = (uint8_t)((says & 0x7f) | (says > 0x7f ? 0x80 : 0));
	if (!k->err && says > 0x7f)
		k->err = put(&k->c->col[HIGH], says >> 7);
}

/* With a rate, a tick without a change needs an entry if it differs from the rate. */
static void walk(const struct list *l, struct sink *k)
{
	bool there = false;
	uint64_t v = 0;
	size_t at = 0;

	for (uint32_t t = l->n ? l->ch[0].tick : 0; t < l->ticks; t++) {
		bool is = at < l->n && l->ch[at].tick == t;
		uint64_t want = v, by;
		int64_t whole = 0;

		if (!is && !l->rate) {
			if (at == l->n)
				break;
			t = l->ch[at].tick - 1;
			continue;
		}
		if (is && isnan(l->ch[at++].value)) {
			entry(k, t, 0);
			there = false;
			v = 0;
			continue;
		}
		if (!is && !there)
			continue;
		if (is && units(l, l->ch[at - 1].value, &whole))
			want = (uint64_t)whole;
		by = there ? want - v - (uint64_t)l->rate : want;
		v = want;
		if (by || !there)
			entry(k, t, zigzag(by) + 1);
		there = true;
	}
}

static void walk_raw(const struct list *l, struct sink *k)
{
	struct rows *raw = k->c ? &k->c->col[RAW] : NULL;

	for (size_t i = 0; i < l->n && !k->err; i++) {
		entry(k, l->ch[i].tick, !isnan(l->ch[i].value));
		if (!raw || k->err || isnan(l->ch[i].value))
			continue;
		k->err = rows_reserve(raw, sizeof(double));
		if (k->err)
			return;
		memcpy(raw->data + raw->len, &l->ch[i].value, sizeof(double));
		raw->len += sizeof(double);
	}
}

/* A counter that rises evenly is shorter by its rate. */
static void choose_rate(struct list *l)
{
	struct sink flat = { NULL, 0, 0, 0, 0 }, even = flat;
	const struct change *a = l->ch, *b = l->ch + l->n - 1;
	int64_t from, to;

	if (l->n < 8 || isnan(a->value) || isnan(b->value) || b->tick == a->tick ||
	    !units(l, a->value, &from) || !units(l, b->value, &to))
		return;
	walk(l, &flat);
	l->rate = (to - from) / (int64_t)(b->tick - a->tick);
	if (l->rate)
		walk(l, &even);
	if (even.bytes >= flat.bytes)
		l->rate = 0;
}

static int put_series(struct block_codec *c, const struct change *ch, size_t n, uint32_t ticks,
		      uint32_t last)
{
	struct list l = { ch, n, ticks, exponent(ch, n), 1, 0 };
	struct sink count = { NULL, 0, 0, 0, 0 }, out = { c, 0, 0, 0, 0 };
	bool raw = l.exp > EXP_MAX;
	int err;

	if (!raw) {
		l.unit = common(ch, n, l.exp);
		choose_rate(&l);
	}
	if (raw)
		walk_raw(&l, &count);
	else
		walk(&l, &count);
	err = put(&c->col[SERIES], ch->series - last - 1);
	err = err ? err : put(&c->col[SERIES], (uint64_t)(l.exp + EXP_BIAS));
	err = err ? err : put(&c->col[SERIES], l.unit);
	err = err ? err : put(&c->col[SERIES], zigzag((uint64_t)l.rate));
	err = err ? err : put(&c->col[SERIES], count.entries);
	if (err)
		return err;
	if (raw)
		walk_raw(&l, &out);
	else
		walk(&l, &out);
	return out.err;
}

/* --- packing --- */

static int by_series(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return cmp_num(x->series, y->series) ?: cmp_num(x->tick, y->tick);
}

static bool same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

/* Whether the series had that value before the change. A first entry of "gone" ends the block before. */
static bool was(const struct change *ch, size_t at, const struct change *c)
{
	return at && ch[at - 1].series == c->series && same(ch[at - 1].value, c->value);
}

/* If a series changes twice at one tick, the later change counts; a change to the same value is none. */
static int sorted(struct block_codec *c, const struct telemetry_block *b, size_t *n)
{
	size_t k = 0;

	if (reserve_changes(c, b->changes) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->changes; i++) {
		if (b->change[i].tick >= b->ticks || !b->change[i].series ||
		    (i && b->change[i].tick < b->change[i - 1].tick))
			return -EINVAL;
		c->change[i] = b->change[i];
	}
	qsort(c->change, b->changes, sizeof(*c->change), by_series);
	for (uint32_t i = 0; i < b->changes; i++) {
		if (k && !by_series(&c->change[k - 1], &c->change[i]))
			k--;
		if (!was(c->change, k, &c->change[i]))
			c->change[k++] = c->change[i];
	}
	*n = k;
	return 0;
}

static int put_times(struct block_codec *c, const struct telemetry_block *b)
{
	int err = put(&c->col[TIMES], zigzag((uint64_t)(b->wall_offset_ns / (int64_t)MS)));
	uint64_t step = 0;

	for (uint32_t i = 1; i < b->ticks && !err; i++) {
		uint64_t d = b->tick_ns[i] / MS - b->tick_ns[i - 1] / MS;

		if (b->tick_ns[i] / MS <= b->tick_ns[i - 1] / MS)
			return -EINVAL;
		err = put(&c->col[TIMES], zigzag(d - step));
		step = d;
	}
	return err;
}

static int put_column(struct block_codec *c, const struct rows *raw, struct rows *out)
{
	size_t n = 0;
	int err;

	err = put(out, raw->len);
	err = err ? err : rows_reserve(out, raw->len + VARINT_MAX + 1);
	if (err < 0)
		return err;
	if (raw->len > 16)
		n = ZSTD_compress2(c->zip, out->data + out->len + VARINT_MAX, raw->len, raw->data,
				   raw->len);
	if (!n || ZSTD_isError(n) || n >= raw->len) {
		n = raw->len;
		out->len = (size_t)(varint_put(out->data + out->len, n) - out->data);
		if (n)
			memcpy(out->data + out->len, raw->data, n);
	} else {
		uint8_t *from = out->data + out->len + VARINT_MAX;

		out->len = (size_t)(varint_put(out->data + out->len, n) - out->data);
		memmove(out->data + out->len, from, n);
	}
	out->len += n;
	return 0;
}

static int fill_columns(struct block_codec *c, const struct telemetry_block *b, size_t n)
{
	uint32_t last = 0;
	int err;

	for (unsigned i = 0; i < COLUMNS; i++)
		c->col[i].len = 0;
	err = put_times(c, b);
	for (size_t i = 0, k; i < n && !err; i = k) {
		for (k = i; k < n && c->change[k].series == c->change[i].series; k++)
			;
		err = put_series(c, c->change + i, k - i, b->ticks, last);
		last = c->change[i].series;
	}
	for (unsigned i = 0; i < COLUMNS && !err; i++)
		err = c->col[i].len > RAW_MAX ? -E2BIG : 0;
	return err;
}

int block_pack(struct block_codec *c, const struct telemetry_block *b, struct rows *out)
{
	struct seal s = { .type = SEAL_TELEMETRY, .owner = b->source };
	size_t n;
	int err;

	if (!b->ticks || b->ticks > TELEMETRY_TICKS_MAX || b->changes > TELEMETRY_CHANGES_MAX)
		return -E2BIG;
	if (!c->zip) {
		c->zip = ZSTD_createCCtx();
		if (!c->zip)
			return -ENOMEM;
		ZSTD_CCtx_setParameter(c->zip, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(c->zip, ZSTD_c_contentSizeFlag, 0);
	}
	err = sorted(c, b, &n);
	err = err ? err : fill_columns(c, b, n);
	if (err < 0)
		return err;
	out->len = 0;
	err = rows_reserve(out, sizeof(s));
	if (err == 0)
		out->len = sizeof(s);
	for (unsigned i = 0; i < COLUMNS && !err; i++)
		err = put_column(c, &c->col[i], out);
	if (err < 0)
		return err;
	s.t0_ns = b->tick_ns[0] / MS * MS;
	s.t1_ns = b->tick_ns[b->ticks - 1] / MS * MS;
	s.count = (uint32_t)n;
	s.records = b->ticks;
	s.len = (uint32_t)(out->len - sizeof(s));
	seal_close(&s, out->data + sizeof(s));
	memcpy(out->data, &s, sizeof(s));
	return 0;
}

/* --- and back --- */

static int get_column(struct block_codec *c, struct varint_in *in, struct rows *raw)
{
	uint64_t len = varint_get(in), stored = varint_get(in);
	int err;

	if (in->bad || len > RAW_MAX || stored > len || stored > (size_t)(in->end - in->p))
		return -EBADMSG;
	raw->len = 0;
	err = rows_reserve(raw, len + 1);
	if (err < 0)
		return err;
	if (stored == len)
		memcpy(raw->data, in->p, len);
	else if (ZSTD_decompressDCtx(c->unzip, raw->data, len, in->p, stored) != len)
		return -EBADMSG;
	raw->len = len;
	in->p += stored;
	return 0;
}

static int get_times(struct block_codec *c, const struct seal *s, int64_t *wall_ns)
{
	struct varint_in in = { c->col[TIMES].data, c->col[TIMES].data + c->col[TIMES].len, false };
	uint64_t step = 0, t = s->t0_ns;

	*wall_ns = (int64_t)(unzigzag(varint_get(&in)) * MS);
	c->tick[0] = t;
	for (uint32_t i = 1; i < s->records; i++) {
		step += unzigzag(varint_get(&in));
		/* No two ticks are a year apart. */
		if (in.bad || !step || step > 31536000000ull)
			return -EBADMSG;
		t += step * MS;
		c->tick[i] = t;
	}
	return in.p == in.end && !in.bad && t == s->t1_ns ? 0 : -EBADMSG;
}

struct reader {
	struct block_codec *c;
	struct varint_in series, gaps, low, high, raw;
	uint32_t ticks;
	size_t n, max; /* changes */
	bool bad;
};

static void add(struct reader *r, uint32_t series, uint32_t tick, double v)
{
	if (r->n == r->max) {
		r->bad = true;
		return;
	}
	r->c->change[r->n++] = (struct change){ series, tick, v };
}

static uint64_t next_entry(struct reader *r)
{
	uint64_t v;

	if (r->low.p == r->low.end) {
		r->bad = true;
		return 0;
	}
	v = *r->low.p++;
	if (v & 0x80)
		v = (v & 0x7f) | varint_get(&r->high) << 7;
	return v;
}

static double next_raw(struct reader *r)
{
	double v = 0;

	if ((size_t)(r->raw.end - r->raw.p) < sizeof(v)) {
		r->bad = true;
		return 0;
	}
	memcpy(&v, r->raw.p, sizeof(v));
	r->raw.p += sizeof(v);
	return v;
}

struct one {
	uint32_t id;
	int exp; /* above EXP_MAX: raw */
	uint64_t unit, rate, entries;
};

/* The ticks from `from` on, until `to`, at which a rate alone moved it. */
static void go_on(struct reader *r, const struct one *o, uint32_t from, uint32_t to, uint64_t *v)
{
	for (uint32_t t = from; o->rate && t < to && !r->bad; t++) {
		*v += o->rate;
		add(r, o->id, t, from_whole((int64_t)(*v * o->unit), o->exp));
	}
}

static void get_one(struct reader *r, const struct one *o)
{
	bool there = false, raw = o->exp > EXP_MAX;
	uint64_t v = 0, t = 0;

	for (uint64_t i = 0; i < o->entries && !r->bad; i++) {
		uint64_t gap = varint_get(&r->gaps), says = next_entry(r), was = v;

		if (r->gaps.bad || r->high.bad || gap > r->ticks || (i && !gap) ||
		    t + gap >= r->ticks) {
			r->bad = true;
			return;
		}
		if (there)
			go_on(r, o, (uint32_t)t + 1, (uint32_t)(t + gap), &v);
		was = v;
		t += gap;
		if (!says) {
			add(r, o->id, (uint32_t)t, NAN);
			there = false;
			v = 0;
			continue;
		}
		if (raw) {
			add(r, o->id, (uint32_t)t, next_raw(r));
		} else {
			v = there ? v + o->rate + unzigzag(says - 1) : unzigzag(says - 1);
			if (!there || v != was)
				add(r, o->id, (uint32_t)t,
				    from_whole((int64_t)(v * o->unit), o->exp));
		}
		there = true;
	}
	if (there)
		go_on(r, o, (uint32_t)t + 1, r->ticks, &v);
}

static struct varint_in column(const struct block_codec *c, enum column i)
{
	return (struct varint_in){ c->col[i].data, c->col[i].data + c->col[i].len, false };
}

static int get_changes(struct block_codec *c, const struct seal *s)
{
	struct reader r = { .c = c,
			    .series = column(c, SERIES),
			    .gaps = column(c, GAPS),
			    .low = column(c, LOW),
			    .high = column(c, HIGH),
			    .raw = column(c, RAW),
			    .ticks = s->records,
			    .max = s->count };
	uint64_t last = 0;

	while (r.series.p != r.series.end && !r.bad) {
		uint64_t id = last + varint_get(&r.series) + 1, mode = varint_get(&r.series);
		struct one o = { (uint32_t)id, (int)(mode & 0x1f) - EXP_BIAS, 0, 0, 0 };

		o.unit = varint_get(&r.series);
		o.rate = unzigzag(varint_get(&r.series));
		o.entries = varint_get(&r.series);
		if (r.series.bad || id <= last || id > UINT32_MAX || mode > MODE_RAW ||
		    o.exp < EXP_MIN || !o.unit || !o.entries || (mode == MODE_RAW && o.rate))
			return -EBADMSG;
		get_one(&r, &o);
		last = id;
	}
	return r.bad || r.n != s->count || r.gaps.p != r.gaps.end || r.low.p != r.low.end ||
			       r.high.p != r.high.end || r.raw.p != r.raw.end
		       ? -EBADMSG
		       : 0;
}

int block_unpack(struct block_codec *c, const void *data, size_t len, struct telemetry_block *out)
{
	const uint8_t *body = (const uint8_t *)data + sizeof(struct seal);
	struct varint_in in;
	int64_t wall_ns = 0;
	struct seal s;
	int err;

	err = seal_check(&s, data, len);
	if (err < 0)
		return err == -EPROTO ? err : -EBADMSG;
	if (s.type != SEAL_TELEMETRY || !s.records || s.records > TELEMETRY_TICKS_MAX ||
	    s.count > TELEMETRY_CHANGES_MAX)
		return -EBADMSG;
	if (!c->unzip)
		c->unzip = ZSTD_createDCtx();
	err = c->unzip ? reserve_changes(c, s.count) : -ENOMEM;
	in = (struct varint_in){ body, body + s.len, false };
	for (unsigned i = 0; i < COLUMNS && !err; i++)
		err = get_column(c, &in, &c->col[i]);
	if (!err && in.p != in.end)
		err = -EBADMSG;
	err = err ? err : get_times(c, &s, &wall_ns);
	err = err ? err : get_changes(c, &s);
	if (err < 0)
		return err;
	*out = (struct telemetry_block){ s.owner, s.records, s.count, wall_ns, c->tick, c->change };
	return 0;
}
