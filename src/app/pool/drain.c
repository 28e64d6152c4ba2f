/* SPDX-License-Identifier: Apache-2.0 */
/* drain.c - takes committed records out of the segment: complete, once, and in order. */
#include <errno.h>
#include <string.h>

#include "pool/inside.h"

static uint64_t chunk_key(const struct pool *p, uint32_t i)
{
	const struct aon_chunk_head *c = chunk(p, i);

	return (uint64_t)__atomic_load_n(&c->tid, __ATOMIC_RELAXED) << 32 |
	       __atomic_load_n(&c->seq, __ATOMIC_RELAXED);
}

/* How many records the units hold, or -EPROTO when their lengths do not add up. */
static int count_records(const union aon_rec *rec, uint32_t units)
{
	uint32_t i, n = 0, longer = 0;

	/* Nearly always each is one unit long: a loop in which no step waits for the last. */
	for (i = 0; i < units; i++)
		longer |= rec[i].host.len ^ 1u;
	if (!longer)
		return (int)units;
	for (i = 0; i < units;) {
		uint32_t len = rec[i].host.len;

		if (len == 0 || len > units - i)
			return -EPROTO;
		i += len;
		n++;
	}
	return (int)n;
}

/*
 * Marks units up to n of chunk i consumed and their records taken: both or none, although aond
 * may be killed between any two stores. The next one finishes what is begun (adopt_begun). Each
 * store is a release so that they are made in this order.
 */
static void take(struct pool *p, uint32_t i, uint32_t n, uint32_t records)
{
	struct aon_seg_head *h = shared(p);

	p->done[i] = n;
	p->head.taken += records;
	__atomic_store_n(&h->next_taken, p->head.taken, __ATOMIC_RELEASE);
	__atomic_store_n(&h->next_consumed, n, __ATOMIC_RELEASE);
	__atomic_store_n(&h->next_chunk, i + 1, __ATOMIC_RELEASE);
	atomic_store_explicit(&p->consumed[i], n, memory_order_release);
	__atomic_store_n(&h->taken, p->head.taken, __ATOMIC_RELEASE);
	__atomic_store_n(&h->next_chunk, 0, __ATOMIC_RELEASE);
}

static void free_chunk(struct pool *p, uint32_t i)
{
	p->done[i] = 0;
	/* n before consumed, or an aond that finds the chunk after our death reads it again; and
	 * before the state: the next owner must not show what the last one wrote. */
	atomic_store_explicit(chunk_n(p, i), 0, memory_order_relaxed);
	atomic_store_explicit(&p->consumed[i], 0, memory_order_release);
	/* F: pairs with A. */
	atomic_store_explicit(&p->state[i], AON_CHUNK_FREE, memory_order_release);
	atomic_fetch_sub_explicit((_Atomic uint32_t *)&shared(p)->used, 1, memory_order_relaxed);
}

/*
 * Copies what was added to a chunk since the last pass. 1: copied, 0: nothing new, -ENOBUFS: no
 * room, -EPROTO: the chunk is inconsistent. The chunk is freed when no thread will write to it again.
 */
static int drain_chunk(struct pool *p, const struct chunk_order *o, void *buf, size_t room,
		       bool dead, struct pool_run *run)
{
	uint32_t i = o->chunk, state, n, units;
	int records;

	/* D: pairs with E. */
	state = atomic_load_explicit(&p->state[i], memory_order_acquire);
	if (state == AON_CHUNK_FREE)
		return 0;
	if (state > AON_CHUNK_FULL)
		return -EPROTO;
	/* C: pairs with B. */
	n = atomic_load_explicit(chunk_n(p, i), memory_order_acquire);
	if (n > p->units || n < p->done[i])
		return -EPROTO;
	units = n - p->done[i];
	if (units) {
		const struct aon_chunk_head *c = chunk(p, i);

		/* Listed while its thread took it, in the place of its last owner: next time. */
		if (chunk_key(p, i) != o->key)
			return 0;
		if ((size_t)units * AON_UNIT > room)
			return -ENOBUFS;
		run->tid = c->tid;
		run->seq = c->seq;
		run->tsc_hi = c->tsc_hi;
		run->units = units;
		run->rec = buf;
		memcpy(buf, (const union aon_rec *)(const void *)(c + 1) + p->done[i],
		       (size_t)units * AON_UNIT);
		records = count_records(buf, units);
		if (records < 0)
			return records;
		run->records = (uint32_t)records;
		take(p, i, n, (uint32_t)records);
	}
	if (state == AON_CHUNK_FULL || dead)
		free_chunk(p, i);
	return units != 0;
}

