/* SPDX-License-Identifier: Apache-2.0 */
/* test_fmt.c - rounding, units, ellipsis and the cleaning of hostile names. */
#include "base/fmt.h"

#include <string.h>

#include "base/utf8.h"
#include "t.h"

/* clang-format off */
static const struct { double v; unsigned decimals; const char *want; } values[] = {
	{ 0, 3, "0" }, { 0.0004, 3, "<0.001" }, { 0.0005, 3, "0.001" }, { 0.52, 3, "0.520" },
	{ 3.018, 3, "3.02" }, { 44.14, 3, "44.1" }, { 99.96, 3, "100" }, { 312.4, 3, "312" },
	{ 9.996, 3, "10.0" }, { 0.99951, 3, "1.00" }, { 3.2, 0, "3" }, { 0.4, 0, "<1" }, { 0.6, 0, "1" },
	{ 0.04, 1, "<0.1" }, { 1234567.4, 0, "1,234,567" },
};

static const struct { uint64_t v; const char *want; } counts[] = {
	{ 0, "0" }, { 7, "7" }, { 999, "999" }, { 2318, "2,318" }, { 999999, "999,999" },
	{ 1000000, "1.00 M" }, { 18900000, "18.9 M" }, { 999950000, "1.00 G" },
	{ 3000000000000, "3.00 T" },
};

static const struct { uint64_t v; const char *want; } durations[] = {
	{ 0, "0 ns" }, { 1, "1 ns" }, { 999, "999 ns" }, { 1000, "1.00 us" }, { 312000000, "312 ms" },
	{ 999600, "1.00 ms" }, { 59400000000, "59.4 s" }, { 59600000000, "1m00s" },
	{ 723000000000, "12m03s" }, { 7260000000000, "2h01m" }, { 518400000000000, "6 d" },
};

static const struct { double v; const char *want; } shares[] = {
	{ 0, "0" }, { 0.0004, "<0.1" }, { 0.0006, "0.1" }, { 0.0094, "0.9" }, { 0.0096, "1" },
	{ 0.014, "1" }, { 0.615, "62" }, { 1, "100" }, { 0.0 / 0.0, "0" },
};

static const struct { const char *name, *text, *want, *ascii; } dirty[] = {
	{ "plain text stays",       "gemm<float>(x)",   "gemm<float>(x)",     "gemm<float>(x)" },
	{ "an escape is shown",     "\x1b[2J",          "\\x1b[2J",           "\\x1b[2J" },
	{ "a newline and a tab",    "a\nb\t",           "a\\x0ab\\x09",       "a\\x0ab\\x09" },
	{ "UTF-8 stays",            "r\xc3\xa9sum",     "r\xc3\xa9sum",       "r\\xe9sum" },
	{ "a stray byte",           "a\xff z",          "a\\xff z",           "a\\xff z" },
	{ "a cut character",        "a\xe2\x82",        "a\\xe2\\x82",        "a\\xe2\\x82" },
	{ "an overlong slash",      "\xc0\xaf",         "\\xc0\\xaf",         "\\xc0\\xaf" },
	{ "a lone surrogate",       "\xed\xa0\x80",     "\\xed\\xa0\\x80",    "\\xed\\xa0\\x80" },
	{ "C1 controls (CSI)",      "\xc2\x9b" "31m",   "\\x9b31m",           "\\x9b31m" },
	{ "right to left override", "a\xe2\x80\xae" "b", "a\\u{202e}b",       "a\\u{202e}b" },
};

static const struct { const char *text; size_t width; bool ascii; const char *want; } cut[] = {
	{ "short", 10, false, "short" },
	{ "exactly_10", 10, false, "exactly_10" },
	{ "cutlass_sm90_gemm_s64x128_bf16_128x256", 33, false, "cutlass_sm90_gem…128_bf16_128x256" },
	{ "abcdefghij", 9, true, "abc...hij" },
	{ "abcdefghij", 5, false, "ab…ij" },
	{ "abcdefghij", 1, false, "a" },
	{ "abcdefghij", 0, false, "" },
	{ "日本語の名前です", 9, false, "日本…です" },
};
/* clang-format on */

