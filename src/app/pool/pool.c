/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - aond's end of the segment. abi/segment.h draws the writers and their order. */
#include "pool/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- geometry --- */

static size_t page_up(size_t n)
{
	return (n + AON_PAGE - 1) & ~(size_t)(AON_PAGE - 1);
}

static bool power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

static int lay_out(struct aon_seg_head *h, const struct pool_opts *o)
{
	size_t table;

	if (!power_of_two(o->chunk_bytes) || o->chunk_bytes < AON_CHUNK_BYTES_MIN ||
	    o->chunk_bytes > AON_CHUNK_BYTES_MAX || o->heap_bytes > AON_HEAP_BYTES_MAX ||
	    o->heap_bytes < AON_PAGE || o->pool_bytes == 0 || o->pool_bytes > AON_SEG_BYTES_MAX)
		return -EINVAL;
	h->magic = AON_SEG_MAGIC;
	h->version = AON_SEG_VERSION;
	h->head_bytes = sizeof(*h);
	h->chunk_bytes = o->chunk_bytes;
	h->chunk_count = (o->pool_bytes + o->chunk_bytes - 1) / o->chunk_bytes;
	if (h->chunk_count > AON_CHUNKS_MAX)
		return -EINVAL;
	table = (size_t)h->chunk_count * sizeof(uint32_t);
	h->state_off = AON_PAGE;
	h->consumed_off = (uint32_t)(AON_PAGE + table);
	h->heap_off = (uint32_t)page_up(AON_PAGE + 2 * table);
	h->heap_bytes = (uint32_t)page_up(o->heap_bytes);
	h->chunk_off = h->heap_off + h->heap_bytes;
	h->total_bytes = page_up(h->chunk_off + (size_t)h->chunk_count * h->chunk_bytes);
	if (h->total_bytes > AON_SEG_BYTES_MAX)
		return -EINVAL;
	h->heap_used = AON_TRACK_ALIGN; /* ids start at 1, in both units */
	h->pid = o->pid;
	h->pid_start = o->pid_start;
	memcpy(h->boot_id, o->boot_id, sizeof(h->boot_id));
	h->tsc_base = o->tsc_base;
	h->ns_base = o->ns_base;
	h->tsc_hz = o->tsc_hz;
	return 0;
}

/* Is a head that somebody else wrote one that lay_out() could have written? */
static bool head_sane(const struct aon_seg_head *h, uint64_t file_bytes)
{
	uint64_t table = (uint64_t)h->chunk_count * sizeof(uint32_t);

	return h->magic == AON_SEG_MAGIC && h->version == AON_SEG_VERSION &&
	       h->head_bytes == sizeof(*h) && power_of_two(h->chunk_bytes) &&
	       h->chunk_bytes >= AON_CHUNK_BYTES_MIN && h->chunk_bytes <= AON_CHUNK_BYTES_MAX &&
	       h->chunk_count && h->chunk_count <= AON_CHUNKS_MAX && h->state_off == AON_PAGE &&
	       h->consumed_off == AON_PAGE + table &&
	       h->heap_off == page_up(AON_PAGE + 2 * table) &&
	       h->heap_bytes <= AON_HEAP_BYTES_MAX && h->heap_bytes >= AON_PAGE &&
	       h->heap_bytes % AON_PAGE == 0 &&
	       h->chunk_off == (uint64_t)h->heap_off + h->heap_bytes &&
	       h->total_bytes ==
		       page_up(h->chunk_off + (uint64_t)h->chunk_count * h->chunk_bytes) &&
	       h->total_bytes <= AON_SEG_BYTES_MAX && h->total_bytes == file_bytes;
}

/* --- making and adopting --- */

static struct pool *alloc(size_t chunks)
{
	size_t done = (sizeof(struct pool) + chunks * sizeof(uint32_t) + 7) & ~(size_t)7;
	struct pool *p = calloc(1, done + 2 * chunks * sizeof(struct chunk_order));

	if (p)
		p->order = (struct chunk_order *)(void *)((char *)p + done);
	return p;
}

/*
 * Every page is there, cleared and charged to us, before the process sees one, and none is in
 * our page table yet: most pools are never filled. Half the cost of touching them; allocating
 * alone would leave the clearing to the process.
 */
static int write_zeros(int fd, size_t len)
{
	static const uint8_t zero[65536];

	for (size_t at = 0; at < len;) {
		size_t n = len - at < sizeof(zero) ? len - at : sizeof(zero);
		ssize_t wrote = pwrite(fd, zero, n, (off_t)at);

		if (wrote < 0)
			return -errno;
		at += (size_t)wrote;
	}
	return 0;
}

