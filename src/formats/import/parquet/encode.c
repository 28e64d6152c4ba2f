/* SPDX-License-Identifier: Apache-2.0 */
/* encode.c - the encodings of Parquet's values; see encode.h. */
#include "import/parquet/encode.h"

#include <string.h>

#include "base/varint.h"

#define BLOCK_MAX 65536u

/* `n` bits (up to 64) from bit `at` of p on, the low ones first; bits beyond `end` are 0. */
static uint64_t bits_at(const uint8_t *p, const uint8_t *end, uint64_t at, unsigned n)
{
	uint8_t raw[16] = { 0 };
	uint64_t lo, hi;
	unsigned shift = at & 7;
	size_t have;

	p += at >> 3;
	have = p < end ? (size_t)(end - p) : 0;
	memcpy(raw, p, have < 9 ? have : 9);
	memcpy(&lo, raw, 8);
	memcpy(&hi, raw + 8, 8);
	if (shift)
		lo = lo >> shift | hi << (64 - shift);
	return n < 64 ? lo & ((1ull << n) - 1) : lo;
}

static bool next_run(struct hybrid *h)
{
	struct varint_in in = { h->p, h->end, false };
	uint64_t head = varint_get(&in), bytes;
	uint64_t have = (uint64_t)(in.end - in.p);

	h->packed = head & 1;
	h->left = head >> 1;
	if (in.bad || h->left > UINT32_MAX)
		return false;
	if (!h->packed) {
		bytes = (h->bits + 7) / 8;
		if (bytes > have)
			return false;
		h->value = (uint32_t)bits_at(in.p, in.end, 0, h->bits);
	} else {
		/* Groups of eight values. The last run may lack what nobody reads. */
		bytes = h->left * h->bits;
		h->left *= 8;
		if (bytes > have) {
			bytes = have;
			h->left = have * 8 / h->bits;
		}
		h->packed_at = in.p;
		h->bit = 0;
	}
	h->p = in.p + bytes;
	return true;
}

bool hybrid_next(struct hybrid *h, uint32_t *v)
{
	while (!h->left)
		if (!next_run(h))
			return false;
	h->left--;
	if (!h->packed) {
		*v = h->value;
		return true;
	}
	*v = (uint32_t)bits_at(h->packed_at, h->end, h->bit, h->bits);
	h->bit += h->bits;
	return true;
}

bool delta_begin(struct delta *d, const uint8_t *p, const uint8_t *end)
{
	struct varint_in in = { p, end, false };
	uint64_t block = varint_get(&in);

	*d = (struct delta){ .first = true };
	d->parts = varint_get(&in);
	d->left = varint_get(&in);
	d->value = unzigzag(varint_get(&in));
	d->p = in.p;
	d->end = end;
	if (in.bad || !d->parts || block > BLOCK_MAX || d->parts > block || block % d->parts)
		return false;
	d->a_part = block / d->parts;
	d->part = d->parts; /* the first block is to be read */
	return d->a_part % 8 == 0;
}

static bool next_block(struct delta *d)
{
	struct varint_in in = { d->p, d->end, false };

	d->least = unzigzag(varint_get(&in));
	if (in.bad || d->parts > (uint64_t)(in.end - in.p))
		return false;
	d->widths = in.p;
	d->p = in.p + d->parts;
	d->part = d->of_part = 0;
	return true;
}

/* Behind a part: its bytes are passed over, and another block begins behind the last one. */
static bool next_part(struct delta *d)
{
	uint64_t bytes;

	if (d->part < d->parts) {
		bytes = d->a_part / 8 * d->widths[d->part];
		if (bytes > (uint64_t)(d->end - d->p))
			return false;
		d->p += bytes;
		d->of_part = 0;
		d->part++;
	}
	return d->part < d->parts || next_block(d);
}

bool delta_next(struct delta *d, int64_t *v)
{
	unsigned width;

	if (!d->left)
		return false;
	d->left--;
	if (d->first) {
		d->first = false;
		*v = (int64_t)d->value;
		return true;
	}
	if ((d->part == d->parts || d->of_part == d->a_part) && !next_part(d))
		return false;
	width = d->widths[d->part];
	if (width > 64 || (d->of_part + 1) * width > 8 * (uint64_t)(d->end - d->p))
		return false;
	d->value += d->least + bits_at(d->p, d->end, d->of_part * width, width);
	d->of_part++;
	*v = (int64_t)d->value;
	return true;
}
