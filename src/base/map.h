/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.h - hash tables: open addressing, linear probing, at most half full.
 *
 * struct map maps a 64-bit number to another one that is never 0. struct lookup finds rows of
 * the caller's array by keys of any kind: the caller gives a hash and compares the candidates.
 * Both are empty when all zero, grow by themselves, and belong to one thread.
 *
 * Code that may not allocate (in the app's process, on aond's drain path) keeps tables of its own:
 * tools/toolbox.txt lists them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* --- numbers --- */

struct map_entry {
	uint64_t key;
	uint64_t value; /* 0: free */
};

struct map {
	struct map_entry *slot; /* owned */
	size_t cap;             /* 0 or a power of two */
	size_t used;
};

void map_fini(struct map *m); /* and it is empty again */

/* Where the key's value is, or NULL. */
static inline uint64_t *map_find(const struct map *m, uint64_t key)
{
	if (!m->cap)
		return NULL;
	for (size_t i = hash_u64(key);; i++) {
		struct map_entry *e = &m->slot[i & (m->cap - 1)];

		if (!e->value || e->key == key)
			return e->value ? &e->value : NULL;
	}
}

/* 0: it is not there. */
static inline uint64_t map_get(const struct map *m, uint64_t key)
{
	const uint64_t *value = map_find(m, key);

	return value ? *value : 0;
}

int map_put(struct map *m, uint64_t key, uint64_t value); /* 0 or -ENOMEM */
int map_room(struct map *m, size_t entries);              /* reserves room: none moves again */

/* Where the key's value is. A new key's is 0, and the caller sets it. NULL: no memory. */
uint64_t *map_at(struct map *m, uint64_t key);

/* The key's value. A new key gets the next number: 1, 2, ... Returns 0 if there is no memory. */
uint32_t map_number(struct map *m, uint64_t key);

/* Drops the entries for which fn() is true. If there is no memory, they stay. */
typedef bool map_fn(void *arg, uint64_t key, uint64_t value);
void map_drop(struct map *m, map_fn *fn, void *arg);

/* --- rows --- */

/*
 *	for (size_t at = 0; lookup_next(&x, hash, &at, &row);)
 *		if (same(&array[row], key))
 *			return row;
 *	err = lookup_put(&x, hash, row = n++);
 */
struct lookup {
	uint64_t *slot; /* owned: the hash's upper half, row + 1; 0: free */
	size_t cap;     /* 0 or a power of two */
	size_t used;
};

void lookup_fini(struct lookup *x);                            /* and it is empty again */
void lookup_clear(struct lookup *x);                           /* keeps the memory */
int lookup_room(struct lookup *x, size_t rows);                /* reserves room for so many */
int lookup_put(struct lookup *x, uint64_t hash, uint32_t row); /* 0 or -ENOMEM */

/* The next row with that hash, or false. *at must be 0 before the first call. */
static inline bool lookup_next(const struct lookup *x, uint64_t hash, size_t *at, uint32_t *row)
{
	uint64_t h = hash_u64(hash);

	while (x->cap) {
		uint64_t s = x->slot[((h >> 32) + (*at)++) & (x->cap - 1)];

		if (!s)
			return false;
		*row = (uint32_t)s - 1;
		if ((s ^ h) >> 32 == 0)
			return true;
	}
	return false;
}
