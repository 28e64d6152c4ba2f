/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_pool.c - a hostile process: any bytes anywhere in its segment, then aond drains it.
 *
 * Input: pieces { u16 offset in units of 8, u8 length in units of 8, bytes } written over a
 * fresh segment; after each it is drained, and the heap is asked for whatever the bytes say.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "pool/memory.h"
#include "pool/pool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RUNS 8u

static void look(const struct pool_run *run, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		uint32_t records = 0;

		for (uint32_t i = 0; i < run[k].units; i += run[k].rec[i].host.len, records++)
			if (!run[k].rec[i].host.len || run[k].rec[i].host.len > run[k].units - i)
				abort();
		if (records != run[k].records)
			abort();
	}
}

static int drain(struct pool *p, bool dead)
{
	static uint8_t buf[4096];
	struct pool_run run[RUNS];
	bool more = true;
	size_t n;

	for (int pass = 0; more; pass++) {
		int err = pool_drain(p, buf, sizeof(buf), dead, run, RUNS, &n, &more);

		if (n > RUNS || pass > 10000)
			abort();
		look(run, n);
		if (err)
			return err;
	}
	return 0;
}

static void ask(struct pool *p, uint32_t word)
{
	uint64_t lost[AON_LOSS_APP_MAX];
	struct aon_heartbeat heartbeat;
	struct aon_memory memory;
	uint8_t out[64];

	for (uint32_t type = 0; type < 5; type++)
		if (pool_heap(p, word % (128u << 10), type, out, sizeof(out)) > (int)AON_NAME_MAX)
			abort();
	pool_lost(p, lost);
	pool_heartbeat(p, &heartbeat);
	if (pool_memory(p, &memory) == 0 && memory.total[0].rows > AON_MEMORY_STEPS)
		abort();
	pool_pending(p);
	pool_doorbell_clear(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pool_opts o = { .pool_bytes = 16384, .chunk_bytes = 1024, .heap_bytes = 8192 };
	struct pool *p, *again;
	uint8_t *map;

	if (pool_new(&p, &o))
		return 0;
	map = mmap(NULL, pool_bytes(p), PROT_READ | PROT_WRITE, MAP_SHARED, pool_fd(p), 0);
	if (map == MAP_FAILED)
		abort();
	while (size >= 3) {
		size_t at = (data[0] | (size_t)data[1] << 8) * 8 % pool_bytes(p);
		size_t len = data[2] * 8u, max = pool_bytes(p) - at;

		data += 3;
		size -= 3;
		len = len < max ? len : max;
		len = len < size ? len : size;
		memcpy(map + at, data, len);
		if (drain(p, len % 16 == 8))
			break;
		ask(p, (uint32_t)at);
		data += len;
		size -= len;
	}
	if (pool_adopt(&again, pool_fd(p), false) == 0) {
		drain(again, true);
		pool_free(again);
	}
	munmap(map, pool_bytes(p));
	pool_free(p);
	return 0;
}