static int make_memfd(size_t len)
{
	int fd, err;

	fd = memfd_create("aon-pool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	err = write_zeros(fd, len);
	/* Sealed, so that the process cannot shrink it under us and raise SIGBUS. */
	if (!err && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		err = -errno;
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

static int make_file(const char *dir, const uint64_t id[2], size_t len, char **path)
{
	int fd, err;

	if (asprintf(path, "%s/%016llx%016llx.pool", dir, (unsigned long long)id[0],
		     (unsigned long long)id[1]) < 0) {
		*path = NULL;
		return -ENOMEM;
	}
	fd = open(*path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		err = -errno;
		goto free_path;
	}
	/* Allocated, not only sized: a store into a hole of a full disk would be a SIGBUS. */
	err = -posix_fallocate(fd, 0, (off_t)len);
	if (!err)
		return fd;
	unlink(*path);
	close(fd);
free_path:
	free(*path);
	*path = NULL;
	return err;
}

/* Maps p->fd, whose size is head.total_bytes. */
static int map_segment(struct pool *p)
{
	void *map = mmap(NULL, p->head.total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);

	if (map == MAP_FAILED)
		return -errno;
	p->map = map;
	p->units = p->head.chunk_bytes / AON_UNIT - 1;
	p->state = (_Atomic uint32_t *)(void *)(p->map + p->head.state_off);
	p->consumed = (_Atomic uint32_t *)(void *)(p->map + p->head.consumed_off);
	return 0;
}

int pool_new(struct pool **out, const struct pool_opts *o)
{
	struct aon_seg_head h = { 0 };
	struct pool *p;
	int err;

	err = lay_out(&h, o);
	if (err)
		return err;
	if (getrandom(h.pool_id, sizeof(h.pool_id), 0) != (ssize_t)sizeof(h.pool_id))
		return -EIO;
	p = alloc(h.chunk_count);
	if (!p)
		return -ENOMEM;
	p->head = h;
	p->drained = true;
	p->fd = o->dir ? make_file(o->dir, h.pool_id, h.total_bytes, &p->path)
		       : make_memfd(h.total_bytes);
	if (p->fd < 0) {
		err = p->fd;
		goto free_pool;
	}
	err = map_segment(p);
	if (err)
		goto close_fd;
	memcpy(p->map, &h, sizeof(h));
	*out = p;
	return 0;

close_fd:
	if (p->path)
		unlink(p->path);
	close(p->fd);
free_pool:
	free(p->path);
	free(p);
	return err;
}

/* A descriptor from a process: anything but our kind of memory could block us or vanish. */
static int check_fd(int fd, bool trust_file, uint64_t *bytes)
{
	const int need = F_SEAL_SHRINK | F_SEAL_GROW;
	struct stat st;
	int seals;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < (off_t)AON_PAGE ||
	    st.st_size > (off_t)AON_SEG_BYTES_MAX)
		return -EPROTO;
	seals = fcntl(fd, F_GET_SEALS);
	if ((seals < 0 || (seals & need) != need) && !trust_file)
		return -EPROTO;
	if (seals >= 0 && seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE))
		return -EPROTO;
	*bytes = (uint64_t)st.st_size;
	return 0;
}

/* Finishes what an aond that was killed in take() had begun; a lie ends at these bounds. */
static void adopt_begun(struct pool *p)
{
	struct aon_seg_head *h = shared(p);
	uint32_t chunk_1 = __atomic_load_n(&h->next_chunk, __ATOMIC_ACQUIRE);
	uint32_t n = __atomic_load_n(&h->next_consumed, __ATOMIC_RELAXED);
	uint64_t taken = __atomic_load_n(&h->next_taken, __ATOMIC_RELAXED);

	if (chunk_1 && chunk_1 <= p->head.chunk_count && n <= p->units && taken >= p->head.taken &&
	    taken - p->head.taken <= p->units) {
		atomic_store_explicit(&p->consumed[chunk_1 - 1], n, memory_order_release);
		p->head.taken = taken;
		__atomic_store_n(&h->taken, taken, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&h->next_chunk, 0, __ATOMIC_RELEASE);
}

/* What was consumed stands in the segment, where the process could have changed it: a lie can
 * only make its own records come twice or be skipped. */
static void adopt_consumed(struct pool *p)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < p->head.chunk_count; i++) {
		uint32_t done = atomic_load_explicit(&p->consumed[i], memory_order_relaxed);
		uint32_t n = atomic_load_explicit(chunk_n(p, i), memory_order_relaxed);

		n = n <= p->units ? n : p->units;
		p->done[i] = done <= n ? done : n; /* n is 0 in one that was being freed */
		used += atomic_load_explicit(&p->state[i], memory_order_relaxed) != AON_CHUNK_FREE;
	}
	atomic_store_explicit((_Atomic uint32_t *)&shared(p)->used, used, memory_order_relaxed);
	pool_doorbell_clear(p);
}

