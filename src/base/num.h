/* SPDX-License-Identifier: Apache-2.0 */
/*
 * num.h - parses numbers from untrusted text: the whole text must be the number.
 *
 * All return 0, or -EINVAL if the text is not a number or outside of min and max; *out is then
 * unchanged. Blanks, a leading plus, hexadecimal digits, infinities and NaN are refused.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

int num_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out);
int num_u32(const char *text, uint32_t min, uint32_t max, uint32_t *out);
int num_i64(const char *text, int64_t min, int64_t max, int64_t *out);
int num_hex(const char *text, uint64_t *out); /* hexadecimal, without 0x */
int num_real(const char *text, double min, double max, double *out);

/*
 * A number that has a unit, as the same amount of `unit`: of "ms", 2s is 2000. Units of one kind:
 *
 *	ns us ms s m h d    bytes KiB MiB GiB TiB    % 1/1000    k M G (of "": a count)
 */
int num_unit(const char *text, const char *unit, double min, double max, double *out);

/* The next number, 1 to max, of a list with commas: 1, and *list is behind it; 0: end; -EINVAL. */
int num_next(const char **list, uint64_t max, uint64_t *out);

/* Writes the digits of v so that they end where `room` does; faster than printf(). */
#define NUM_LEN 21u
char *num_text(char room[NUM_LEN], uint64_t v);

/* Whether a list with commas has that number. */
bool num_listed(const char *list, int64_t number);

/*
 * The number at the front of a text that has more behind it, or that needs no check; blanks may be
 * before it. 0: there is none. *end, unless `end` is NULL, is behind it.
 */
uint64_t num_front(const char *text, const char **end);
int64_t num_front_i64(const char *text, const char **end);
double num_front_real(const char *text, const char **end); /* also inf and nan */

/* The digits at `text`, of base 10 or 16; where they end, or NULL: there are none, or too many. */
const char *num_digits(const char *text, int base, uint64_t *out);
