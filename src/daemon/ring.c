/* SPDX-License-Identifier: Apache-2.0 */
/* ring.c - a memfd that only we can write. */
#include "daemon/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define RECORDS_MIN 64u

static size_t ring_bytes(uint64_t count)
{
	return AON_PAGE + (size_t)count * sizeof(struct aon_consumer_event);
}

int ring_open(struct ring *r, uint64_t records)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
	uint64_t count = RECORDS_MIN;
	struct aon_ring *map = MAP_FAILED;
	int fd, err;

	while (count * 2 <= records)
		count *= 2;
	fd = memfd_create("aon-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, (off_t)ring_bytes(count)))
		map = mmap(NULL, ring_bytes(count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED || fcntl(fd, F_ADD_SEALS, seals) < 0) {
		err = -errno;
		if (map != MAP_FAILED)
			munmap(map, ring_bytes(count));
		close(fd);
		return err;
	}
	*map = (struct aon_ring){ .magic = AON_RING_MAGIC,
				  .version = AON_RING_VERSION,
				  .record_bytes = sizeof(struct aon_consumer_event),
				  .count = count };
	*r = (struct ring){ .fd = fd, .map = map, .count = count };
	return 0;
}

void ring_close(struct ring *r)
{
	if (!r->map)
		return;
	munmap(r->map, ring_bytes(r->count));
	close(r->fd);
	*r = (struct ring){ .fd = -1 };
}

_Static_assert(offsetof(struct aon_consumer_event, process) == sizeof(struct event) &&
		       offsetof(struct aon_consumer_event, depth) == offsetof(struct event, depth),
	       "a record begins with the event as it is");

/* Release, each word: none is seen before the `begin` that announced it. On x86 a plain store. */
static void write_one(struct ring *r, uint64_t seq, const struct aon_consumer_event *e)
{
	uint64_t *to = (uint64_t *)(void *)((char *)r->map + AON_PAGE), word[AON_RING_WORDS];

	to += (seq & (r->count - 1)) * AON_RING_WORDS;
	memcpy(word, e, sizeof(word));
	for (size_t i = 0; i < AON_RING_WORDS; i++)
		__atomic_store_n(&to[i], word[i], __ATOMIC_RELEASE);
}

void ring_write(struct ring *r, uint32_t process, uint32_t pid, const struct event *ev, size_t n)
{
	struct aon_consumer_event e = { .process = process, .pid = pid };

	while (n) {
		/* Some at a time: a reader loses what is being written as well. */
		size_t some = n < r->count / 16 ? n : (size_t)(r->count / 16);

		__atomic_store_n(&r->map->begin, r->head + some, __ATOMIC_RELAXED);
		for (size_t i = 0; i < some; i++) {
			memcpy(&e, &ev[i], sizeof(ev[i]));
			e.seq = r->head + i;
			write_one(r, e.seq, &e);
		}
		r->head += some;
		__atomic_store_n(&r->map->head, r->head, __ATOMIC_RELEASE);
		ev += some;
		n -= some;
	}
}
