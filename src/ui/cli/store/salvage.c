/* SPDX-License-Identifier: Apache-2.0 */
/* salvage.c - recovers a leftover pool into a store; see salvage.h. */
#include "cli/store/salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agg/clock.h"
#include "agg/roll.h"
#include "agg/understand.h"
#include "pool/pool.h"
#include "store/blob.h"

#define BUF_BYTES  (1u << 20)
#define RUNS       256u
#define RUN_EVENTS (AON_CHUNK_BYTES_MAX / AON_UNIT)
#define ROWS_MAX   4096u

struct job {
	struct store *st;
	struct pool *pool;
	struct process proc;
	struct understand *understand;
	struct roll *roll;
	struct blob_enc *enc;
	struct blob_packer *packer;
	struct clock_map clock;
	struct salvage *out;
	uint64_t last_ns;
	uint64_t lost[AON_LOSS_MAX];
	struct event ev[RUN_EVENTS];
	struct pool_run run[RUNS];
	int err;
};

int salvage_is_pool(const char *path, bool *yes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	uint64_t magic = 0;
	struct stat sb;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &sb) < 0 || !S_ISREG(sb.st_mode))
		err = -EMEDIUMTYPE;
	else if (pread(fd, &magic, sizeof(magic), 0) < 0)
		err = -errno;
	close(fd);
	*yes = magic == AON_SEG_MAGIC;
	return err;
}

/* --- mending --- */

/* Units of chunk data that are whole records, from `done` on. */
static uint32_t whole_units(const union aon_rec *rec, uint32_t done, uint32_t n)
{
	while (done < n && rec[done].host.len && rec[done].host.len <= n - done)
		done += rec[done].host.len;
	return done;
}

static void mend_chunk(uint8_t *seg, const struct aon_seg_head *h, uint32_t i, struct salvage *out)
{
	uint32_t *state = (uint32_t *)(void *)(seg + h->state_off) + i;
	uint32_t *done = (uint32_t *)(void *)(seg + h->consumed_off) + i;
	struct aon_chunk_head *c = (void *)(seg + h->chunk_off + (size_t)i * h->chunk_bytes);
	uint32_t units = h->chunk_bytes / AON_UNIT - 1, whole;

	if (*state == AON_CHUNK_FREE)
		return;
	if (*state > AON_CHUNK_FULL || c->n > units || *done > c->n) {
		/* How much was written cannot be known: older records follow. */
		out->chunks_bad++;
		out->units_bad += units;
		*state = AON_CHUNK_FREE;
		return;
	}
	whole = whole_units((const union aon_rec *)(const void *)(c + 1), *done, c->n);
	out->chunks_bad += whole < c->n;
	out->units_bad += c->n - whole;
	c->n = whole;
}

static bool fits(uint64_t off, uint64_t len, uint64_t total)
{
	return off % 4 == 0 && off <= total && len <= total - off;
}

static bool head_sane(const struct aon_seg_head *h)
{
	return h->magic == AON_SEG_MAGIC && h->version == AON_SEG_VERSION &&
	       h->total_bytes >= AON_PAGE && h->total_bytes <= AON_SEG_BYTES_MAX &&
	       h->chunk_bytes >= AON_CHUNK_BYTES_MIN && h->chunk_bytes <= AON_CHUNK_BYTES_MAX &&
	       h->chunk_bytes % AON_UNIT == 0 && h->chunk_count <= AON_CHUNKS_MAX &&
	       fits(h->state_off, 4ull * h->chunk_count, h->total_bytes) &&
	       fits(h->consumed_off, 4ull * h->chunk_count, h->total_bytes) &&
	       fits(h->chunk_off, (uint64_t)h->chunk_bytes * h->chunk_count, h->total_bytes);
}

