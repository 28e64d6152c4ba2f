/* SPDX-License-Identifier: Apache-2.0 */
/* varint.h - seven bits per byte, low first; signed numbers folded so that small ones stay short. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define VARINT_MAX 10u /* bytes of the longest */

static inline uint64_t zigzag(uint64_t v)
{
	return v << 1 ^ (uint64_t)((int64_t)v >> 63);
}

static inline uint64_t unzigzag(uint64_t v)
{
	return v >> 1 ^ -(v & 1);
}

/* Room for VARINT_MAX bytes must be at `p`. Returns where the next one goes. */
static inline uint8_t *varint_put(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

static inline unsigned varint_len(uint64_t v)
{
	unsigned n = 1;

	while (v >>= 7)
		n++;
	return n;
}

/* A reader of untrusted bytes: what runs past the end gives 0 and sets `bad`. */
struct varint_in {
	const uint8_t *p, *end;
	bool bad;
};

static inline uint64_t varint_get(struct varint_in *in)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 70 && in->p < in->end; shift += 7) {
		uint8_t byte = *in->p++;

		if (shift == 63 && byte > 1)
			break;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	in->bad = true;
	return 0;
}
