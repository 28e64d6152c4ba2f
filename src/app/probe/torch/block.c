/* SPDX-License-Identifier: Apache-2.0 */
/* block.c - see block.h. */
#include "probe/torch/block.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include <aon/provider.h>

#include "base/hash.h"
#include "probe/torch/box.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define SETS      (1u << 17)
#define WAYS      8u
#define FILTER    4096u
#define SITE_BITS 8u

struct block {
	_Atomic uintptr_t at;  /* 0: free */
	_Atomic uint64_t info; /* bytes that it counts for, and its site */
};

/* 16 MiB of address space, touched as used. */
struct blocks {
	_Atomic(struct aon_memory *) table; /* NULL: in a child, or before the first block */
	_Atomic uint16_t maybe[FILTER];     /* blocks by a part of their hash: 0 is no */
	struct block block[SETS][WAYS];
};

static struct blocks *blocks; /* NULL: off */
static struct aon_memory own_table;
static uint64_t count_from; /* bytes */
static uint32_t table_generation;
static __thread __attribute__((tls_model("initial-exec"))) uint32_t chance;

uint32_t block_generation(void)
{
	return table_generation;
}

bool block_on(void)
{
	return blocks != NULL;
}

int block_start(bool exact)
{
	struct blocks *b;

	if (blocks)
		return 0;
	b = mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (b == MAP_FAILED)
		return -errno;
	if (madvise(b, sizeof(*b), MADV_WIPEONFORK) < 0) {
		munmap(b, sizeof(*b));
		return -ENOSYS;
	}
	count_from = exact ? 1 : BLOCK_INTERVAL;
	blocks = b;
	return 0;
}

/* Moves what was counted so far to the shared table. What other threads count meanwhile may be lost. */
static struct aon_memory *table_share(struct aon_memory *was)
{
	struct aon_memory *m = aon_memory_table(sizeof(*m));

	if (!m)
		return was;
	*m = *was;
	atomic_store_explicit(&blocks->table, m, memory_order_release);
	return m;
}

__attribute__((cold, noinline)) static struct aon_memory *table_first(void)
{
	struct aon_memory *none = NULL;

	box_init(&own_table, count_from); /* in a child it is the parent's */
	table_generation++;
	atomic_compare_exchange_strong_explicit(&blocks->table, &none, &own_table,
						memory_order_release, memory_order_acquire);
	return none ? none : &own_table;
}

struct aon_memory *block_table(void)
{
	struct aon_memory *m = atomic_load_explicit(&blocks->table, memory_order_acquire);

	if (!m)
		m = table_first();
	return m == &own_table ? table_share(m) : m;
}

/* --- the sets --- */

static uint64_t block_hash(uintptr_t at)
{
	return hash_u64(at / 16);
}

static bool block_keep(uintptr_t at, uint64_t info)
{
	uint64_t h = block_hash(at);
	struct block *set = blocks->block[h % SETS];

	for (uint32_t i = 0; i < WAYS; i++) {
		uintptr_t none = 0;

		if (atomic_load_explicit(&set[i].at, memory_order_relaxed) ||
		    !atomic_compare_exchange_strong_explicit(
			    &set[i].at, &none, at, memory_order_acquire, memory_order_relaxed))
			continue;
		/* Read by the thread that frees it: the program orders the two. */
		atomic_store_explicit(&set[i].info, info, memory_order_relaxed);
		atomic_fetch_add_explicit(&blocks->maybe[h >> 32 & (FILTER - 1)], 1,
					  memory_order_relaxed);
		return true;
	}
	return false;
}

static uint64_t block_forget(uintptr_t at)
{
	uint64_t h = block_hash(at), info;
	struct block *set = blocks->block[h % SETS];

	if (!atomic_load_explicit(&blocks->maybe[h >> 32 & (FILTER - 1)], memory_order_relaxed))
		return 0;
	for (uint32_t i = 0; i < WAYS; i++) {
		if (atomic_load_explicit(&set[i].at, memory_order_relaxed) != at)
			continue;
		info = atomic_load_explicit(&set[i].info, memory_order_relaxed);
		atomic_fetch_sub_explicit(&blocks->maybe[h >> 32 & (FILTER - 1)], 1,
					  memory_order_relaxed);
		/* Pairs with the exchange of the thread that takes the place next. */
		atomic_store_explicit(&set[i].at, 0, memory_order_release);
		return info;
	}
	return 0;
}

/* --- chance --- */

__attribute__((cold, noinline)) static uint32_t chance_seed(void)
{
	return (uint32_t)hash_u64((uintptr_t)&chance) | 1;
}

static bool is_chosen(size_t bytes)
{
	uint32_t x = chance ? chance : chance_seed();

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	chance = x;
	return (x & (count_from - 1)) < bytes; /* a power of two */
}

uint64_t block_made(enum aon_memory_space space, const void *at, size_t bytes, block_site_fn *site)
{
	uint64_t counts = bytes < count_from ? count_from : bytes;
	struct aon_memory *m;
	uint32_t where;

	if (!at || !bytes || (bytes < count_from && !is_chosen(bytes)))
		return 0;
	m = block_table();
	where = site(m, space, at);
	if (!block_keep((uintptr_t)at, counts << SITE_BITS | where)) {
		__atomic_fetch_add(&m->dropped, 1, __ATOMIC_RELAXED);
		return 0;
	}
	box_add(m, where, counts);
	return counts;
}

uint64_t block_freed(const void *at)
{
	uint64_t info = block_forget((uintptr_t)at);

	if (!info)
		return 0;
	box_sub(block_table(), info & ((1u << SITE_BITS) - 1), info >> SITE_BITS);
	return info >> SITE_BITS;
}

/* The program may free the block meanwhile, on another thread: then its bytes are taken off again. */
void block_move(const void *at, uint32_t site)
{
	uint64_t mask = (1u << SITE_BITS) - 1;
	struct block *set = blocks->block[block_hash((uintptr_t)at) % SETS];

	for (uint32_t i = 0; i < WAYS; i++) {
		uint64_t info = atomic_load_explicit(&set[i].info, memory_order_relaxed);

		if (atomic_load_explicit(&set[i].at, memory_order_acquire) != (uintptr_t)at ||
		    !atomic_compare_exchange_strong_explicit(
			    &set[i].info, &info, (info & ~mask) | site, memory_order_relaxed,
			    memory_order_relaxed))
			continue;
		box_sub(block_table(), info & mask, info >> SITE_BITS);
		box_add(block_table(), site, info >> SITE_BITS);
		return;
	}
}