/* A sealed memfd with the file's bytes, zeros where it was cut. */
static int private_copy(int fd, const struct aon_seg_head *h, struct salvage *out)
{
	int copy = memfd_create("aon-recover", MFD_CLOEXEC | MFD_ALLOW_SEALING), err;
	size_t total = h->total_bytes, got = 0;
	uint8_t *map;
	ssize_t n;

	if (copy < 0)
		return -errno;
	if (ftruncate(copy, (off_t)total) < 0 ||
	    fcntl(copy, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		goto fail;
	map = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED, copy, 0);
	if (map == MAP_FAILED)
		goto fail;
	while (got < total && (n = pread(fd, map + got, total - got, (off_t)got)) > 0)
		got += (size_t)n;
	out->bytes_missing = total - got;
	for (uint32_t i = 0; i < h->chunk_count; i++)
		mend_chunk(map, h, i, out);
	munmap(map, total);
	return copy;
fail:
	err = -errno;
	close(copy);
	return err;
}

/* --- understanding --- */

static uint32_t find_name(void *arg, uint32_t heap_id)
{
	struct job *j = arg;
	char text[AON_NAME_MAX];
	uint32_t id = 0;
	int n;

	if (heap_id > UINT32_MAX / AON_HEAP_ALIGN)
		return 0;
	n = pool_heap(j->pool, heap_id * AON_HEAP_ALIGN, AON_HEAP_NAME, text, sizeof(text));
	return n < 0 || store_name(j->st, text, (size_t)n, &id) < 0 ? 0 : id;
}

static uint32_t find_geo(void *arg, uint32_t heap_id)
{
	struct job *j = arg;
	struct geo geo;
	struct aon_geo g;
	uint32_t id = 0;

	if (heap_id > UINT32_MAX / AON_HEAP_ALIGN ||
	    pool_heap(j->pool, heap_id * AON_HEAP_ALIGN, AON_HEAP_GEO, &g, sizeof(g)) !=
		    (int)sizeof(g))
		return 0;
	geo = understand_geo(&g);
	return store_geo(j->st, &geo, &id) < 0 ? 0 : id;
}

static uint32_t find_track(void *arg, uint32_t heap_track)
{
	struct job *j = arg;
	struct aon_track l = { 0 };
	struct track track = { .process = j->proc.id };
	uint32_t id = 0;
	int n;

	if (heap_track > UINT32_MAX / AON_TRACK_ALIGN)
		return 0;
	n = pool_heap(j->pool, heap_track * AON_TRACK_ALIGN, AON_HEAP_TRACK, &l, sizeof(l));
	if (n < (int)(offsetof(struct aon_track, name) + sizeof(l.name)))
		return 0;
	track.device = l.device;
	track.context = l.context;
	track.stream = l.stream;
	track.name = l.name ? find_name(j, l.name) : 0;
	return store_track(j->st, &track, &id) < 0 ? 0 : id;
}

static uint32_t find_thread(void *arg, uint32_t tid)
{
	struct job *j = arg;
	struct track track = { .process = j->proc.id, .device = TRACK_HOST, .stream = tid };
	uint32_t id = 0;

	return store_track(j->st, &track, &id) < 0 ? 0 : id;
}

static const struct understand_ops ops = { find_name, find_geo, find_track, find_thread, NULL };

/* --- storing --- */

static void put_window(void *arg, const struct window *w)
{
	struct job *j = arg;

	if (!j->err)
		j->err = store_window(j->st, w);
}

static void put_blob(struct job *j)
{
	struct blob b;

	if (j->err || !blob_count(j->enc))
		return;
	j->err = blob_seal(j->enc, &b);
	if (j->err)
		return;
	j->err = blob_pack(j->packer, &b);
	if (!j->err)
		j->err = store_blob(j->st, j->proc.id, &b);
	if (!j->err)
		j->out->stored += b.records;
	blob_fini(&b);
}

static void take_events(struct job *j, size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++)
		if (j->ev[i].start_ns + j->ev[i].dur_ns > j->last_ns)
			j->last_ns = j->ev[i].start_ns + j->ev[i].dur_ns;
	roll_add(j->roll, j->ev, n, put_window, j);
	while (!j->err && (at += blob_add(j->enc, j->ev + at, n - at)) < n)
		put_blob(j);
}

