/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - see memory.h. */
#include "pool/memory.h"

#include <errno.h>
#include <string.h>

#include "pool/inside.h"

#define MAKING 1u           /* a key: its name is being written */
#define MOST   (1ull << 62) /* sums of two do not overflow */

static void cap(uint64_t *v, uint64_t most)
{
	*v = *v < most ? *v : most;
}

/* Names go to screens: what is not printable there is made so by whoever shows them. */
static void check_site(struct aon_memory_site *s)
{
	uint64_t *const number[] = { &s->live,       &s->peak,  &s->count, &s->kept,
				     &s->since_step, &s->since, &s->most };

	if (s->key <= MAKING || s->part >= AON_MEMORY_PARTS || s->space >= AON_MEMORY_SPACES) {
		memset(s, 0, sizeof(*s));
		return;
	}
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		cap(number[i], MOST);
	s->name[AON_MEMORY_NAME - 1] = '\0';
	if (s->placed >= AON_MEMORY_PLACE)
		s->placed = 0;
	s->place[s->placed] = '\0';
}

static void check_total(struct aon_memory_total *t)
{
	uint64_t *const number[] = { &t->live,  &t->peak,       &t->top,       &t->limit,
				     &t->fails, &t->fail_bytes, &t->fail_live, &t->fail_step };

	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		cap(number[i], MOST);
	cap(&t->rows, AON_MEMORY_STEPS);
	if (t->fail_site > AON_MEMORY_SITES)
		t->fail_site = 0;
	for (uint32_t i = 0; i < AON_MEMORY_STEPS; i++) {
		cap(&t->step[i].step, MOST);
		cap(&t->step[i].kept, MOST);
		cap(&t->step[i].peak, MOST);
		cap(&t->step[i].low, MOST);
		cap(&t->step[i].batch, MOST);
	}
}

int memory_check(struct aon_memory *m)
{
	if (m->version != AON_MEMORY_VERSION || m->bytes != sizeof(*m))
		return m->version ? -EPROTO : -ENOENT;
	cap(&m->step, MOST);
	cap(&m->batch, MOST);
	for (uint32_t i = 0; i < AON_MEMORY_SPACES; i++)
		check_total(&m->total[i]);
	for (uint32_t i = 0; i < AON_MEMORY_SITES; i++)
		check_site(&m->site[i]);
	return 0;
}

int pool_memory(const struct pool *p, struct aon_memory *out)
{
	struct {
		uint32_t pad[2];
		struct aon_memory m;
	} copy = { 0 };
	uint64_t off = __atomic_load_n(&shared(p)->memory_off, __ATOMIC_RELAXED);
	const size_t len = sizeof(copy) - sizeof(copy.pad[0]);
	int got;

	if (!off || off > p->head.heap_bytes)
		return -ENOENT;
	/* The entry's payload begins 4 bytes before the table. */
	got = pool_heap(p, (uint32_t)off, AON_HEAP_MEMORY, &copy.pad[1], len);
	if (got < 0)
		return got;
	if ((size_t)got != len)
		return -EPROTO;
	*out = copy.m;
	return memory_check(out);
}
