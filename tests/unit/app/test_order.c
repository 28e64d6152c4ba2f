/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a thread's records: kept by the drain, whichever chunks they lie in. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "pool/emit.h"
#include "pool/pool.h"
#include "t.h"

#define THREADS 4u
#define RECORDS 100000u
#define RUNS    64u

static struct aon_seg seg;
static _Atomic unsigned running;

/* Numbers its records; waits where an app would lose them. */
static void *producer(void *arg)
{
	struct aon_thread t = { .tid = (uint32_t)(uintptr_t)arg };

	for (uint64_t i = 1; i <= RECORDS; i++) {
		while (t.p == t.end) {
			if (t.p)
				aon_chunk_give(&t);
			if (!aon_chunk_take(&seg, &t, 0))
				sched_yield();
		}
		t.p->host = (struct aon_rec_host){ .kind = AON_K_MARK, .len = 1, .a = i };
		aon_commit(&t, t.p, 1);
	}
	aon_chunk_give(&t);
	atomic_fetch_sub(&running, 1);
	return NULL;
}

static struct pool *make(uint32_t chunk_bytes, uint32_t chunks)
{
	struct pool_opts o = { .pool_bytes = chunk_bytes * chunks,
			       .chunk_bytes = chunk_bytes,
			       .heap_bytes = 4096 };
	struct pool *p = NULL;
	const struct aon_seg_head *h;
	uint8_t *map;

	if (pool_new(&p, &o))
		return NULL;
	h = pool_head(p);
	map = mmap(NULL, pool_bytes(p), PROT_READ | PROT_WRITE, MAP_SHARED, pool_fd(p), 0);
	seg = (struct aon_seg){ .head = (struct aon_seg_head *)(void *)map,
				.state = (_Atomic uint32_t *)(void *)(map + h->state_off),
				.chunks = map + h->chunk_off,
				.chunk_bytes = h->chunk_bytes,
				.chunk_count = h->chunk_count };
	return p;
}

struct seen {
	uint64_t last[THREADS + 1], records, wrong;
};

static void look(struct seen *s, const struct pool_run *r)
{
	for (uint32_t i = 0; i < r->units; i++) {
		s->wrong += r->tid > THREADS || r->rec[i].host.a != ++s->last[r->tid];
		s->records++;
	}
}

/* `room`: of the buffer, in chunks; small ones make a pass stop in the middle. */
static void run(uint32_t chunk_bytes, uint32_t chunks, uint32_t room, const char *name)
{
	struct pool *p = make(chunk_bytes, chunks);
	uint8_t *buf = malloc((size_t)chunk_bytes * room);
	struct seen s = { .records = 0 };
	struct pool_run runs[RUNS];
	pthread_t th[THREADS];
	bool last, more = true;
	size_t n;

	atomic_store(&running, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&th[i], NULL, producer, (void *)(i + 1));
	do {
		last = atomic_load(&running) == 0;
		if (pool_drain(p, buf, (size_t)chunk_bytes * room, false, runs, RUNS, &n, &more))
			s.wrong++;
		for (size_t i = 0; i < n; i++)
			look(&s, &runs[i]);
	} while (!last || more || n);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(th[i], NULL);
	T_OK(s.wrong == 0 && s.records == THREADS * RECORDS, "%s: %lu records, %lu out of order",
	     name, s.records, s.wrong);
	free(buf);
	munmap(seg.head, pool_bytes(p));
	pool_free(p);
}

int main(void)
{
	run(1024, 64, 64, "all fits the buffer");
	run(1024, 64, 3, "three chunks fit the buffer");
	run(1024, 6, 64, "hardly a chunk for each thread");
	run(4096, 1024, 256, "the default");
	return t_done();
}
