/* SPDX-License-Identifier: Apache-2.0 */
/* cfi_priv.h - bytes of .eh_frame, for cfi.c and cfi_program.c. */
#pragma once

#include <string.h>

#include "stacks/cfi.h"

struct cfi_bytes {
	const unsigned char *b;
	size_t at, n;
	uint64_t vaddr; /* of b[0] */
	bool bad;       /* it was read past the end: what came since is 0 */
};

static inline uint64_t cur_fixed(struct cfi_bytes *c, size_t size)
{
	uint64_t v = 0;

	if (size > c->n - c->at) {
		c->at = c->n;
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->b + c->at, size);
	c->at += size;
	return v;
}

static inline int64_t cur_signed(struct cfi_bytes *c, size_t size)
{
	uint64_t v = cur_fixed(c, size);
	unsigned int up = 64 - 8 * (unsigned int)size;

	return (int64_t)(v << up) >> up;
}

static inline uint64_t cur_leb(struct cfi_bytes *c, bool with_sign)
{
	uint64_t v = 0;
	unsigned int shift = 0;
	unsigned char b;

	do {
		b = (unsigned char)cur_fixed(c, 1);
		if (shift < 64)
			v |= (uint64_t)(b & 127) << shift;
		shift += 7;
	} while (b & 128 && !c->bad);
	if (with_sign && b & 64 && shift < 64)
		v |= ~0ull << shift;
	return v;
}

static inline uint64_t cur_uleb(struct cfi_bytes *c)
{
	return cur_leb(c, false);
}

static inline int64_t cur_sleb(struct cfi_bytes *c)
{
	return (int64_t)cur_leb(c, true);
}

/* A pointer; what it is relative to is added if `whole`. */
static inline uint64_t cur_pointer(struct cfi_bytes *c, unsigned int enc, bool whole)
{
	uint64_t here = c->vaddr + c->at, v;

	switch (enc & 15) {
	case 0:
	case 4:
	case 12:
		v = cur_fixed(c, 8);
		break;
	case 1:
		v = cur_uleb(c);
		break;
	case 2:
		v = cur_fixed(c, 2);
		break;
	case 3:
		v = cur_fixed(c, 4);
		break;
	case 9:
		v = (uint64_t)cur_sleb(c);
		break;
	case 10:
		v = (uint64_t)cur_signed(c, 2);
		break;
	case 11:
		v = (uint64_t)cur_signed(c, 4);
		break;
	default:
		c->bad = true;
		return 0;
	}
	switch (whole ? enc & 0xf0 : 0) {
	case 0:
		return v;
	case 0x10:
		return v + here;
	default:
		c->bad = true;
		return 0;
	}
}

/* What a CIE says of its entries. */
struct cfi_common {
	uint64_t code;
	int64_t data;
	unsigned int enc;
	bool sized, signal;
};

/* The row of `vaddr`: by the CIE's program, then by that of the function, which begins at `begin`. */
int cfi_run(const struct cfi_common *cie, struct cfi_bytes *first, struct cfi_bytes *then,
	    uint64_t begin, uint64_t vaddr, struct cfi_rule *out);
