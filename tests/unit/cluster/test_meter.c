/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "ship/source/fold.h"
#include "ship/source/meter.h"
#include "t.h"

/* Snappy's block format, read strictly: what comes out, or -1. */
static long unsnappy(const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	size_t at = 0, n = 0, want = 0, shift = 0;

	do {
		want |= (size_t)(in[at] & 0x7f) << shift;
		shift += 7;
	} while (in[at++] & 0x80);
	while (at < len) {
		uint8_t tag = in[at++];
		size_t k = (size_t)(tag >> 2) + 1, off;

		if ((tag & 3) == 0) {
			if (k == 62) {
				k = (size_t)in[at] + ((size_t)in[at + 1] << 8) + 1;
				at += 2;
			} else if (k > 60) {
				return -1;
			}
			if (at + k > len || n + k > cap)
				return -1;
			memcpy(out + n, in + at, k);
			at += k;
		} else if ((tag & 3) == 2) {
			off = (size_t)in[at] | (size_t)in[at + 1] << 8;
			at += 2;
			if (!off || off > n || n + k > cap)
				return -1;
			for (size_t i = 0; i < k; i++)
				out[n + i] = out[n + i - off];
		} else {
			return -1;
		}
		n += k;
	}
	return n == want ? (long)n : -1;
}

static void test_snappy(void)
{
	static uint8_t data[300000], back[300001];
	static const struct {
		const char *name;
		size_t len, period;
	} cases[] = {
		{ "nothing", 0, 1 },
		{ "one byte", 1, 1 },
		{ "three bytes", 3, 2 },
		{ "all alike", 100000, 1 },
		{ "a pattern", 5000, 7 },
		{ "a long pattern", 300000, 70000 },
		{ "no pattern", 200000, 300000 },
	};

	for (size_t i = 0; i < T_LEN(cases); i++) {
		struct pb_out b = { 0 };
		uint32_t x = 7;

		for (size_t k = 0; k < cases[i].len; k++)
			data[k] = k < cases[i].period
					  ? (uint8_t)((x = x * 1664525 + 1013904223) >> 24)
					  : data[k - cases[i].period];
		snappy(&b, data, cases[i].len);
		T_OK(unsnappy(b.data, b.len, back, sizeof(back)) == (long)cases[i].len &&
			     !memcmp(back, data, cases[i].len),
		     "snappy: %s comes back (%zu of %zu bytes)", cases[i].name, b.len,
		     cases[i].len);
		pb_free(&b);
	}
}

static void test_points(void)
{
	static const char *const labels[] = { "job", "j", "rank", "3", NULL };
	static const uint8_t rw[] = { 0x0a, 0x4f };
	struct meter m = { .start_ns = 1, .now_ns = 5000000, .cluster = "c", .host = "h" };
	struct pb_out a = { 0 }, b = { 0 };

	meter_add(&m, "aon_b", "1", false, 1.5, labels);
	meter_add(&m, "aon_a", "s", true, 2, NULL);
	T_OK(meter_otlp(&m, &a) == 0 && a.data && a.len > 50 && a.data[0] == 0x0a &&
		     memmem(a.data, a.len, "aon_a", 5) < memmem(a.data, a.len, "aon_b", 5),
	     "OTLP has every metric, by name");
	T_OK(meter_remote_write(&m, &b) == 0 && b.data && b.data[0] == rw[0] &&
		     memmem(b.data, b.len, "__name__", 8) && memmem(b.data, b.len, "cluster", 7),
	     "remote write has series with their labels");
	pb_free(&a);
	pb_free(&b);
	meter_fini(&m);
}

static void test_fold(void)
{
	struct rollup row[2] = {
		{ .track = 1,
		  .name = 5,
		  .kind = 8,
		  .count = 2,
		  .total_ns = 30,
		  .min_ns = 10,
		  .max_ns = 20,
		  .verdict = rollup_verdict(2, 1, 0.5) },
		{ .track = 2,
		  .name = 5,
		  .kind = 8,
		  .count = 1,
		  .total_ns = 5,
		  .min_ns = 5,
		  .max_ns = 5 },
	};
	struct window w = { .process = 1, .rows = 2, .start_ns = 0, .row = row };
	struct fold f = { 0 };
	struct sketch s = { 0 };
	uint8_t hist[FOLD_HIST_MAX];
	size_t len;

	sketch_add(&row[0].sketch, 10, 1);
	sketch_add(&row[0].sketch, 20, 1);
	sketch_add(&row[1].sketch, 5, 1);
	fold_add(&f, &w, 3 * FOLD_NS + 1);
	fold_add(&f, &w, 3 * FOLD_NS + WINDOW_NS);
	fold_add(&f, &w, 4 * FOLD_NS);
	fold_end(&f);
	T_OK(f.rows == 2 && f.row[0].t_ns == 3 * FOLD_NS && f.row[0].count == 6 &&
		     f.row[0].total_ns == 70 && f.row[0].min_ns == 5 && f.row[0].max_ns == 20 &&
		     f.row[0].bound == 2 && f.row[0].floor_ns == 30,
	     "windows of ten seconds are the sum of those of one, over lanes");
	T_OK(f.row[1].t_ns == 4 * FOLD_NS && f.row[1].count == 3, "and no more than ten seconds");
	len = fold_hist(hist, &f.row[0].sketch);
	T_OK(len && fold_unhist(&s, hist, len) == 0 && s.count == 6 &&
		     sketch_quantile(&s, 0.99) == 20,
	     "a sketch comes back from its bytes");
	T_OK(fold_unhist(&s, "\xff\xff\xff\xff\xff\xff", 6) < 0 && fold_unhist(&s, "\x01", 1) < 0,
	     "bytes that are none are refused");
	sketch_fini(&s);
	sketch_fini(&row[0].sketch);
	sketch_fini(&row[1].sketch);
	fold_fini(&f);
}

int main(void)
{
	test_snappy();
	test_points();
	test_fold();
	return t_done();
}
