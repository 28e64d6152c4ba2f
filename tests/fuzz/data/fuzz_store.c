/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a store and its log: opened, checked and salvaged, and what was salvaged must be
 * a sound store. By the input's first byte, the rest is either the two files, or a list of
 * changes to the files of a real store: where (three bytes) and what to add to the byte there.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/blob.h"
#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[64], store[PATH_MAX], wal[PATH_MAX], saved[PATH_MAX];
static uint8_t real[1u << 20], files[2u << 20]; /* the store, then its log */
static size_t real_len, real_split;

static void put(const char *path, const uint8_t *data, size_t len)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		abort();
	close(fd);
}

static void end(void)
{
	unlink(store);
	unlink(wal);
	unlink(saved);
	rmdir(dir);
}

static size_t get(const char *path, uint8_t *to, size_t max)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, to, max);

	if (n < 0)
		abort();
	close(fd);
	return (size_t)n;
}

static void fill(struct store *st, uint32_t from)
{
	struct rollup row = { .track = 1, .name = 2, .kind = EVENT_KERNEL, .count = 3 };
	struct window w = { .process = 1, .rows = 1, .row = &row };
	struct process p = { .pid = 1, .comm = "fuzz" };
	struct node_ident node = { .host = "fuzz" };
	struct store_steps steps = { .process = 1, .count = 1 };
	uint8_t bytes[STEP_MAX];
	struct step_rec rec;
	struct blob_packer *z;
	struct blob_enc *e;
	struct blob b;
	uint32_t id;

	if (blob_enc_new(&e) < 0 || blob_packer_new(&z) < 0)
		abort();
	for (uint32_t i = from; i < from + 2000; i++) {
		struct event ev = { .start_ns = i * 997ull,
				    .dur_ns = i * 7919ull % 5003,
				    .name = 2,
				    .track = 1,
				    .kind = EVENT_KERNEL,
				    .corr = i };

		blob_add(e, &ev, 1);
	}
	step_rec_init(&rec);
	rec.world = 1;
	rec.step = from;
	steps.len = (size_t)step_rec_encode(bytes, sizeof(bytes), &rec);
	steps.bytes = bytes;
	if (blob_seal(e, &b) < 0 || blob_pack(z, &b) < 0 || store_process(st, &p) < 0 ||
	    store_name(st, "kernel", 6, &id) < 0 || store_blob(st, p.id, &b) < 0 ||
	    store_window(st, &w) < 0 || store_steps(st, &steps) < 0 || store_node(st, &node) < 0 ||
	    store_commit(st, 0) < 0)
		abort();
	blob_fini(&b);
	blob_enc_free(e);
	blob_packer_free(z);
}

/* A store of which half is in its log. */
static void begin(void)
{
	struct store_opts o = { .create = true };
	struct store *st;

	if (real_len)
		return;
	snprintf(dir, sizeof(dir), "%s/aon-fuzz-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(dir))
		abort();
	snprintf(store, sizeof(store), "%s/store", dir);
	snprintf(wal, sizeof(wal), "%s/store-wal", dir);
	snprintf(saved, sizeof(saved), "%s/saved", dir);
	if (store_open_rw(&st, store, &o, NULL) < 0)
		abort();
	fill(st, 0);
	store_close(st);
	if (store_open_rw(&st, store, &o, NULL) < 0)
		abort();
	fill(st, 2000);
	real_split = get(store, real, sizeof(real));
	real_len = real_split + get(wal, real + real_split, sizeof(real) - real_split);
	store_close(st);
	atexit(end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct store_salvage n;
	size_t len = size - 2, split;

	if (size < 2 || len > sizeof(files))
		return 0;
	begin();
	if (data[0] & 1) {
		memcpy(files, real, real_len);
		for (size_t i = 0; i + 4 <= len; i += 4) {
			const uint8_t *p = data + 2 + i;

			files[((size_t)p[0] << 16 | (size_t)p[1] << 8 | p[2]) % real_len] += p[3];
		}
		len = real_len;
		split = real_split;
	} else {
		memcpy(files, data + 2, len);
		split = (size_t)data[1] * 4096 < len ? (size_t)data[1] * 4096 : len;
	}
	put(store, files, split);
	put(wal, files + split, len - split);
	store_check(store, NULL, NULL, NULL);
	if (store_salvage(store, saved, &n, NULL) == 0 && store_check(saved, NULL, NULL, NULL) != 0)
		abort();
	unlink(wal);
	if (data[0] & 2)
		store_check(store, NULL, NULL, NULL);
	unlink(saved);
	return 0;
}
