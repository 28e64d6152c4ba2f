/* SPDX-License-Identifier: Apache-2.0 */
/* ask.c - parses "L=18&i=12-16&tracks=1,2", which is untrusted. */
#include <errno.h>

#include "tile/cell.h"
#include "tile/tile.h"

/* Parses digits only; *s points behind them. False: none, or too large. */
static bool number(const char **s, uint64_t *out)
{
	const char *p = *s;
	uint64_t v = 0;

	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return false;
	if (p == *s)
		return false;
	*s = p;
	*out = v;
	return true;
}

static bool whole(const char *s, uint64_t *out)
{
	return number(&s, out) && !*s;
}

static bool range(const char *s, uint64_t *first, uint64_t *last)
{
	if (!number(&s, first))
		return false;
	*last = *first;
	if (*s == '-') {
		s++;
		if (!number(&s, last))
			return false;
	}
	return !*s && *first <= *last;
}

static bool list(const char *s, uint32_t *to, size_t max, size_t *n)
{
	uint64_t v;

	for (*n = 0; *n < max; s++) {
		if (!number(&s, &v) || v > UINT32_MAX)
			return false;
		to[(*n)++] = (uint32_t)v;
		if (*s != ',')
			return !*s;
	}
	return false;
}

int tile_ask_parse(struct tile_ask *a, const char *L, const char *i, const char *tracks,
		   const char *from, uint32_t *track, size_t max, const char **why)
{
	uint64_t level;

	*a = (struct tile_ask){ .track = track };
	*why = "L: an even level, 0 to 54";
	if (!L || !whole(L, &level) || level > TILE_LEVEL_MAX || level & 1)
		return -EINVAL;
	a->L = (uint8_t)level;
	*why = "i: an index or first-last, 256 at most, within 2^64 ns";
	if (!i || !range(i, &a->first, &a->last) || a->last - a->first >= TILE_ASK_MAX ||
	    a->last >= 1ull << (64 - TILE_SHIFT - a->L))
		return -EINVAL;
	*why = "tracks: ids with commas between them, 256 at most";
	if (!tracks || !list(tracks, track, max, &a->tracks))
		return -EINVAL;
	*why = "from: the number that an answer gave as next";
	if (from &&
	    (!whole(from, &a->from) || a->from > (a->last - a->first + 1) * (uint64_t)a->tracks))
		return -EINVAL;
	*why = NULL;
	return 0;
}
