/* SPDX-License-Identifier: Apache-2.0 */
/* map.c - see map.h: open addressing, at most half full. */
#include "insight/map.h"

#include <errno.h>
#include <stdlib.h>

void map_fini(struct map *m)
{
	free(m->key);
	free(m->value);
}

static size_t map_slot(const struct map *m, uint64_t key)
{
	uint64_t h = key * 0x9e3779b97f4a7c15ull;
	size_t i = (size_t)(h ^ h >> 29) & m->mask;

	while (m->value[i] && m->key[i] != key)
		i = (i + 1) & m->mask;
	return i;
}

static int map_grow(struct map *m)
{
	size_t cap = m->value ? 2 * (m->mask + 1) : 256;
	struct map more = { malloc(cap * sizeof(*m->key)), calloc(cap, sizeof(*m->value)), cap - 1,
			    m->used };

	if (!more.key || !more.value) {
		map_fini(&more);
		return -ENOMEM;
	}
	for (size_t i = 0; m->value && i <= m->mask; i++) {
		size_t at = m->value[i] ? map_slot(&more, m->key[i]) : 0;

		if (!m->value[i])
			continue;
		more.key[at] = m->key[i];
		more.value[at] = m->value[i];
	}
	map_fini(m);
	*m = more;
	return 0;
}

int map_put(struct map *m, uint64_t key, uint32_t value)
{
	int err = !m->value || 2 * m->used > m->mask ? map_grow(m) : 0;
	size_t i;

	if (err)
		return err;
	i = map_slot(m, key);
	m->used += !m->value[i];
	m->key[i] = key;
	m->value[i] = value;
	return 0;
}

uint32_t map_get(const struct map *m, uint64_t key)
{
	return m->value ? m->value[map_slot(m, key)] : 0;
}

uint32_t map_number(struct map *m, uint64_t key)
{
	uint32_t have = map_get(m, key);

	if (have)
		return have;
	return map_put(m, key, (uint32_t)m->used + 1) ? 0 : (uint32_t)m->used;
}
