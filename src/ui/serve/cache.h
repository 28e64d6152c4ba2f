/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - a bounded cache of answers. Any thread may use it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CACHE_BYTES   (16u << 20)
#define CACHE_ENTRIES 128u

struct answer;
struct cache;

struct cache_key {
	const char *run, *target;
	uint64_t asof, blob; /* the state of the run when the answer was made */
};

int cache_new(struct cache **out);
void cache_free(struct cache *c); /* NULL is allowed */

/* True: *a is a copy of the stored answer. */
bool cache_get(struct cache *c, const struct cache_key *k, struct answer *a);
/* Stores a copy if it is not too large; evicts the least recently used answers. */
void cache_put(struct cache *c, const struct cache_key *k, const struct answer *a);
