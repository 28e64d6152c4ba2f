/* SPDX-License-Identifier: Apache-2.0 */
/* ring.c - a memfd that only aond can write. */
#include "daemon/control/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define RECORDS_MIN 64u

static size_t ring_bytes(uint64_t count, uint32_t words)
{
	return AON_PAGE + (size_t)count * words * sizeof(uint64_t);
}

int ring_open(struct ring *r, uint64_t bytes, bool windows)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
	const uint32_t record =
		windows ? sizeof(struct aon_consumer_window) : sizeof(struct aon_consumer_event);
	uint64_t count = RECORDS_MIN;
	struct aon_ring *map = MAP_FAILED;
	size_t size;
	int fd, err;

	while (count * 2 * record <= bytes)
		count *= 2;
	size = ring_bytes(count, record / sizeof(uint64_t));
	fd = memfd_create("aon-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, (off_t)size))
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED || fcntl(fd, F_ADD_SEALS, seals) < 0) {
		err = -errno;
		if (map != MAP_FAILED)
			munmap(map, size);
		close(fd);
		return err;
	}
	*map = (struct aon_ring){ .magic = AON_RING_MAGIC,
				  .version = AON_RING_VERSION,
				  .record_bytes = record,
				  .count = count };
	if (getrandom(&map->id, sizeof(map->id), GRND_NONBLOCK) < 0)
		map->id = 0; /* nobody can come back to it */
	*r = (struct ring){
		.fd = fd, .map = map, .count = count, .words = record / sizeof(uint64_t)
	};
	return 0;
}

void ring_close(struct ring *r)
{
	if (!r->map)
		return;
	munmap(r->map, ring_bytes(r->count, r->words));
	close(r->fd);
	*r = (struct ring){ .fd = -1 };
}

_Static_assert(offsetof(struct aon_consumer_event, process) == sizeof(struct event) &&
		       offsetof(struct aon_consumer_event, depth) == offsetof(struct event, depth),
	       "a record begins with the event as it is");

/* Release, each word: none is seen before the `begin` that announced it. On x86 a plain store. */
static inline void write_one(struct ring *r, const void *record, size_t words)
{
	uint64_t *to = (uint64_t *)(void *)((char *)r->map + AON_PAGE), word[AON_RING_WORDS];

	to += (r->head & (r->count - 1)) * words;
	memcpy(word, record, words * sizeof(word[0]));
	for (size_t i = 0; i < words; i++)
		__atomic_store_n(&to[i], word[i], __ATOMIC_RELEASE);
	r->head++;
}

/* So many may be written from here on. */
static void begin(struct ring *r, size_t n)
{
	__atomic_store_n(&r->map->begin, r->head + n, __ATOMIC_RELAXED);
}

static void end(struct ring *r)
{
	__atomic_store_n(&r->map->head, r->head, __ATOMIC_RELEASE);
	__atomic_store_n(&r->map->begin, r->head, __ATOMIC_RELEASE); /* if it were fewer */
}

size_t ring_write(struct ring *r, const struct process *p, uint64_t kinds, const struct event *ev,
		  size_t n)
{
	struct aon_consumer_event e = { .process = p->id, .pid = p->pid };
	uint64_t was = r->head;

	while (n) {
		/* Some at a time: a reader loses what is being written as well. */
		size_t some = n < r->count / 16 ? n : (size_t)(r->count / 16);

		begin(r, some);
		for (size_t i = 0; i < some; i++) {
			if (!(kinds >> (ev[i].kind & 63) & 1))
				continue;
			memcpy(&e, &ev[i], sizeof(ev[i]));
			e.seq = r->head + r->skipped;
			write_one(r, &e, sizeof(e) / sizeof(uint64_t));
		}
		end(r);
		ev += some;
		n -= some;
	}
	return (size_t)(r->head - was);
}

void ring_window(struct ring *r, struct aon_consumer_window *w)
{
	begin(r, 1);
	w->of.seq = r->head + r->skipped;
	write_one(r, w, sizeof(*w) / sizeof(uint64_t));
	end(r);
}

void ring_skip(struct ring *r, size_t n)
{
	r->skipped += n;
	__atomic_store_n(&r->map->skipped, r->skipped, __ATOMIC_RELEASE);
}
