/* SPDX-License-Identifier: Apache-2.0 */
/* What goes into a blob comes out of it, and nothing else does. */
#include "storekit.h"

#include "store/columns.h"
#include "store/seal.h"
#include "store/window.h"

static struct blob_enc *enc;
static struct blob_packer *packer;
static struct blob_dec *dec;

/* --- events --- */

/* Of samples: what the format keeps. */
static struct event as_kept(struct event ev)
{
	if (ev.kind == EVENT_SAMPLE) {
		ev.start_ns -= ev.start_ns % SAMPLE_TICK_NS;
		ev.corr = 0;
		ev.flags = 0;
		ev.depth = 0;
	}
	return ev;
}

static struct event anything(uint64_t i)
{
	struct event ev = { .start_ns = kit_random() >> (kit_random() % 64),
			    .dur_ns = kit_random() >> (kit_random() % 64),
			    .a = kit_random() >> (kit_random() % 64),
			    .b = kit_random() >> (kit_random() % 64),
			    .name = (uint32_t)kit_random(),
			    .corr = (uint32_t)kit_random(),
			    .track = (uint32_t)(kit_random() >> (kit_random() % 64)),
			    .kind = i % EVENT_MAX,
			    .flags = (uint8_t)kit_random(),
			    .depth = (uint16_t)kit_random() };

	return as_kept(ev);
}

static struct event extreme(uint64_t i)
{
	static const uint64_t edge[] = { 0, 1, UINT64_MAX, 1ull << 63, 127, 128, 16383, 16384 };
	uint64_t v = edge[i % 8], w = edge[i / 8 % 8];

	return as_kept((struct event){ .start_ns = v,
				       .dur_ns = w,
				       .a = v,
				       .b = w,
				       .name = (uint32_t)v,
				       .corr = (uint32_t)w,
				       .track = (uint32_t)(v ^ w),
				       .kind = i % 27,
				       .flags = (uint8_t)v,
				       .depth = (uint16_t)w });
}

static struct event nested(uint64_t i)
{
	static const uint16_t depth[] = { 2, 2, 1, 0 };

	return (struct event){ .start_ns = i * 100 - depth[i % 4] * 20,
			       .dur_ns = 90,
			       .name = 5,
			       .track = 4,
			       .kind = EVENT_RANGE,
			       .depth = depth[i % 4] };
}

static struct event nothing(uint64_t i)
{
	(void)i;
	return (struct event){ 0 };
}

/* Through the codec; returns the bytes of the blob, 0 when anything differs. */
static size_t round_trip(struct event (*make)(uint64_t), size_t n)
{
	struct event *in = calloc(n, sizeof(*in));
	struct event_columns c;
	uint32_t records = 0;
	struct blob b;
	size_t len;
	bool same;

	for (size_t i = 0; i < n; i++) {
		in[i] = make(i);
		records += event_records(&in[i]);
	}
	same = blob_add(enc, in, n) == n && blob_seal(enc, &b) == 0 && b.events == n &&
	       b.records == records && blob_pack(packer, &b) == 0 &&
	       blob_columns(dec, b.data, b.len, EVENT_COLS_ALL, ~0u, &c) == 0 && c.n == n;
	for (size_t i = 0; same && i < n; i++) {
		struct event out = event_at(&c, i);

		same = memcmp(&in[i], &out, sizeof(out)) == 0;
	}
	len = b.len;
	blob_fini(&b);
	free(in);
	return same ? len : 0;
}

