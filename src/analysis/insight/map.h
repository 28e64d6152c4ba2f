/* SPDX-License-Identifier: Apache-2.0 */
/* map.h - from a number of 64 bits to one of 32 that is never 0. */
#ifndef AON_INSIGHT_MAP_H
#define AON_INSIGHT_MAP_H

#include <stddef.h>
#include <stdint.h>

/* All zero is an empty one. */
struct map {
	uint64_t *key;
	uint32_t *value; /* 0: free */
	size_t mask, used;
};

void map_fini(struct map *m);
int map_put(struct map *m, uint64_t key, uint32_t value); /* 0 or -ENOMEM */
uint32_t map_get(const struct map *m, uint64_t key);      /* 0: not there */
/* What is there; if nothing, the next number: 1, 2, ... 0: no memory. */
uint32_t map_number(struct map *m, uint64_t key);

#endif /* AON_INSIGHT_MAP_H */
