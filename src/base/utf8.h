/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - decodes characters from untrusted bytes, and encodes them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define UTF8_BAD 0xfffdu /* stands for invalid bytes */

/* The character at `s`: its bytes, or 0 when they are none. *out gets it. */
size_t utf8_get(const char *s, uint32_t *out);

/* Valid UTF-8 of `text`: `text` itself, or `room` filled with as much as fits. */
const char *utf8_valid(const char *text, char *room, size_t cap);

/* The bytes of a character, and how many. Header only: probes use it in programs of others. */
static inline size_t utf8_put(char out[4], uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = UTF8_BAD;
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}
