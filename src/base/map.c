/* SPDX-License-Identifier: Apache-2.0 */
/* map.c - see map.h. */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CAP_FIRST 64u

static bool is_full(size_t used, size_t cap)
{
	return 2 * used >= cap;
}

/* --- numbers --- */

void map_fini(struct map *m)
{
	free(m->slot);
	*m = (struct map){ 0 };
}

static struct map_entry *place_of(struct map *m, uint64_t key)
{
	size_t i = hash_u64(key);

	while (m->slot[i & (m->cap - 1)].value && m->slot[i & (m->cap - 1)].key != key)
		i++;
	return &m->slot[i & (m->cap - 1)];
}

/* Moves all entries except those to drop to a table of `cap` slots. */
static int rebuild(struct map *m, size_t cap, map_fn *drop, void *arg)
{
	struct map to = { .slot = calloc(cap, sizeof(*to.slot)), .cap = cap };

	if (!to.slot)
		return -ENOMEM;
	for (size_t i = 0; i < m->cap; i++) {
		const struct map_entry *e = &m->slot[i];

		if (!e->value || (drop && drop(arg, e->key, e->value)))
			continue;
		*place_of(&to, e->key) = *e;
		to.used++;
	}
	free(m->slot);
	*m = to;
	return 0;
}

int map_room(struct map *m, size_t entries)
{
	size_t cap = m->cap ? m->cap : CAP_FIRST;

	while (is_full(entries, cap))
		cap *= 2;
	return cap == m->cap ? 0 : rebuild(m, cap, NULL, NULL);
}

uint64_t *map_at(struct map *m, uint64_t key)
{
	struct map_entry *e;

	if (is_full(m->used, m->cap) && map_room(m, m->used + 1) < 0)
		return NULL;
	e = place_of(m, key);
	m->used += !e->value;
	e->key = key;
	return &e->value;
}

int map_put(struct map *m, uint64_t key, uint64_t value)
{
	uint64_t *at = map_at(m, key);

	if (!at)
		return -ENOMEM;
	*at = value;
	return 0;
}

uint32_t map_number(struct map *m, uint64_t key)
{
	uint64_t *at = map_at(m, key);

	if (at && !*at)
		*at = m->used;
	return at ? (uint32_t)*at : 0;
}

void map_drop(struct map *m, map_fn *fn, void *arg)
{
	if (m->cap)
		(void)rebuild(m, m->cap, fn, arg);
}

/* --- rows --- */

void lookup_fini(struct lookup *x)
{
	free(x->slot);
	*x = (struct lookup){ 0 };
}

void lookup_clear(struct lookup *x)
{
	if (x->cap)
		memset(x->slot, 0, x->cap * sizeof(*x->slot));
	x->used = 0;
}

/* The upper half of a slot tells where it belongs. */
static void insert(struct lookup *x, uint64_t s)
{
	size_t i = s >> 32;

	while (x->slot[i & (x->cap - 1)])
		i++;
	x->slot[i & (x->cap - 1)] = s;
	x->used++;
}

int lookup_room(struct lookup *x, size_t rows)
{
	struct lookup to = { .cap = x->cap ? x->cap : CAP_FIRST };

	while (is_full(rows, to.cap))
		to.cap *= 2;
	if (to.cap == x->cap)
		return 0;
	to.slot = calloc(to.cap, sizeof(*to.slot));
	if (!to.slot)
		return -ENOMEM;
	for (size_t i = 0; i < x->cap; i++)
		if (x->slot[i])
			insert(&to, x->slot[i]);
	free(x->slot);
	*x = to;
	return 0;
}

int lookup_put(struct lookup *x, uint64_t hash, uint32_t row)
{
	if (is_full(x->used, x->cap) && lookup_room(x, x->used + 1) < 0)
		return -ENOMEM;
	insert(x, hash_u64(hash) >> 32 << 32 | (row + 1));
	return 0;
}
