/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of numbers and of rows, against plain arrays. */
#include "base/map.h"

#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "t.h"

#define N 20000u

/* Keys that differ in their lower or their upper half alone, in steps, or little. */
static uint64_t key_of(uint32_t shape, uint64_t i)
{
	switch (shape) {
	case 0:
		return i;
	case 1:
		return i << 32;
	case 2:
		return i << 44;
	case 3:
		return i << 32 | i;
	default:
		return i * 4096 + 0xffff000000000000ull;
	}
}

static void numbers(uint32_t shape)
{
	struct map m = { 0 };
	bool ok = map_get(&m, 1) == 0 && !map_find(&m, 0);

	for (uint64_t i = 0; i < N; i++)
		ok &= map_put(&m, key_of(shape, i), i + 1) == 0;
	for (uint64_t i = 0; i < N; i++)
		ok &= map_get(&m, key_of(shape, i)) == i + 1;
	ok &= !map_get(&m, key_of(shape, N)) && m.used == N;
	ok &= map_put(&m, key_of(shape, 5), 77) == 0 && map_get(&m, key_of(shape, 5)) == 77;
	T_OK(ok && m.used == N, "keys of shape %u are found, and their values change", shape);
	map_fini(&m);
	T_OK(!m.slot && !map_get(&m, 1), "what is ended is empty");
}

static void numbered(void)
{
	struct map m = { 0 };

	T_OK(map_number(&m, 9) == 1 && map_number(&m, 0) == 2 && map_number(&m, UINT64_MAX) == 3,
	     "keys are numbered in the order they come");
	T_OK(map_number(&m, 0) == 2, "a key keeps its number");
	*map_find(&m, 9) = 5;
	T_OK(map_get(&m, 9) == 5, "a value that was found can be set");
	map_fini(&m);
}

static void room(void)
{
	struct map m = { 0 };
	const void *slot;
	bool ok = true;

	*map_at(&m, 7) = 70;
	T_OK(map_room(&m, 1000) == 0 && map_get(&m, 7) == 70, "room keeps what is there");
	slot = m.slot;
	for (uint64_t k = 1; k <= 999; k++) {
		uint64_t *at = map_at(&m, k);

		ok = ok && at && *at == (k == 7 ? 70 : 0);
		*at = 10 * k;
	}
	for (uint64_t k = 1; k <= 999; k++)
		ok = ok && map_get(&m, k) == 10 * k;
	T_OK(ok && m.used == 999, "a new key has no value until it is set");
	T_OK(map_room(&m, 10) == 0 && m.slot == slot, "with room nothing moves");
	map_fini(&m);
}

static bool is_odd(void *arg, uint64_t key, uint64_t value)
{
	*(uint64_t *)arg += value;
	return key % 2;
}

static void dropped(void)
{
	struct map m = { 0 };
	uint64_t sum = 0;
	bool ok = true;

	map_drop(&m, is_odd, &sum);
	for (uint64_t i = 0; i < 1000; i++)
		ok &= map_put(&m, i, 1) == 0;
	map_drop(&m, is_odd, &sum);
	for (uint64_t i = 0; i < 1000; i++)
		ok &= map_get(&m, i) == !(i % 2);
	T_OK(ok && m.used == 500 && sum == 1000, "entries are dropped, the others stay");
	map_fini(&m);
}

struct word {
	char text[12];
	uint32_t seen;
};

struct words {
	struct word *word;
	uint32_t n;
	struct lookup by_text;
};

static struct word *word_of(struct words *w, const char *text)
{
	uint64_t hash = fnv_text(FNV_BASIS, text);
	uint32_t row;

	for (size_t at = 0; lookup_next(&w->by_text, hash, &at, &row);)
		if (!strcmp(w->word[row].text, text))
			return &w->word[row];
	if (vec_more(&w->word, w->n, sizeof(*w->word)) < 0 ||
	    lookup_put(&w->by_text, hash, w->n) < 0)
		return NULL;
	snprintf(w->word[w->n].text, sizeof(w->word->text), "%s", text);
	w->word[w->n].seen = 0;
	return &w->word[w->n++];
}

static void rows(void)
{
	struct words w = { 0 };
	bool ok = true;
	char text[12];

	for (uint32_t i = 0; i < 3 * N; i++) {
		snprintf(text, sizeof(text), "k%u", i % N);
		word_of(&w, text)->seen++;
	}
	ok &= w.n == N;
	for (uint32_t i = 0; i < w.n; i++)
		ok &= w.word[i].seen == 3;
	T_OK(ok, "rows are found by their texts");
	lookup_clear(&w.by_text);
	w.n = 0;
	T_OK(word_of(&w, "k7") == &w.word[0] && w.n == 1, "a cleared table is empty");
	lookup_fini(&w.by_text);
	free(w.word);
}

static void same_hash(void)
{
	struct lookup x = { 0 };
	size_t at = 0, cap = 0;
	uint32_t row = 0, sum = 0, n = 0;

	T_OK(!lookup_next(&x, 3, &at, &row), "an empty table has no row");
	for (uint32_t i = 0; i < 100; i++)
		lookup_put(&x, i % 2, i);
	for (at = 0; lookup_next(&x, 1, &at, &row); n++)
		sum += row;
	T_OK(n == 50 && sum == 2500, "all rows of one hash are given");
	T_OK(!lookup_room(&x, 100000) && (cap = x.cap) > 100000, "room is made beforehand");
	for (uint32_t i = 100; i < 100000; i++)
		lookup_put(&x, i, i);
	T_OK(x.cap == cap && x.used == 100000, "then it does not grow");
	lookup_fini(&x);
}

int main(void)
{
	for (uint32_t shape = 0; shape < 5; shape++)
		numbers(shape);
	numbered();
	room();
	dropped();
	rows();
	same_hash();
	return t_done();
}
