/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.h - hashes of integers and of bytes.
 *
 * hash_u64() is for tables in memory and may change. FNV-1a is for short keys, and for whatever is
 * stored, sent or compared between processes: it never changes. Use XXH3 for long or many bytes.
 * Nothing here allocates: code in the app's process may use it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FNV_BASIS 0xcbf29ce484222325ull

/* FNV-1a of 64 bits; h is FNV_BASIS, a seed, or the hash of what comes before. */
static inline uint64_t fnv_bytes(uint64_t h, const void *bytes, size_t n)
{
	const unsigned char *p = (const unsigned char *)bytes;

	while (n--)
		h = (h ^ *p++) * 0x100000001b3ull;
	return h;
}

static inline uint64_t fnv_text(uint64_t h, const char *s)
{
	while (*s)
		h = (h ^ (unsigned char)*s++) * 0x100000001b3ull;
	return h;
}

/* Every bit of v reaches the upper half and the lower one. */
static inline uint64_t hash_u64(uint64_t v)
{
	v ^= v >> 32;
	v *= 0x9e3779b97f4a7c15ull;
	return v ^ v >> 32;
}

/* A key of several integers: hash_mix(hash_mix(a, b), c). */
static inline uint64_t hash_mix(uint64_t h, uint64_t v)
{
	return hash_u64((h + 1) * 0xd6e8feb86659fd93ull + v);
}
