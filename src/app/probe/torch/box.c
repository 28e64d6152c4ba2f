/* SPDX-License-Identifier: Apache-2.0 */
/* box.c - see box.h. */
#include "probe/torch/box.h"

#include <stdbool.h>
#include <string.h>

#include "base/hash.h"

#define KEY_MAKING 1u /* a key: another thread writes the name */
#define FLAT_STEPS 8u /* without growth: what grew before is another matter */

static uint64_t word_get(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void word_set(uint64_t *word, uint64_t v)
{
	__atomic_store_n(word, v, __ATOMIC_RELAXED);
}

static void word_raise(uint64_t *word, uint64_t v)
{
	uint64_t was = word_get(word);

	while (v > was && !__atomic_compare_exchange_n(word, &was, v, true, __ATOMIC_RELAXED,
						       __ATOMIC_RELAXED))
		;
}

/* Blocks that were counted in another table may be taken off here: never below 0. */
static uint64_t word_lower(uint64_t *word, uint64_t by)
{
	uint64_t was = word_get(word), left;

	do
		left = was > by ? was - by : 0;
	while (!__atomic_compare_exchange_n(word, &was, left, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	return left;
}

void box_init(struct aon_memory *m, uint64_t interval)
{
	memset(m, 0, sizeof(*m));
	m->bytes = sizeof(*m);
	m->interval = interval;
	m->step = 1;
	for (uint32_t space = 0; space < AON_MEMORY_SPACES; space++) {
		m->total[space].every = 1;
		for (uint32_t part = 1; part < AON_MEMORY_PARTS; part++) {
			struct aon_memory_site *s = &m->site[box_fixed((enum aon_memory_space)space,
								       (enum aon_memory_part)part)];

			s->part = (uint16_t)part;
			s->space = (uint16_t)space;
			s->key = KEY_MAKING + part;
		}
	}
	m->version = AON_MEMORY_VERSION;
}

/* "layers.3.attn" -> "layers.*.attn" */
static void plain_name(char out[AON_MEMORY_NAME], const char *name)
{
	size_t n = 0;

	memset(out, 0, AON_MEMORY_NAME);
	while (*name && n < AON_MEMORY_NAME - 1) {
		size_t len = strcspn(name, "."), digits = strspn(name, "0123456789");

		if (len && digits == len) {
			out[n++] = '*';
			name += len;
		}
		for (; *name && n < AON_MEMORY_NAME - 1; name++) {
			out[n++] = *name;
			if (*name == '.') {
				name++;
				break;
			}
		}
	}
}

/* One that another thread is making is passed by: the same name may then come twice. */
static bool make_name(struct aon_memory_site *s, uint64_t key, enum aon_memory_space space,
		      enum aon_memory_part part, const char name[AON_MEMORY_NAME])
{
	uint64_t none = 0;

	if (!__atomic_compare_exchange_n(&s->key, &none, KEY_MAKING, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	s->part = (uint16_t)part;
	s->space = (uint16_t)space;
	memcpy(s->name, name, AON_MEMORY_NAME);
	/* Pairs with the loads of box_site() and of whoever reads the table. */
	__atomic_store_n(&s->key, key, __ATOMIC_RELEASE);
	return true;
}

uint32_t box_site(struct aon_memory *m, enum aon_memory_space space, enum aon_memory_part part,
		  const char *name)
{
	const uint32_t room = AON_MEMORY_SITES - AON_MEMORY_FIXED;
	char text[AON_MEMORY_NAME];
	uint64_t hash;

	plain_name(text, name);
	hash = fnv_text(FNV_BASIS, text) * 31 + (uint64_t)space * AON_MEMORY_PARTS + part;
	hash |= 1ull << 63; /* no fixed one's */
	for (uint32_t i = 0; i < room; i++) {
		uint32_t at = AON_MEMORY_FIXED + (uint32_t)((hash + i) % room);
		struct aon_memory_site *s = &m->site[at];
		uint64_t key = __atomic_load_n(&s->key, __ATOMIC_ACQUIRE);

		if (key == hash)
			return at;
		if (!key && make_name(s, hash, space, part, text))
			return at;
	}
	__atomic_fetch_add(&m->unnamed, 1, __ATOMIC_RELAXED);
	return box_fixed(space, part);
}

void box_place(struct aon_memory *m, uint32_t site, const char *place)
{
	struct aon_memory_site *s = &m->site[site];
	size_t len = strlen(place), skip = len >= AON_MEMORY_PLACE ? len - AON_MEMORY_PLACE + 1 : 0;

	if (__atomic_load_n(&s->placed, __ATOMIC_ACQUIRE) || !len)
		return;
	memcpy(s->place, place + skip, len - skip); /* its end says most */
	__atomic_store_n(&s->placed, (uint16_t)(len - skip), __ATOMIC_RELEASE);
}

void box_add(struct aon_memory *m, uint32_t site, uint64_t bytes)
{
	struct aon_memory_site *s = &m->site[site];
	struct aon_memory_total *t = &m->total[s->space];
	uint64_t live = __atomic_add_fetch(&t->live, bytes, __ATOMIC_RELAXED);

	word_raise(&s->peak, __atomic_add_fetch(&s->live, bytes, __ATOMIC_RELAXED));
	__atomic_fetch_add(&s->count, 1, __ATOMIC_RELAXED);
	word_raise(&t->top, live);
}

void box_sub(struct aon_memory *m, uint32_t site, uint64_t bytes)
{
	struct aon_memory_total *t = &m->total[m->site[site].space];
	uint64_t least = word_get(&t->bottom), left;

	word_lower(&m->site[site].live, bytes);
	left = word_lower(&t->live, bytes);
	while (left < least && !__atomic_compare_exchange_n(&t->bottom, &least, left, true,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

void box_fail(struct aon_memory *m, enum aon_memory_space space, uint64_t bytes, uint32_t site)
{
	struct aon_memory_total *t = &m->total[space];

	word_set(&t->fail_bytes, bytes);
	word_set(&t->fail_live, word_get(&t->live));
	word_set(&t->fail_step, word_get(&m->step));
	word_set(&t->fail_site, site + 1);
	/* Last: who reads the count, with acquire, sees the rest, or that of a later one. */
	__atomic_fetch_add(&t->fails, 1, __ATOMIC_RELEASE);
}

/* --- what a step leaves --- */

/* Growth has a beginning: the last step before it that kept less. One that falls back by half, or stays as it is for
 * some steps, begins anew. */
static void box_step_site(struct aon_memory_site *s, uint64_t number)
{
	uint64_t live = word_get(&s->live), most = word_get(&s->most), since = word_get(&s->since);
	bool grown = live > most;

	word_set(&s->kept, live);
	s->flat = grown ? 0 : s->flat + 1;
	if (!word_get(&s->since_step) || live < since + (most - since) / 2 ||
	    s->flat >= FLAT_STEPS) {
		s->flat = 0;
		word_set(&s->since_step, number);
		word_set(&s->since, live);
		word_set(&s->most, live);
	} else if (grown) {
		word_set(&s->most, live);
	}
}

/* Every two rows become one. */
static void halve_rows(struct aon_memory_total *t)
{
	for (uint32_t i = 0; i < AON_MEMORY_STEPS / 2; i++) {
		struct aon_memory_step *a = &t->step[2 * i], *b = &t->step[2 * i + 1];
		uint64_t peak = a->peak > b->peak ? a->peak : b->peak;

		t->step[i] = (struct aon_memory_step){ .step = b->step,
						       .kept = b->kept,
						       .peak = peak,
						       .low = a->low < b->low ? a->low : b->low,
						       .batch = b->batch };
	}
	t->every *= 2;
	word_set(&t->rows, AON_MEMORY_STEPS / 2);
}

static void box_step_total(struct aon_memory_total *t, uint64_t number, uint64_t batch)
{
	uint64_t rows = word_get(&t->rows), live = word_get(&t->live);
	uint64_t top = __atomic_exchange_n(&t->top, live, __ATOMIC_RELAXED);
	uint64_t bottom = __atomic_exchange_n(&t->bottom, live, __ATOMIC_RELAXED);
	struct aon_memory_step *r;

	word_raise(&t->peak, top);
	if (rows == AON_MEMORY_STEPS &&
	    (number - 1) / t->every != (t->step[rows - 1].step - 1) / t->every) {
		halve_rows(t);
		rows = AON_MEMORY_STEPS / 2;
	}
	if (!rows || (number - 1) / t->every != (t->step[rows - 1].step - 1) / t->every) {
		r = &t->step[rows];
		*r = (struct aon_memory_step){ .step = number, .low = bottom };
		word_set(&t->rows, rows + 1);
	} else {
		r = &t->step[rows - 1];
	}
	r->step = number;
	r->kept = live;
	r->peak = top > r->peak ? top : r->peak;
	r->low = bottom < r->low ? bottom : r->low;
	r->batch = batch;
}

void box_step(struct aon_memory *m, uint64_t number)
{
	for (uint32_t i = 1; i < AON_MEMORY_SITES; i++)
		if (word_get(&m->site[i].count))
			box_step_site(&m->site[i], number);
	for (uint32_t i = 0; i < AON_MEMORY_SPACES; i++)
		if (word_get(&m->total[i].live) || word_get(&m->total[i].top))
			box_step_total(&m->total[i], number, word_get(&m->batch));
	word_set(&m->step, number + 1);
}
