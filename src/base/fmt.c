/* SPDX-License-Identifier: Apache-2.0 */
/* fmt.c - numbers, times and names as people read them; see fmt.h. */
#include "base/fmt.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/utf8.h"

static const struct fmt_unit times[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
static const struct fmt_unit sizes[] = {
	{ "B", 1 }, { "KB", 1e3 }, { "MB", 1e6 }, { "GB", 1e9 }, { "TB", 1e12 },
};

/* The largest unit of which `max` is one or more. 999.5 would round to 1000 of the smaller. */
static const struct fmt_unit *pick(const struct fmt_unit *u, size_t n, double max)
{
	size_t i = 0;

	while (i + 1 < n && max >= 0.9995 * u[i + 1].scale)
		i++;
	return &u[i];
}

const struct fmt_unit *fmt_time_unit(uint64_t max_ns)
{
	return pick(times, sizeof(times) / sizeof(times[0]), (double)max_ns);
}

const struct fmt_unit *fmt_byte_unit(uint64_t max_bytes)
{
	return pick(sizes, sizeof(sizes) / sizeof(sizes[0]), (double)max_bytes);
}

unsigned fmt_decimals(double max)
{
	return max >= 99.95 ? 0 : max >= 9.995 ? 1 : max >= 0.9995 ? 2 : 3;
}

char *fmt_exact(char out[FMT_LEN], uint64_t v)
{
	char digits[24];
	size_t n, o = 0;

	n = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, v);
	for (size_t i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			out[o++] = ',';
		out[o++] = digits[i];
	}
	out[o] = '\0';
	return out;
}

char *fmt_value(char out[FMT_LEN], double v, unsigned decimals)
{
	static const double unit[] = { 1, 0.1, 0.01, 0.001 };
	unsigned d = fmt_decimals(v);

	if (d > decimals)
		d = decimals;
	if (v <= 0)
		snprintf(out, FMT_LEN, "0");
	else if (v < unit[d] / 2)
		snprintf(out, FMT_LEN, "<%.*f", (int)d, unit[d]);
	else if (d == 0)
		fmt_exact(out, (uint64_t)((v < 1e18 ? v : 1e18) + 0.5));
	else
		snprintf(out, FMT_LEN, "%.*f", (int)d, v);
	return out;
}

/* 41.2 MB, 312 ms: the unit behind the number. */
static char *with_unit(char out[FMT_LEN], double v, const struct fmt_unit *u)
{
	char num[FMT_LEN];

	v /= u->scale;
	fmt_value(num, v, u->scale == 1 ? 0 : 3);
	snprintf(out, FMT_LEN, "%.24s %s", num, u->name);
	return out;
}

char *fmt_count(char out[FMT_LEN], uint64_t v)
{
	static const struct fmt_unit big[] = { { "M", 1e6 }, { "G", 1e9 }, { "T", 1e12 } };

	if (v < 1000000)
		return fmt_exact(out, v);
	return with_unit(out, (double)v, pick(big, 3, (double)v));
}

char *fmt_percent(char out[FMT_LEN], double share)
{
	double p = 100 * share;

	if (!(p > 0))
		snprintf(out, FMT_LEN, "0");
	else if (p < 0.05)
		snprintf(out, FMT_LEN, "<0.1");
	else if (p < 0.95)
		snprintf(out, FMT_LEN, "%.1f", p);
	else
		snprintf(out, FMT_LEN, "%.0f", p);
	return out;
}

char *fmt_time(char out[FMT_LEN], uint64_t ns)
{
	uint64_t s = ns / 1000000000 + (ns % 1000000000 >= 500000000);

	if (s < 60)
		return with_unit(out, (double)ns, fmt_time_unit(ns));
	if (s < 3600)
		snprintf(out, FMT_LEN, "%um%02us", (unsigned)(s / 60), (unsigned)(s % 60));
	else if (s < 100 * 3600)
		snprintf(out, FMT_LEN, "%uh%02um", (unsigned)(s / 3600), (unsigned)(s / 60 % 60));
	else
		snprintf(out, FMT_LEN, "%" PRIu64 " d", s / 86400);
	return out;
}

char *fmt_bytes(char out[FMT_LEN], uint64_t bytes)
{
	return with_unit(out, (double)bytes, fmt_byte_unit(bytes));
}

struct span {
	uint32_t lo, hi;
};

static bool within(const struct span *s, size_t n, uint32_t c)
{
	for (size_t i = 0; i < n; i++)
		if (c >= s[i].lo && c <= s[i].hi)
			return true;
	return false;
}

#define WITHIN(table, c) within(table, sizeof(table) / sizeof((table)[0]), c)

/* Characters that would move the cursor, hide text or reverse its direction. */
static bool unsafe(uint32_t c)
{
	static const struct span bad[] = {
		{ 0, 0x1f },           { 0x7f, 0x9f },     { 0xad, 0xad },     { 0x61c, 0x61c },
		{ 0x200b, 0x200f },    { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xfe00, 0xfe0f },
		{ 0xfeff, 0xfeff },    { 0xfff0, 0xfffb }, { 0xe000, 0xf8ff }, { 0xe0000, 0xe0fff },
		{ 0xf0000, 0x10ffff },
	};

	return WITHIN(bad, c);
}