static void test_numbers(void)
{
	char b[FMT_LEN];

	for (size_t i = 0; i < T_LEN(values); i++)
		T_OK(!strcmp(fmt_value(b, values[i].v, values[i].decimals), values[i].want),
		     "%g with %u decimals is %s (%s)", values[i].v, values[i].decimals,
		     values[i].want, b);
	for (size_t i = 0; i < T_LEN(counts); i++)
		T_OK(!strcmp(fmt_count(b, counts[i].v), counts[i].want),
		     "a count of %llu is %s (%s)", (unsigned long long)counts[i].v, counts[i].want,
		     b);
	for (size_t i = 0; i < T_LEN(durations); i++)
		T_OK(!strcmp(fmt_time(b, durations[i].v), durations[i].want), "%llu ns are %s (%s)",
		     (unsigned long long)durations[i].v, durations[i].want, b);
	for (size_t i = 0; i < T_LEN(shares); i++)
		T_OK(!strcmp(fmt_percent(b, shares[i].v), shares[i].want),
		     "a share of %g is %s %% (%s)", shares[i].v, shares[i].want, b);
	T_OK(!strcmp(fmt_time(b, UINT64_MAX), "213503 d"), "the longest time fits (%s)", b);
	T_OK(!strcmp(fmt_bytes(b, 41234567), "41.2 MB"), "bytes have a unit (%s)", b);
}

static void test_text(void)
{
	char b[256];

	for (size_t i = 0; i < T_LEN(dirty); i++) {
		T_OK(!strcmp(fmt_clean(b, sizeof(b), dirty[i].text, false), dirty[i].want),
		     "%s (%s)", dirty[i].name, b);
		T_OK(!strcmp(fmt_clean(b, sizeof(b), dirty[i].text, true), dirty[i].ascii),
		     "%s, in ASCII (%s)", dirty[i].name, b);
	}
	T_OK(!strcmp(fmt_clean(b, 6,
			       "ab\x1b"
			       "cd",
			       false),
		     "ab"),
	     "no half of an escape is left (%s)", b);
	for (size_t i = 0; i < T_LEN(cut); i++) {
		fmt_ellipsis(b, sizeof(b), cut[i].text, cut[i].width, cut[i].ascii);
		T_OK(fmt_width(b) <= cut[i].width, "'%s' takes at most %zu columns", b,
		     cut[i].width);
		T_OK(!strcmp(b, cut[i].want), "'%s' keeps head and tail (%s)", cut[i].text, b);
	}
}

/* Any bytes at all: what comes out is UTF-8 without a control character, and fits. */
static void test_random(void)
{
	uint32_t seed = 1, bad = 0, ucs;
	char text[40], b[256], e[256];

	for (int round = 0; round < 20000; round++) {
		size_t width = (size_t)round % 30, len;

		for (size_t i = 0; i + 1 < sizeof(text); i++) {
			seed = seed * 1664525u + 1013904223u;
			text[i] = (char)(seed >> 24);
		}
		text[sizeof(text) - 1] = '\0';
		fmt_clean(b, sizeof(b), text, round & 1);
		fmt_ellipsis(e, sizeof(e), b, width, round & 1);
		bad += fmt_width(e) > width;
		for (const char *s = e; *s; s += len) {
			len = utf8_get(s, &ucs);
			bad += !len || ucs < 0x20 || (ucs >= 0x7f && ucs < 0xa0);
			len += !len;
		}
	}
	T_OK(bad == 0, "20,000 random names print safely within their width (%u do not)", bad);
}

static void test_drawing(void)
{
	char wall[FMT_LEN];
	char b[256];

	T_OK(!strcmp(fmt_bar(b, sizeof(b), 0.5, 10, true), "#####"), "half a bar");
	T_OK(!strcmp(fmt_bar(b, sizeof(b), 0.3125, 4, false), "█▎"), "a bar in eighths (%s)", b);
	T_OK(!strcmp(fmt_bar(b, sizeof(b), 7, 3, false), "███"), "a bar never leaves its width");
	T_OK(!strcmp(fmt_bar(b, sizeof(b), -1, 3, false), ""), "nor is it negative");
	T_OK(!strcmp(fmt_spark(0, 0, false), "▁"), "a spark of nothing");
	T_OK(!strcmp(fmt_spark(9, 9, false), "█"), "a spark of all");
	T_OK(!strcmp(fmt_wall(wall, 1769860800999999999u), "2026-01-31T12:00:00Z"), "a moment");
}

int main(void)
{
	test_numbers();
	test_text();
	test_random();
	test_drawing();
	return t_done();
}
