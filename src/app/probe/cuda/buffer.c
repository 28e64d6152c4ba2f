/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.c - the memory that CUPTI writes records into: a fixed pool, lent and given back.
 *
 * CUPTI asks for a buffer on the app's threads, at a launch, so taking one is setting a bit in a
 * word. When all are lent (kernels that do not end hold theirs back), CUPTI gets a small one whose
 * records are counted and discarded: refusing crashes versions before 12.9. There are many of
 * these, with no memory behind them until they are used: one that is lent twice would send CUPTI's
 * own walk over it into a loop. Only when these are used up, too, is CUPTI refused; then it counts
 * its losses itself.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "probe/cuda/cuda.h"

#define REFUSABLE 27u /* CUPTI's API version from which no buffer is an answer */

static uint8_t scrap[CUDA_DISCARD_BYTES] __attribute__((aligned(8)));

static void fill(_Atomic uint64_t *bits, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		bits[i / 64] |= 1ull << i % 64;
}

bool buffer_setup(struct cuda *c, uint32_t kib, uint32_t buffer_kib)
{
	uint32_t each = buffer_kib < CUDA_BUFFER_LEAST  ? CUDA_BUFFER_LEAST
			: buffer_kib > CUDA_BUFFER_MOST ? CUDA_BUFFER_MOST
							: buffer_kib;
	uint32_t n = kib / each;
	size_t bytes;
	void *mem;

	n = n < 4 ? 4 : n > CUDA_BUFFERS_MAX ? CUDA_BUFFERS_MAX : n;
	c->buffer_bytes = each << 10;
	bytes = (size_t)n * c->buffer_bytes + CUDA_DISCARDS * CUDA_DISCARD_BYTES;
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		   -1, 0);
	if (mem == MAP_FAILED)
		return false;
	madvise(mem, bytes, MADV_WIPEONFORK);
	madvise(mem, bytes, MADV_DONTDUMP);
	c->mem = mem;
	c->buffers = n;
	fill(c->free, n);
	fill(c->discard_free, CUDA_DISCARDS);
	return true;
}

static int take(_Atomic uint64_t *bits, uint32_t n)
{
	for (uint32_t w = 0; w * 64 < n; w++) {
		uint64_t v = atomic_load_explicit(&bits[w], memory_order_relaxed);

		while (v) {
			/* A: pairs with B, so that what we find was read out and zeroed. */
			if (atomic_compare_exchange_weak_explicit(&bits[w], &v, v & (v - 1),
								  memory_order_acquire,
								  memory_order_relaxed))
				return (int)(w * 64) + __builtin_ctzll(v);
		}
	}
	return -1;
}

static void give(_Atomic uint64_t *bits, uint32_t i)
{
	/* B: pairs with A. */
	atomic_fetch_or_explicit(&bits[i / 64], 1ull << i % 64, memory_order_release);
}

void buffer_request(struct cuda *c, uint8_t **buffer, size_t *size, size_t *max_records)
{
	int i = take(c->free, c->buffers);

	*max_records = 0; /* as many as there is room for */
	atomic_fetch_add_explicit(&c->requests, 1, memory_order_relaxed);
	if (i >= 0) {
		*buffer = c->mem + (size_t)i * c->buffer_bytes;
		*size = c->buffer_bytes;
		return;
	}
	i = take(c->discard_free, CUDA_DISCARDS);
	*size = CUDA_DISCARD_BYTES;
	if (i >= 0) {
		*buffer = c->mem + (size_t)c->buffers * c->buffer_bytes +
			  (size_t)i * CUDA_DISCARD_BYTES;
	} else if (c->api.version >= REFUSABLE) {
		*buffer = NULL;
		*size = 0;
	} else {
		buffer_scrap(buffer, size, max_records);
	}
}

/* For nobody to look into, not even us: one record. */
void buffer_scrap(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = scrap;
	*size = sizeof(scrap);
	*max_records = 1;
}

/* What it held is lost, and counted. Its page goes back, and is zero when it is used again. */
static void discarded(struct cuda *c, uint8_t *buffer, uint32_t i, size_t valid)
{
	int saved = errno;

	aon_lost(AON_LOST_DISCARDED, decode_count(c->stride, buffer, valid));
	madvise(buffer, CUDA_DISCARD_BYTES, MADV_DONTNEED);
	give(c->discard_free, i);
	errno = saved;
}

void buffer_complete(struct cuda *c, uint8_t *buffer, size_t valid)
{
	size_t pool = (size_t)c->buffers * c->buffer_bytes, at = (size_t)(buffer - c->mem);

	if (buffer == scrap) {
		aon_lost(AON_LOST_DISCARDED, 1);
	} else if (buffer >= c->mem && at < pool) {
		valid = valid > c->buffer_bytes ? c->buffer_bytes : valid;
		decode(c, buffer, valid);
		if (c->zeroed)
			memset(buffer, 0, valid); /* here, not by CUPTI at somebody's launch */
		give(c->free, (uint32_t)(at / c->buffer_bytes));
	} else if (buffer >= c->mem && at < pool + CUDA_DISCARDS * CUDA_DISCARD_BYTES) {
		valid = valid > CUDA_DISCARD_BYTES ? CUDA_DISCARD_BYTES : valid;
		discarded(c, buffer, (uint32_t)((at - pool) / CUDA_DISCARD_BYTES), valid);
	}
}

static uint32_t here(const _Atomic uint64_t *bits, uint32_t n)
{
	uint32_t count = 0;

	for (uint32_t w = 0; w * 64 < n; w++)
		count += (uint32_t)__builtin_popcountll(
			atomic_load_explicit(&bits[w], memory_order_relaxed));
	return count;
}

/* With the small ones. */
uint32_t buffer_lent(const struct cuda *c)
{
	return c->buffers + CUDA_DISCARDS - here(c->free, c->buffers) -
	       here(c->discard_free, CUDA_DISCARDS);
}