/* Shell's sort: no memory, and quick on what is nearly in order, as this is. */
static void sort(struct chunk_order *o, uint32_t n)
{
	static const uint32_t gaps[] = { 1750, 701, 301, 132, 57, 23, 10, 4, 1 };

	for (unsigned g = 0; g < sizeof(gaps) / sizeof(gaps[0]); g++) {
		for (uint32_t i = gaps[g]; i < n; i++) {
			struct chunk_order x = o[i];
			uint32_t j = i;

			for (; j >= gaps[g] && o[j - gaps[g]].key > x.key; j -= gaps[g])
				o[j] = o[j - gaps[g]];
			o[j] = x;
		}
	}
}

/* Lists the chunks that are not free, sorted by thread and age. */
static uint32_t list(struct pool *p, struct chunk_order *o)
{
	bool sorted = true;
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->head.chunk_count; i++) {
		/* D: pairs with E, and with A: a reader that sees a chunk taken sees the ones before it full. */
		if (atomic_load_explicit(&p->state[i], memory_order_acquire) == AON_CHUNK_FREE)
			continue;
		o[n] = (struct chunk_order){ chunk_key(p, i), i };
		sorted &= n == 0 || o[n - 1].key <= o[n].key;
		n++;
	}
	if (!sorted)
		sort(o, n);
	return n;
}

/*
 * The chunks of a pass, each thread's in the order in which it filled them, none left out
 * between two. One look is not enough: a thread may take a chunk that has been looked at, fill
 * it, and take one that has not. A second look finds every chunk that is older than one which
 * the first has found; younger ones are left to the next pass.
 */
static uint32_t choose(struct pool *p)
{
	struct chunk_order *seen = p->order + p->head.chunk_count;
	uint32_t first = list(p, seen), second = list(p, p->order), n = 0, at = 0;

	for (uint32_t i = 0; i < second; i++) {
		while (at < first && seen[at].key < p->order[i].key)
			at++;
		if (at < first && seen[at].key >> 32 == p->order[i].key >> 32)
			p->order[n++] = p->order[i];
	}
	return n;
}

/* Where in the list the pass before has stopped. */
static uint32_t resume(const struct pool *p, uint32_t n)
{
	uint32_t at = 0;

	while (at < n && p->order[at].key < p->next)
		at++;
	return at < n ? at : 0;
}

int pool_drain(struct pool *p, void *buf, size_t cap, bool dead, struct pool_run *run,
	       size_t run_max, size_t *runs, bool *more)
{
	uint32_t listed = choose(p), at = resume(p, listed);
	size_t used = 0, n = 0;
	int err = 0;

	*more = false;
	for (uint32_t left = listed; left; left--) {
		p->next = p->order[at].key;
		if (n == run_max) {
			*more = true;
			break;
		}
		err = drain_chunk(p, &p->order[at], (uint8_t *)buf + used, cap - used, dead,
				  &run[n]);
		if (err == -ENOBUFS) {
			*more = true;
			err = 0;
			break;
		}
		if (err < 0)
			break;
		if (err)
			used += (size_t)run[n++].units * AON_UNIT;
		err = 0;
		at = at + 1 < listed ? at + 1 : 0;
	}
	if (!*more)
		p->next = 0;
	*runs = n;
	p->drained = dead && !err && !*more;
	return err;
}
