/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.c - the memory that CUPTI writes records into: a fixed pool, lent and given back.
 *
 * CUPTI asks on the app's threads, at a launch, so asking is a bit in a word. When all are lent
 * (kernels that do not end hold theirs back) it gets a small one whose records are counted and
 * thrown away: refusing crashes older versions. There are several of these, since one that is
 * lent twice would be written by two; when they are out, too, one is lent again, and of such a
 * one only the number of records that it may hold is known.
 */
#include <string.h>
#include <sys/mman.h>

#include "probe/cuda/cuda.h"

#define SHARED  (1u << 31) /* of discard_free: some discard buffer was lent twice */
#define DISCARD (CUDA_DISCARDS * CUDA_DISCARD_BYTES)

static uint8_t *discards(const struct cuda *c)
{
	return c->mem + (size_t)c->buffers * CUDA_BUFFER_BYTES;
}

bool buffer_setup(struct cuda *c, uint32_t kib)
{
	uint32_t n = kib / (CUDA_BUFFER_BYTES >> 10);
	size_t bytes;
	void *mem;

	n = n < 4 ? 4 : n > CUDA_BUFFERS_MAX ? CUDA_BUFFERS_MAX : n;
	bytes = (size_t)n * CUDA_BUFFER_BYTES + DISCARD;
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		return false;
	madvise(mem, bytes, MADV_WIPEONFORK);
	madvise(mem, bytes, MADV_DONTDUMP);
	c->mem = mem;
	c->buffers = n;
	for (uint32_t i = 0; i < n; i++)
		c->free[i / 64] |= 1ull << i % 64;
	c->discard_free = (1u << CUDA_DISCARDS) - 1;
	c->max_records = CUDA_RECORDS_MIN;
	return true;
}

static int take(struct cuda *c)
{
	for (uint32_t w = 0; w * 64 < c->buffers; w++) {
		uint64_t v = atomic_load_explicit(&c->free[w], memory_order_relaxed);

		while (v) {
			/* A: pairs with B, so that what we find was read out and zeroed. */
			if (atomic_compare_exchange_weak_explicit(&c->free[w], &v, v & (v - 1),
								  memory_order_acquire,
								  memory_order_relaxed))
				return (int)(w * 64) + __builtin_ctzll(v);
		}
	}
	return -1;
}

static uint32_t discard_records(const struct cuda *c)
{
	uint32_t stride = c->stride[CK_CONCURRENT_KERNEL];

	return CUDA_DISCARD_BYTES / (stride ? stride : CUDA_DISCARD_BYTES);
}

static uint8_t *take_discard(struct cuda *c)
{
	uint32_t v = atomic_load_explicit(&c->discard_free, memory_order_relaxed);
	uint32_t bits = (1u << CUDA_DISCARDS) - 1;

	while (v & bits) {
		uint32_t i = (uint32_t)__builtin_ctz(v & bits);

		if (atomic_compare_exchange_weak_explicit(&c->discard_free, &v, v & ~(1u << i),
							  memory_order_acquire,
							  memory_order_relaxed))
			return discards(c) + i * CUDA_DISCARD_BYTES;
	}
	atomic_fetch_or_explicit(&c->discard_free, SHARED, memory_order_relaxed);
	return discards(c);
}

void buffer_request(struct cuda *c, uint8_t **buffer, size_t *size, size_t *max_records)
{
	int i = take(c);

	atomic_fetch_add_explicit(&c->requests, 1, memory_order_relaxed);
	if (i >= 0) {
		*buffer = c->mem + (size_t)i * CUDA_BUFFER_BYTES;
		*size = CUDA_BUFFER_BYTES;
		*max_records = atomic_load_explicit(&c->max_records, memory_order_relaxed);
		return;
	}
	*buffer = take_discard(c);
	*size = CUDA_DISCARD_BYTES;
	*max_records = discard_records(c);
}

/* What it held is lost, and counted: by walking over it where nobody else may write to it. */
static void discarded(struct cuda *c, uint8_t *buffer, size_t valid)
{
	uint32_t i = (uint32_t)((size_t)(buffer - discards(c)) / CUDA_DISCARD_BYTES);
	uint32_t v = atomic_load_explicit(&c->discard_free, memory_order_relaxed);
	uint64_t n =
		v & SHARED && i == 0 ? discard_records(c) : decode_count(c->stride, buffer, valid);

	aon_lost(AON_LOST_DISCARDED, n);
	atomic_fetch_add_explicit(&c->lost_discarded, n, memory_order_relaxed);
	if (v & SHARED && i == 0)
		return; /* it may still be lent: this one stays out until the end */
	memset(buffer, 0, valid);
	atomic_fetch_or_explicit(&c->discard_free, 1u << i, memory_order_release);
}

void buffer_complete(struct cuda *c, uint8_t *buffer, size_t valid)
{
	size_t pool = (size_t)c->buffers * CUDA_BUFFER_BYTES, at = (size_t)(buffer - c->mem);
	uint32_t i = (uint32_t)(at / CUDA_BUFFER_BYTES);

	if (buffer < c->mem || at >= pool + DISCARD)
		return; /* not ours */
	if (at >= pool) {
		discarded(c, buffer, valid > CUDA_DISCARD_BYTES ? CUDA_DISCARD_BYTES : valid);
		return;
	}
	valid = valid > CUDA_BUFFER_BYTES ? CUDA_BUFFER_BYTES : valid;
	decode(c, buffer, valid);
	if (c->zeroed)
		memset(buffer, 0, valid); /* here, not by CUPTI at somebody's launch */
	/* B: pairs with A. */
	atomic_fetch_or_explicit(&c->free[i / 64], 1ull << i % 64, memory_order_release);
}

uint32_t buffer_lent(const struct cuda *c)
{
	uint32_t here = 0;

	for (uint32_t w = 0; w * 64 < c->buffers; w++)
		here += (uint32_t)__builtin_popcountll(
			atomic_load_explicit(&c->free[w], memory_order_relaxed));
	return c->buffers - here;
}

/* About a tenth of a second in one buffer: the fewer, the less one kernel can hold back. */
void buffer_pace(struct cuda *c, uint64_t records_per_s)
{
	uint64_t n = records_per_s / 10;

	n = n < CUDA_RECORDS_MIN ? CUDA_RECORDS_MIN : n > CUDA_RECORDS_MAX ? CUDA_RECORDS_MAX : n;
	atomic_store_explicit(&c->max_records, (uint32_t)n, memory_order_relaxed);
}
