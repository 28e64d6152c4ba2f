/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cell.c - adds cells, and packs a tile of them as varints: a bitmap of the cells in use, then for
 * each its mask of classes, their times, its starts, its name and its longest piece. About eleven
 * bytes a cell, where the struct has eighty.
 */
#include "tile/cell.h"

#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "base/vec.h"

#define BITMAP    (TILE_CELLS / 8)
#define CELL_MOST (1 + (TILE_CLASSES + 3) * VARINT_MAX)

static double real(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static uint64_t bits(double v)
{
	uint64_t to;

	memcpy(&to, &v, sizeof(to));
	return to;
}

void cell_add(struct cell *to, const struct cell *c)
{
	for (size_t i = 0; i < TILE_CLASSES; i++)
		to->ns[i] += c->ns[i];
	to->starts += c->starts;
	if (c->name && (!to->name || c->longest > to->longest)) {
		to->longest = c->longest;
		to->name = c->name;
	}
}

void cell_sample(struct cell *to, double value)
{
	if (!to->starts || value < real(to->ns[CELL_MIN]))
		to->ns[CELL_MIN] = bits(value);
	if (!to->starts || value > real(to->ns[CELL_MAX]))
		to->ns[CELL_MAX] = bits(value);
	to->ns[CELL_SUM] = bits(real(to->ns[CELL_SUM]) + value);
	to->starts++;
}

void cell_add_samples(struct cell *to, const struct cell *c)
{
	if (!c->starts)
		return;
	if (!to->starts || real(c->ns[CELL_MIN]) < real(to->ns[CELL_MIN]))
		to->ns[CELL_MIN] = c->ns[CELL_MIN];
	if (!to->starts || real(c->ns[CELL_MAX]) > real(to->ns[CELL_MAX]))
		to->ns[CELL_MAX] = c->ns[CELL_MAX];
	to->ns[CELL_SUM] = bits(real(to->ns[CELL_SUM]) + real(c->ns[CELL_SUM]));
	to->starts += c->starts;
}

static uint8_t *pack_one(uint8_t *p, const struct cell *c)
{
	uint8_t *mask = p++;

	*mask = 0;
	for (size_t i = 0; i < TILE_CLASSES; i++)
		if (c->ns[i]) {
			*mask |= (uint8_t)(1u << i);
			p = varint_put(p, c->ns[i]);
		}
	p = varint_put(p, c->starts);
	p = varint_put(p, c->name);
	return varint_put(p, c->longest);
}

uint8_t *cells_pack(const struct cell *c, uint32_t *len)
{
	uint8_t *out = malloc(BITMAP + TILE_CELLS * CELL_MOST), *p = out + BITMAP;

	if (!out)
		return NULL;
	memset(out, 0, BITMAP);
	for (size_t i = 0; i < TILE_CELLS; i++)
		if (cell_used(&c[i])) {
			out[i / 8] |= (uint8_t)(1u << i % 8);
			p = pack_one(p, &c[i]);
		}
	*len = (uint32_t)(p - out);
	(void)vec_resize(&out, *len, 1); /* returns unused memory */
	return out;
}

void cells_unpack(struct cell *c, const uint8_t *bytes, size_t len)
{
	struct varint_in in = { bytes + BITMAP, bytes + len, false };

	memset(c, 0, TILE_CELLS * sizeof(*c));
	for (size_t i = 0; i < TILE_CELLS; i++) {
		uint8_t mask;

		if (!(bytes[i / 8] >> i % 8 & 1))
			continue;
		mask = *in.p++;
		for (size_t k = 0; k < TILE_CLASSES; k++)
			if (mask >> k & 1)
				c[i].ns[k] = varint_get(&in);
		c[i].starts = (uint32_t)varint_get(&in);
		c[i].name = (uint32_t)varint_get(&in);
		c[i].longest = varint_get(&in);
	}
}