static bool same_columns(const struct event *in, const struct event_columns *c, uint32_t want)
{
	size_t wrong = 0;

#define X(bit, NAME, field, type)                                    \
	wrong += !(want & EVENT_COL_##NAME) && bit != 7 && c->field; \
	for (size_t i = 0; want & EVENT_COL_##NAME && i < c->n; i++) \
		wrong += c->field[i] != in[i].field;
	EVENT_COLUMNS(X)
#undef X
	return !wrong;
}

/* Any two columns, and all of them, alone are what they are among all others. */
static void test_columns(const char *what, struct event (*make)(uint64_t), size_t n)
{
	struct event *in = calloc(n, sizeof(*in));
	struct event_columns c;
	bool good, none;
	struct blob b;

	for (size_t i = 0; i < n; i++)
		in[i] = make(i);
	good = blob_add(enc, in, n) == n && blob_seal(enc, &b) == 0 && blob_pack(packer, &b) == 0;
	for (int i = 0; good && i < 10; i++)
		for (int j = 0; good && j < 11; j++) {
			uint32_t want = j == 10 ? EVENT_COLS_ALL : 1u << i | 1u << j;

			good = blob_columns(dec, b.data, b.len, want, ~0u, &c) == 0 && c.n == n &&
			       same_columns(in, &c, want);
		}
	T_OK(good, "%s, by columns", what);
	none = blob_columns(dec, b.data, b.len, EVENT_COLS_ALL, 1u << 30, &c) == 0 && !c.n;
	T_OK(none || make == anything || make == extreme,
	     "a kind that is not there is stepped over");
	blob_fini(&b);
	free(in);
}

static const struct {
	const char *name;
	struct event (*make)(uint64_t);
	size_t events;
	size_t bytes_max;
} cases[] = {
	/* clang-format off */
	{ "a training loop comes back the same",       kit_event, 10000, 40000 },
	{ "one event comes back the same",             kit_event,     1,   180 },
	{ "random bits come back the same",            anything,  10000, 600000 },
	{ "every mix of extremes comes back the same", extreme,   10000, 600000 },
	{ "nested ranges come back the same",          nested,    10000, 400 },
	{ "columns that are all zero cost nothing",    nothing,   10000, 120 },
	/* clang-format on */
};

static void test_limits(void)
{
	struct event ev = kit_event(0), many[3];
	struct blob b;

	for (int i = 0; i < 3; i++)
		many[i] = kit_event((uint64_t)i);
	T_OK(blob_seal(enc, &b) == -ENODATA, "an empty encoder has nothing to seal");
	for (uint32_t i = 0; i < BLOB_EVENTS - 1; i++)
		blob_add(enc, &ev, 1);
	T_OK(blob_add(enc, many, 3) == 1, "a full encoder takes what fits");
	T_OK(blob_add(enc, many, 3) == 0 && blob_count(enc) == BLOB_EVENTS, "and then no more");
	T_OK(blob_seal(enc, &b) == 0 && blob_count(enc) == 0, "sealing empties it");
	T_OK(b.t0_ns == (ev.start_ns < many[0].start_ns ? ev.start_ns : many[0].start_ns) &&
		     b.t1_ns >= ev.start_ns + ev.dur_ns,
	     "a blob knows its first start and last end");
	blob_fini(&b);
}

/* --- damage --- */

static void test_flips(void)
{
	struct blob b = kit_blob(0, 300);
	struct event_columns c;
	size_t accepted = 0;

	for (size_t i = 0; i < b.len; i++)
		for (int bit = 0; bit < 8; bit++) {
			b.data[i] ^= (uint8_t)(1 << bit);
			accepted += blob_columns(dec, b.data, b.len, EVENT_COLS_ALL, ~0u, &c) == 0;
			b.data[i] ^= (uint8_t)(1 << bit);
		}
	T_OK(accepted == 0, "no flipped bit of %u bytes goes unseen", b.len);
	for (size_t i = 0; i < b.len; i++)
		accepted += blob_columns(dec, b.data, i, EVENT_COLS_ALL, ~0u, &c) == 0;
	T_OK(accepted == 0, "no cut goes unseen");
	T_OK(blob_columns(dec, b.data, b.len, EVENT_COLS_ALL, ~0u, &c) == 0 && c.n == 300,
	     "and whole it is good");
	blob_fini(&b);
}

/* Puts true sums on a body that lies. */
static int decode_forged(uint8_t *data, size_t len, uint32_t events, uint8_t version)
{
	struct seal s = { .type = SEAL_EVENTS,
			  .count = events,
			  .len = (uint32_t)(len - sizeof(s)) };
	struct event_columns c;

	seal_close(&s, data + sizeof(s));
	s.version = version;
	seal_head(&s);
	memcpy(data, &s, sizeof(s));
	return blob_columns(dec, data, len, EVENT_COLS_ALL, ~0u, &c);
}

static void test_forged(void)
{
	struct blob b = kit_blob(0, 50);
	uint8_t *more = malloc(b.len + 64u);
	int bad = 0, tries = 0;

	memcpy(more, b.data, b.len);
	T_OK(decode_forged(more, b.len, 50, SEAL_VERSION) == 0, "a forged seal is taken as true");
	T_OK(decode_forged(more, b.len, 51, SEAL_VERSION) == -EBADMSG,
	     "too few rows are found out");
	T_OK(decode_forged(more, b.len, BLOB_EVENTS + 1, SEAL_VERSION) == -EBADMSG,
	     "too many events are refused");
	T_OK(decode_forged(more, b.len, 50, SEAL_VERSION + 1) == -EPROTO, "a newer one is said so");
	memcpy(more + b.len,
	       "\x77\x01\x05\x03"
	       "abc",
	       7);
	T_OK(decode_forged(more, b.len + 7, 50, SEAL_VERSION) == 0,
	     "a column of an unknown id is skipped");
	more[b.len + 3] = 99;
	T_OK(decode_forged(more, b.len + 7, 50, SEAL_VERSION) == -EBADMSG,
	     "unless it runs past the end");
	for (size_t i = sizeof(struct seal); i < b.len; i++, tries++) {
		int err;

		memcpy(more, b.data, b.len);
		more[i] = (uint8_t)kit_random();
		err = decode_forged(more, b.len, 50, SEAL_VERSION);
		bad += err != 0 && err != -EBADMSG && err != -EPROTO;
	}
	T_OK(bad == 0, "lies under true sums are refused or harmless (%d tries)", tries);
	free(more);
	blob_fini(&b);
}

/* --- windows --- */

static int compare_rows(const struct rollup *a, const struct rollup *b)
{
	return a->track != b->track || a->name != b->name || a->kind != b->kind ||
	       a->count != b->count || a->total_ns != b->total_ns || a->min_ns != b->min_ns ||
	       a->max_ns != b->max_ns || a->bytes != b->bytes || a->sketch.base != b->sketch.base ||
	       a->sketch.span != b->sketch.span || a->sketch.count != b->sketch.count ||
	       (a->sketch.span &&
		memcmp(a->sketch.cell, b->sketch.cell, a->sketch.span * sizeof(uint32_t)) != 0);
}

/* Rows in order, so that they can be compared with what comes back. */
static struct window make_window(uint32_t rows, bool wild)
{
	struct window w = { .process = 9, .rows = rows, .start_ns = 5 * WINDOW_NS };

	w.row = calloc(rows ? rows : 1, sizeof(*w.row));
	for (uint32_t i = 0; i < rows; i++) {
		struct rollup *r = &w.row[i];
		uint32_t span = (uint32_t)(kit_random() % (wild ? SKETCH_CELLS : 40));

		*r = (struct rollup){ .track = i / 50,
				      .name = i % 50 * 3,
				      .kind = EVENT_KERNEL,
				      .min_ns = kit_random() >> (wild ? kit_random() % 64 : 50),
				      .bytes = i * 100ull };
		r->max_ns = r->min_ns + kit_random() % 5000;
		r->sketch.base = wild ? (uint32_t)(kit_random() % (SKETCH_CELLS - span))
				      : sketch_index(r->min_ns);
		r->sketch.base = span ? r->sketch.base : 0;
		r->sketch.span = span;
		r->sketch.cell = span ? calloc(span, sizeof(uint32_t)) : NULL;
		for (uint32_t k = 0; k < span; k++)
			if (k == 0 || k == span - 1 || kit_random() % 3 == 0)
				r->sketch.cell[k] = 1 + (uint32_t)(kit_random() % 9);
		for (uint32_t k = 0; k < span; k++)
			r->sketch.count += r->sketch.cell[k];
		r->count = wild ? kit_random() : r->sketch.count;
		r->total_ns = wild ? kit_random() : r->count * (r->min_ns + 100);
	}
	return w;
}

static void free_window(struct window *w)
{
	for (uint32_t i = 0; i < w->rows; i++)
		free(w->row[i].sketch.cell);
	free(w->row);
}

static void test_window(uint32_t rows, bool wild)
{
	struct window w = make_window(rows, wild), out = { 0 };
	struct window_codec *c;
	struct rows bytes = { 0 };
	uint32_t wrong = 0, accepted = 0;

	if (window_codec_new(&c) < 0)
		abort();
	T_OK(window_pack(c, &w, &bytes) == 0 &&
		     window_unpack(c, bytes.data, bytes.len, &out) == 0 && out.rows == rows &&
		     out.process == 9 && out.start_ns == w.start_ns,
	     "a window of %u %s rows comes back", rows, wild ? "wild" : "plain");
	for (uint32_t i = 0; i < out.rows; i++)
		wrong += compare_rows(&w.row[i], &out.row[i]);
	T_OK(wrong == 0, "and is the same (%zu bytes)", bytes.len);
	for (size_t i = 0; i < bytes.len && i < 4000; i++) {
		bytes.data[i] ^= 0x10;
		accepted += window_unpack(c, bytes.data, bytes.len, &out) == 0;
		bytes.data[i] ^= 0x10;
	}
	T_OK(accepted == 0, "no flipped bit of it goes unseen");
	rows_fini(&bytes);
	window_codec_free(c);
	free_window(&w);
}

static void test_window_limits(void)
{
	struct window w = { .rows = WINDOW_ROWS_MAX + 1 };
	struct window_codec *c;
	struct rows bytes = { 0 };

	if (window_codec_new(&c) < 0)
		abort();
	w.row = calloc(w.rows, sizeof(*w.row));
	T_OK(window_pack(c, &w, &bytes) == -E2BIG, "too many rows are refused");
	w.rows = WINDOW_ROWS_MAX;
	T_OK(window_pack(c, &w, &bytes) == 0, "as many as are allowed are taken");
	rows_fini(&bytes);
	window_codec_free(c);
	free(w.row);
}

int main(void)
{
	if (blob_enc_new(&enc) < 0 || blob_packer_new(&packer) < 0 || blob_dec_new(&dec) < 0)
		return 1;
	for (size_t i = 0; i < T_LEN(cases); i++) {
		size_t len = round_trip(cases[i].make, cases[i].events);

		T_OK(len && len <= cases[i].bytes_max, "%s (%zu bytes)", cases[i].name, len);
		test_columns(cases[i].name, cases[i].make, cases[i].events);
	}
	test_limits();
	test_flips();
	test_forged();
	test_window(0, false);
	test_window(1, false);
	test_window(500, false);
	test_window(300, true);
	test_window_limits();
	blob_enc_free(enc);
	blob_packer_free(packer);
	blob_dec_free(dec);
	return t_done();
}
