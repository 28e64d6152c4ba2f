/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c - the bytes of a tile, as docs/tiles.md describes them. Little-endian. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/varint.h"
#include "base/vec.h"
#include "tile/view.h"

#define HEAD      36u
#define BITMAP    (TILE_CELLS / 8)
#define CELL_MOST (1 + TILE_CLASSES + 2 * VARINT_MAX)
#define FULL      255u

static uint8_t *room(struct tile_answer *out, size_t more)
{
	if (vec_room(&out->bytes, &out->cap, out->len + more, 1) < 0)
		return NULL;
	return out->bytes + out->len;
}

static uint8_t *put32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

/* Writes the head for a body that ends at `end` and appends the tile to the answer. */
static void finish(struct tile_answer *out, const struct tile_head *h, uint8_t *tile,
		   const uint8_t *end)
{
	uint64_t t0 = htole64(h->t0_ns);
	uint8_t *p = put32(tile, (uint32_t)(end - tile));

	memcpy(p, "AONT", 4);
	p[4] = 1;
	p[5] = h->kind;
	p[6] = h->L;
	p[7] = h->flags;
	p = put32(p + 8, h->track);
	memcpy(p, &t0, sizeof(t0));
	p = put32(p + sizeof(t0), h->events);
	p = put32(p, h->lost);
	put32(p, h->epoch);
	out->len += (size_t)(end - tile);
}

int wire_empty(struct tile_answer *out, const struct tile_head *h)
{
	uint8_t *tile = room(out, HEAD);

	if (!tile)
		return -ENOMEM;
	finish(out, h, tile, tile + HEAD);
	return 0;
}

/* Rounds such that 0 means nothing and 255 means all. */
static uint8_t share(uint64_t ns, uint64_t width)
{
	double s = (double)ns / (double)width * FULL;

	if (ns >= width)
		return FULL;
	return s < 1 ? 1 : s >= FULL - 1 ? FULL - 1 : (uint8_t)(s + 0.5);
}

int wire_cells(struct tile_answer *out, const struct tile_head *h, const struct cell *c)
{
	uint8_t *tile = room(out, HEAD + BITMAP + TILE_CELLS * CELL_MOST), *bitmap, *p;

	if (!tile)
		return -ENOMEM;
	bitmap = tile + HEAD;
	p = bitmap + BITMAP;
	memset(bitmap, 0, BITMAP);
	for (size_t i = 0; i < TILE_CELLS; i++) {
		uint8_t *mask = p;

		if (!cell_used(&c[i]))
			continue;
		bitmap[i / 8] |= (uint8_t)(1u << i % 8);
		*p++ = 0;
		for (size_t k = 0; k < TILE_CLASSES; k++)
			if (c[i].ns[k]) {
				*mask |= (uint8_t)(1u << k);
				*p++ = share(c[i].ns[k], 1ull << h->L);
			}
		p = varint_put(p, c[i].starts);
		p = varint_put(p, c[i].name ? c[i].name - 1 : 0);
	}
	finish(out, h, tile, p);
	return 0;
}

static uint8_t *put_float(uint8_t *p, double v)
{
	float f = (float)v;
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return put32(p, bits);
}

int wire_samples(struct tile_answer *out, const struct tile_head *h, const struct cell *c)
{
	uint8_t *tile = room(out, HEAD + BITMAP + TILE_CELLS * 12), *bitmap, *p;

	if (!tile)
		return -ENOMEM;
	bitmap = tile + HEAD;
	p = bitmap + BITMAP;
	memset(bitmap, 0, BITMAP);
	for (size_t i = 0; i < TILE_CELLS; i++) {
		double v[3];

		if (!c[i].starts)
			continue;
		bitmap[i / 8] |= (uint8_t)(1u << i % 8);
		memcpy(v, c[i].ns, sizeof(v));
		p = put_float(p, v[CELL_MIN]);
		p = put_float(p, v[CELL_MAX]);
		p = put_float(p, v[CELL_SUM] / c[i].starts);
	}
	finish(out, h, tile, p);
	return 0;
}

int wire_exact(struct tile_answer *out, const struct tile_head *h, const struct exact *e, size_t n)
{
	uint8_t *tile = room(out, HEAD + n * 4 * VARINT_MAX), *p;
	uint64_t end = h->t0_ns, id = 0;

	if (!tile)
		return -ENOMEM;
	p = tile + HEAD;
	for (size_t i = 0; i < n; i++) {
		p = varint_put(p, zigzag(e[i].start_ns - end));
		p = varint_put(p, e[i].end_ns - e[i].start_ns);
		p = varint_put(p, e[i].name);
		p = varint_put(p, zigzag(e[i].id - id));
		end = e[i].end_ns;
		id = e[i].id;
	}
	finish(out, h, tile, p);
	return 0;
}
