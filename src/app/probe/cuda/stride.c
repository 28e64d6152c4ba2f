/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stride.c - learns the length of records from the library that writes them.
 *
 * cuptiGetVersion() cannot tell: three releases report 18 and have kernels of 200 and 208 bytes. If
 * the library has a call for it, that call answers. Otherwise its own walker runs over a buffer in
 * which every word could begin a record of the kind, and the distance of two steps is the length.
 */
#include "probe/cuda/cuda.h"

#define ROOM       512u  /* words: twice the longest record, and more */
#define STRIDE_MAX 2048u /* bytes */

static uint32_t walk(cupti_next_fn *next, uint32_t kind)
{
	uint64_t word[ROOM];
	void *at = NULL, *first;

	for (unsigned i = 0; i < ROOM; i++)
		word[i] = kind;
	if (next((uint8_t *)word, sizeof(word), &at) != CUPTI_OK || !at)
		return 0;
	first = at;
	if (next((uint8_t *)word, sizeof(word), &at) != CUPTI_OK || at <= first)
		return 0;
	return (uint32_t)((uint8_t *)at - (uint8_t *)first);
}

static uint32_t ask(cupti_size_fn *size, uint32_t kind)
{
	size_t n = 0;

	return size(kind, 0, &n) == CUPTI_OK && n <= STRIDE_MAX ? (uint32_t)n : 0;
}

unsigned stride_learn(uint16_t stride[CK_MAX], cupti_next_fn *next, cupti_size_fn *size)
{
	unsigned known = 0;

	for (uint32_t kind = 0; kind < CK_MAX; kind++) {
		uint32_t n = kind && size ? ask(size, kind) : 0;

		if (!n && kind && next)
			n = walk(next, kind);
		stride[kind] = n <= STRIDE_MAX && n % 8 == 0 ? (uint16_t)n : 0;
		known += stride[kind] != 0;
	}
	return known;
}

bool stride_usable(const uint16_t stride[CK_MAX])
{
	static const struct {
		uint8_t kind, least;
	} need[] = {
		/* clang-format off */
		{ CK_CONCURRENT_KERNEL, 200 }, { CK_MEMCPY, 88 }, { CK_MEMSET, 88 },
		{ CK_MEMCPY2, 96 }, { CK_SYNC, 40 }, { CK_GRAPH_TRACE, 48 },
		/* clang-format on */
	};

	for (size_t i = 0; i < sizeof(need) / sizeof(need[0]); i++)
		if (stride[need[i].kind] < need[i].least)
			return false;
	return true;
}