int pool_adopt(struct pool **out, int fd, bool trust_file)
{
	struct aon_seg_head h;
	struct pool *p;
	uint64_t bytes;
	int err;

	err = check_fd(fd, trust_file, &bytes);
	if (err)
		return err;
	if (pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) || !head_sane(&h, bytes))
		return -EPROTO;
	p = alloc(h.chunk_count);
	if (!p)
		return -ENOMEM;
	p->head = h;
	p->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (p->fd < 0) {
		err = -errno;
		goto free_pool;
	}
	err = map_segment(p);
	if (err)
		goto close_fd;
	adopt_begun(p);
	adopt_consumed(p);
	*out = p;
	return 0;

close_fd:
	close(p->fd);
free_pool:
	free(p);
	return err;
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	if (p->path && p->drained)
		unlink(p->path);
	munmap(p->map, p->head.total_bytes);
	close(p->fd);
	free(p->path);
	free(p);
}

int pool_fd(const struct pool *p)
{
	return p->fd;
}

size_t pool_bytes(const struct pool *p)
{
	return p->head.total_bytes;
}

const struct aon_seg_head *pool_head(const struct pool *p)
{
	return &p->head;
}

void pool_assign(struct pool *p, uint32_t pid, uint64_t pid_start)
{
	p->head.pid = pid;
	p->head.pid_start = pid_start;
	shared(p)->pid = pid;
	shared(p)->pid_start = pid_start;
}

/* --- looking --- */

int pool_heap(const struct pool *p, uint32_t offset, uint32_t type, void *out, size_t cap)
{
	const uint8_t *heap = p->map + p->head.heap_off;
	uint32_t word, len;

	if (offset < AON_TRACK_ALIGN || offset % AON_HEAP_ALIGN ||
	    offset > p->head.heap_bytes - sizeof(word))
		return -ENOENT;
	/* One load of length and type: pairs with the release store that publishes the entry. */
	word = atomic_load_explicit((const _Atomic uint32_t *)(const void *)(heap + offset),
				    memory_order_acquire);
	len = word & 0xffff;
	if (len == 0)
		return -ENOENT;
	if ((word >> 16 & 0xff) != type || len > cap ||
	    len > p->head.heap_bytes - offset - sizeof(word))
		return -EPROTO;
	memcpy(out, heap + offset + sizeof(word), len);
	return (int)len;
}

void pool_lost(const struct pool *p, uint64_t lost[AON_LOSS_APP_MAX])
{
	memset(lost, 0, AON_LOSS_APP_MAX * sizeof(lost[0]));
	for (uint32_t s = 0; s < AON_LOSS_STRIPES; s++) {
		for (uint32_t r = 0; r < AON_LOSS_APP_MAX; r++)
			lost[r] += atomic_load_explicit((_Atomic uint64_t *)&shared(p)->lost[s][r],
							memory_order_relaxed);
	}
}

uint64_t pool_taken(const struct pool *p)
{
	return p->head.taken;
}

uint64_t pool_pending(const struct pool *p)
{
	uint64_t units = 0;

	for (uint32_t i = 0; i < p->head.chunk_count; i++) {
		uint32_t n;

		if (atomic_load_explicit(&p->state[i], memory_order_acquire) == AON_CHUNK_FREE)
			continue;
		n = atomic_load_explicit(chunk_n(p, i), memory_order_relaxed);
		if (n > p->done[i] && n <= p->units)
			units += n - p->done[i];
	}
	return units;
}

uint32_t pool_used(const struct pool *p)
{
	return atomic_load_explicit((_Atomic uint32_t *)&shared(p)->used, memory_order_relaxed);
}

void pool_doorbell_clear(struct pool *p)
{
	atomic_store_explicit((_Atomic uint32_t *)&shared(p)->doorbell, 0, memory_order_relaxed);
}

void pool_heartbeat(const struct pool *p, struct aon_heartbeat *out)
{
	memcpy(out, &shared(p)->heartbeat, sizeof(*out));
}

uint64_t pool_residual(const struct pool *p)
{
	const struct aon_seg_head *h = shared(p);
	uint64_t each = __atomic_load_n(&h->residual_launch, __ATOMIC_RELAXED);
	uint64_t launches = __atomic_load_n(&h->heartbeat.launches, __ATOMIC_RELAXED);

	return __atomic_load_n(&h->residual_ns, __ATOMIC_RELAXED) + launches * each / 16;
}