static unsigned char_width(uint32_t c)
{
	static const struct span none[] = {
		{ 0x300, 0x36f },   { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff },
		{ 0x20d0, 0x20ff }, { 0xfe20, 0xfe2f },
	};
	static const struct span wide[] = {
		{ 0x1100, 0x115f },   { 0x2e80, 0x303e },   { 0x3041, 0xa4cf },
		{ 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },   { 0xfe30, 0xfe6f },
		{ 0xff00, 0xff60 },   { 0xffe0, 0xffe6 },   { 0x1f300, 0x1f64f },
		{ 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff }, { 0x20000, 0x3fffd },
	};

	return c < 0x300 ? 1 : WITHIN(none, c) ? 0 : WITHIN(wide, c) ? 2 : 1;
}

char *fmt_wall(char out[FMT_LEN], uint64_t ns)
{
	time_t s = (time_t)(ns / 1000000000u);
	struct tm tm;

	if (!gmtime_r(&s, &tm) || !strftime(out, FMT_LEN, "%Y-%m-%dT%H:%M:%SZ", &tm))
		snprintf(out, FMT_LEN, "?");
	return out;
}

char *fmt_clean(char *out, size_t cap, const char *text, bool ascii)
{
	char one[16];
	size_t o = 0;

	while (*text) {
		uint32_t c = 0;
		size_t len = utf8_get(text, &c), n;

		if (len && !unsafe(c) && (c < 0x80 || !ascii)) {
			memcpy(one, text, len);
			n = len;
		} else if (len && c > 0xff) {
			n = (size_t)snprintf(one, sizeof(one), "\\u{%x}", c);
		} else {
			n = (size_t)snprintf(one, sizeof(one), "\\x%02x", len ? c : *text & 0xffu);
		}
		if (o + n + 1 > cap)
			break;
		memcpy(out + o, one, n);
		o += n;
		text += len ? len : 1;
	}
	out[o] = '\0';
	return out;
}

/* An invalid byte counts as one column: clean text has none, but the loop must advance. */
static size_t next_char(const char *s, unsigned *width)
{
	uint32_t c;
	size_t len = utf8_get(s, &c);

	*width = len ? char_width(c) : 1;
	return len ? len : 1;
}

size_t fmt_width(const char *clean)
{
	size_t width = 0;
	unsigned w;

	while (*clean) {
		clean += next_char(clean, &w);
		width += w;
	}
	return width;
}

/* How many bytes of `s` fit `width` columns. */
static size_t head_bytes(const char *s, size_t width)
{
	size_t used = 0, at = 0, len;
	unsigned w;

	for (; s[at]; at += len) {
		len = next_char(s + at, &w);
		used += w;
		if (used > width)
			break;
	}
	return at;
}

char *fmt_ellipsis(char *out, size_t cap, const char *clean, size_t width, bool ascii)
{
	const char *dots = ascii ? "..." : "…", *end = clean;
	size_t wide = ascii ? 3 : 1, left = fmt_width(clean), tail;
	unsigned w;

	if (left <= width || width <= wide) {
		snprintf(out, cap, "%.*s", (int)head_bytes(clean, width), clean);
		return out;
	}
	/* The tail tells shapes and types apart: it gets nearly half. */
	tail = (width - wide) / 2;
	while (left > tail) {
		end += next_char(end, &w);
		left -= w;
	}
	snprintf(out, cap, "%.*s%s%s", (int)head_bytes(clean, width - wide - tail), clean, dots,
		 end);
	return out;
}

char *fmt_bar(char *out, size_t cap, double share, size_t width, bool ascii)
{
	static const char *const eighth[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	double cells = share * (double)width;
	size_t n, whole, o = 0;

	if (!(cells > 0))
		cells = 0;
	if (cells > (double)width)
		cells = (double)width;
	n = (size_t)(cells * 8 + 0.5);
	whole = ascii ? (n + 4) / 8 : n / 8;
	for (size_t i = 0; i < whole && o + 4 < cap; i++)
		o += (size_t)snprintf(out + o, cap - o, "%s", ascii ? "#" : "█");
	snprintf(out + o, cap - o, "%s", ascii ? "" : eighth[n % 8]);
	return out;
}

const char *fmt_spark(uint64_t v, uint64_t max, bool ascii)
{
	static const char *const fine[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const plain[] = { "_", ".", ".", "-", "-", "=", "=", "#" };
	size_t level = max ? (size_t)((double)v / (double)max * 7.999) : 0;

	return (ascii ? plain : fine)[level > 7 ? 7 : level];
}

int fmt_why(char *text, size_t cap, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, cap, fmt, ap);
	va_end(ap);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return err;
}
