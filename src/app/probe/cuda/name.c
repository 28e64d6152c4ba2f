/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name.c - names of kernels: CUPTI gives a pointer, and its text is read once.
 *
 * The table is for the names in records only. A callback's name is valid during the callback, and
 * may lie in memory that CUPTI uses again: launch.c interns its text.
 *
 * Another module may later put another text at the same address, so loading or unloading a module
 * clears the whole table. Records from before are still on their way then, and would fill the table
 * again, so it is cleared for some more ticks. Those records may find another text at their
 * address: so a name is looked up when the kernel is launched, and kept until its record comes.
 */

#include "probe/cuda/cuda.h"

#define PROBES      8u
#define FLUSH_TICKS 3u
#define ID_BITS     16u /* libaon's heap has no more names */

static inline uint32_t slot(uint64_t p)
{
	return (uint32_t)(p * 0x9e3779b97f4a7c15ull >> 50) % CUDA_NAMES;
}

uint32_t name_of(struct cuda *c, const char *text)
{
	uint64_t p = (uint64_t)(uintptr_t)text, v;
	uint32_t at = slot(p), id, i;

	if (!text)
		return 0;
	for (i = 0; i < PROBES; i++) {
		v = atomic_load_explicit(&c->name[(at + i) % CUDA_NAMES], memory_order_relaxed);
		if (v >> ID_BITS == p)
			return (uint32_t)(v & ((1u << ID_BITS) - 1));
		if (!v)
			break;
	}
	id = aon_name(text);
	/* A full neighbourhood gives its first place away. */
	if (id && id < 1u << ID_BITS && p < 1ull << (64 - ID_BITS))
		atomic_store_explicit(&c->name[(at + (i < PROBES ? i : 0)) % CUDA_NAMES],
				      p << ID_BITS | id, memory_order_relaxed);
	return id;
}

void name_forget(struct cuda *c)
{
	for (uint32_t i = 0; i < CUDA_NAMES; i++)
		if (atomic_load_explicit(&c->name[i], memory_order_relaxed))
			atomic_store_explicit(&c->name[i], 0, memory_order_relaxed);
	atomic_store_explicit(&c->name_flush, FLUSH_TICKS, memory_order_relaxed);
}
