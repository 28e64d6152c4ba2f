/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intern.c - names, launch geometries and tracks become small numbers, once per process.
 *
 * The process keeps its own heap in the segment's format, with the segment's offsets. A
 * segment that comes later gets a copy, so an id holds for the life of the process, through
 * any number of daemons, and in its forked children.
 *
 *	a thread that interns                     a thread that joins
 *	P  store the entry's word, seq_cst        S  store ready, seq_cst (client_use)
 *	R  load ready, seq_cst                    Q  load each entry's word, seq_cst
 *	   there? copy the entry into it             there? copy the entry into it
 *
 * All four are in one order, so one of the two sees the other's store and no entry is missed;
 * both may copy, the bytes are the same. The index is open addressing over words of (hash, offset); losers of a race leave
 * a second entry with the same text, which aond treats as the same name.
 */
#include <string.h>

#include <aon/aon.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "client/client.h"

#define SLOTS  (1u << 16)
#define PROBES 64u

static struct {
	uint8_t *heap;          /* AON_HEAP_BYTES, in the format of abi/segment.h */
	_Atomic uint64_t *slot; /* SLOTS: hash's high half << 32 | offset; 0: free */
	_Atomic uint32_t used;
} table;

bool intern_setup(void)
{
	table.heap = link_private(AON_HEAP_BYTES, false);
	table.slot = link_private(SLOTS * sizeof(*table.slot), false);
	atomic_store_explicit(&table.used, AON_TRACK_ALIGN, memory_order_relaxed);
	return table.heap && table.slot;
}

static _Atomic uint32_t *entry_word(uint8_t *heap, uint32_t off)
{
	return (_Atomic uint32_t *)(void *)(heap + off);
}

/* The interning and the joining thread may copy an entry at the same time: the same bytes, atomically. */
static void copy(uint8_t *to, const uint8_t *from, uint32_t len)
{
	uint32_t four;

	for (; len >= sizeof(four); len -= 4, to += 4, from += 4) {
		memcpy(&four, from, sizeof(four));
		atomic_store_explicit((_Atomic uint32_t *)(void *)to, four, memory_order_relaxed);
	}
	for (; len; len--)
		atomic_store_explicit((_Atomic uint8_t *)to++, *from++, memory_order_relaxed);
}

static void put(uint8_t *heap, uint32_t off, uint32_t word, const void *data)
{
	copy(heap + off + sizeof(word), data, word & 0xffff);
	/* P. Also publishes the entry to the loads of pool_heap() and same(). */
	atomic_store_explicit(entry_word(heap, off), word, memory_order_seq_cst);
}

/* Copies an entry of the own heap to the segment, if there is one and it fits. */
static void mirror(uint32_t off, uint32_t word)
{
	const struct aon_seg *s = &aon_client.seg;

	/* R */
	if (!atomic_load_explicit(&aon_client.ready, memory_order_seq_cst) || client_was_forked())
		return; /* in a child the segment is the parent's */
	if (off + sizeof(word) + (word & 0xffff) <= s->heap_bytes)
		put(s->heap, off, word, table.heap + off + sizeof(word));
}

void intern_publish(void)
{
	uint32_t end = atomic_load_explicit(&table.used, memory_order_seq_cst);
	uint32_t off = AON_TRACK_ALIGN;

	while (off < end) {
		/* Q */
		uint32_t word =
			atomic_load_explicit(entry_word(table.heap, off), memory_order_seq_cst);

		if (word & 0xffff) {
			mirror(off, word);
			off += (uint32_t)sizeof(word) + (word & 0xffff);
		}
		/* A hole (alignment, or an entry still being written): look at each place. */
		off = word & 0xffff ? (off + AON_HEAP_ALIGN - 1) & ~(AON_HEAP_ALIGN - 1)
				    : off + AON_HEAP_ALIGN;
	}
}

static bool same(uint32_t off, uint32_t word, const void *data)
{
	return atomic_load_explicit(entry_word(table.heap, off), memory_order_acquire) == word &&
	       memcmp(table.heap + off + sizeof(word), data, word & 0xffff) == 0;
}

/* Room for an entry: its offset, or 0 when the heap is full. */
static uint32_t reserve(uint32_t type, uint32_t len)
{
	uint32_t align = type == AON_HEAP_TRACK ? AON_TRACK_ALIGN : AON_HEAP_ALIGN;
	uint32_t at = atomic_load_explicit(&table.used, memory_order_relaxed), off, end;

	do {
		off = (at + align - 1) & ~(align - 1);
		end = (off + (uint32_t)sizeof(uint32_t) + len + AON_HEAP_ALIGN - 1) &
		      ~(AON_HEAP_ALIGN - 1);
		if (end > AON_HEAP_BYTES)
			return 0;
	} while (!atomic_compare_exchange_weak_explicit(&table.used, &at, end, memory_order_seq_cst,
							memory_order_relaxed));
	return off;
}

static uint32_t add(uint32_t word, const void *data)
{
	uint32_t off = reserve(word >> 16, word & 0xffff);

	if (!off)
		return 0;
	put(table.heap, off, word, data);
	mirror(off, word);
	return off;
}

/* The entry's offset in the heap, 0 when there is no room for it. */
uint32_t intern(uint32_t type, const void *data, uint32_t len)
{
	uint32_t word = len | type << 16;
	uint64_t hash = XXH3_64bits_withSeed(data, len, type);
	uint32_t mine = 0;

	if (!table.slot || !len)
		return 0;
	for (uint32_t i = 0; i < PROBES; i++) {
		_Atomic uint64_t *slot = &table.slot[(hash + i) & (SLOTS - 1)];
		uint64_t v = atomic_load_explicit(slot, memory_order_acquire);

		if (!v) {
			mine = mine ? mine : add(word, data);
			if (!mine)
				return 0;
			if (atomic_compare_exchange_strong_explicit(
				    slot, &v, (hash >> 32) << 32 | mine, memory_order_acq_rel,
				    memory_order_acquire))
				return mine;
		}
		if (v >> 32 == hash >> 32 && same((uint32_t)v, word, data))
			return (uint32_t)v;
	}
	return mine;
}

/* Room that the process itself fills, in the segment: zeros at first, in every segment that it gets. */
uint32_t intern_room(uint32_t type, uint32_t len)
{
	uint32_t off = table.heap ? reserve(type, len) : 0, word = len | type << 16;

	if (!off)
		return 0;
	atomic_store_explicit(entry_word(table.heap, off), word, memory_order_seq_cst); /* P */
	mirror(off, word);
	return off;
}
