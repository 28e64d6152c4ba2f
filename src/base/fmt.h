/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fmt.h - numbers, times and names as people read them.
 *
 * At most three significant digits; `<0.1` instead of a misleading 0; counts with
 * separators. All functions fill `out` and return it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FMT_LEN 32u

struct fmt_unit {
	const char *name;
	double scale; /* of one unit, in ns or in bytes */
};

/* The unit of a column of times, by its largest row. ASCII; fmt_micro() gives the sign. */
const struct fmt_unit *fmt_time_unit(uint64_t max_ns);
const struct fmt_unit *fmt_byte_unit(uint64_t max_bytes);

/* A value of a column, three significant digits and at most `decimals` (fmt_decimals() of the
 * largest row for a column of like sizes, 3 for one of unlike sizes). */
char *fmt_value(char out[FMT_LEN], double v, unsigned decimals);
unsigned fmt_decimals(double max);

char *fmt_exact(char out[FMT_LEN], uint64_t v);     /* 18,912,345 */
char *fmt_count(char out[FMT_LEN], uint64_t v);     /* 2,318; 18.9 M from a million on */
char *fmt_percent(char out[FMT_LEN], double share); /* of 0..1; whole, below 1 % one digit */
char *fmt_time(char out[FMT_LEN], uint64_t ns);     /* 312 ms; 12m03s from a minute on */
char *fmt_bytes(char out[FMT_LEN], uint64_t bytes); /* 41 MB */
char *fmt_wall(char out[FMT_LEN], uint64_t ns);     /* 2026-01-31T12:00:00Z */

/*
 * Makes text from elsewhere safe to print: control characters, escapes, direction marks and
 * bytes that are not UTF-8 become \xNN or \u{N}. With `ascii`, everything beyond ASCII does.
 */
char *fmt_clean(char *out, size_t cap, const char *text, bool ascii);

/* Columns of a terminal that clean text takes. */
size_t fmt_width(const char *clean);

/* `clean` in at most `width` columns, with an ellipsis in place of its middle. */
char *fmt_ellipsis(char *out, size_t cap, const char *clean, size_t width, bool ascii);

/* A bar of `share` (0..1) of `width` columns, in eighths of a column or in `#`. */
char *fmt_bar(char *out, size_t cap, double share, size_t width, bool ascii);

/* Eight heights: the level of `v` between 0 and `max`. */
const char *fmt_spark(uint64_t v, uint64_t max, bool ascii);

/* Why something failed, into the `text` of a struct. A file or a peer may have chosen some of the
 * words: bytes that must not reach a terminal become '?'. Returns err. */
#define why_say(why, err, ...) fmt_why((why)->text, sizeof((why)->text), err, __VA_ARGS__)
int fmt_why(char *text, size_t cap, int err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