static int drain(struct job *j)
{
	bool more = true;
	void *buf = malloc(BUF_BYTES);
	uint64_t records;
	size_t runs, n;
	int err = buf ? 0 : -ENOMEM;

	while (!err && more && !j->err) {
		err = pool_drain(j->pool, buf, BUF_BYTES, true, j->run, RUNS, &runs, &more);
		for (size_t i = 0; i < runs && !j->err; i++) {
			n = understand_records(j->understand, &j->clock, j->run[i].tid,
					       j->run[i].tsc_hi, j->run[i].rec, j->run[i].units,
					       j->ev, &records, j->lost);
			j->out->records += records;
			take_events(j, n);
		}
	}
	while (!j->err &&
	       (n = understand_close(j->understand, j->last_ns, j->ev, RUN_EVENTS, j->lost)))
		take_events(j, n);
	put_blob(j);
	roll_close(j->roll, UINT64_MAX, put_window, j);
	free(buf);
	return err ? err : j->err;
}

static void fill_process(struct job *j, uid_t owner)
{
	const struct aon_seg_head *h = pool_head(j->pool);

	j->proc.pid = h->pid;
	j->proc.pid_start = h->pid_start;
	j->proc.uid = owner;
	j->proc.tier = TIER_FLIGHT;
	j->proc.first_ns = h->ns_base;
	memcpy(j->proc.boot_id, h->boot_id, sizeof(j->proc.boot_id));
	memcpy(j->proc.pool_id, h->pool_id, sizeof(j->proc.pool_id));
	strcpy(j->proc.comm, "(recovered)");
	strcpy(j->proc.note, "recovered from a left pool");
}

/* The account of what this store can know: records an earlier aond took are not ours. */
static int finish(struct job *j)
{
	struct account *a = &j->proc.account;

	pool_lost(j->pool, j->lost);
	for (uint32_t i = 0; i < AON_LOSS_MAX; i++) {
		a->lost[i] = j->lost[i];
		j->out->app_lost += i < AON_LOSS_APP_MAX ? j->lost[i] : 0;
	}
	a->emitted = j->out->records + j->out->app_lost;
	a->stored = j->out->stored;
	j->proc.last_ns = j->last_ns;
	return store_process(j->st, &j->proc);
}

static int run(struct job *j, uid_t owner)
{
	const struct aon_seg_head *h = pool_head(j->pool);
	struct roll_opts ro = { .rows_max = ROWS_MAX, .name_other = STORE_NAME_OTHER };
	int err;

	j->out->pid = h->pid;
	j->out->taken = pool_taken(j->pool);
	if (clock_map_init(&j->clock, h->tsc_base, h->ns_base, h->tsc_base + h->tsc_hz,
			   h->ns_base + 1000000000u) < 0)
		return -EPROTO;
	fill_process(j, owner);
	err = store_process(j->st, &j->proc);
	ro.process = j->proc.id;
	err = err ? err : understand_new(&j->understand, &ops, j, h->heap_bytes);
	err = err ? err : roll_new(&j->roll, &ro);
	err = err ? err : blob_enc_new(&j->enc);
	err = err ? err : blob_packer_new(&j->packer);
	err = err ? err : drain(j);
	return err ? err : finish(j);
}

int salvage_pool(struct store *st, const char *path, struct salvage *out)
{
	struct job *j = calloc(1, sizeof(*j));
	int fd, copy = -1, err = 0;
	struct aon_seg_head h;
	struct stat sb;

	memset(out, 0, sizeof(*out));
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || !j || fstat(fd, &sb) < 0) {
		err = j ? -errno : -ENOMEM;
		goto done;
	}
	j->st = st;
	j->out = out;
	out->bytes = (uint64_t)sb.st_size;
	if (pread(fd, &h, sizeof(h), 0) != sizeof(h) || !head_sane(&h)) {
		err = -EPROTO;
		goto done;
	}
	copy = private_copy(fd, &h, out);
	err = copy < 0 ? copy : pool_adopt(&j->pool, copy, false);
	err = err ? err : run(j, sb.st_uid);
	blob_packer_free(j->packer);
	blob_enc_free(j->enc);
	roll_free(j->roll);
	understand_free(j->understand);
	pool_free(j->pool);
done:
	if (copy >= 0)
		close(copy);
	if (fd >= 0)
		close(fd);
	free(j);
	return err;
}
