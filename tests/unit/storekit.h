/* SPDX-License-Identifier: Apache-2.0 */
/* storekit.h - what the tests of the store share: a folder of their own, events, stores. */
#ifndef AON_STOREKIT_H
#define AON_STOREKIT_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/blob.h"
#include "store/store.h"
#include "t.h"

static char kit_dir[PATH_MAX / 2];

__attribute__((unused)) static uint64_t kit_random(void)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

/* In memory where there is such a place: tests of damage open many thousand files. */
__attribute__((unused)) static void kit_begin(void)
{
	const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");

	snprintf(kit_dir, sizeof(kit_dir), "%s/aon-store-XXXXXX", base ? base : "/tmp");
	if (!mkdtemp(kit_dir))
		t_skip_all("no folder for temporary files");
}

/* The same pointer each time for the same name, good to the end. */
__attribute__((unused)) static const char *kit_path(const char *name)
{
	static char *known[64];
	char path[PATH_MAX];
	size_t i;

	snprintf(path, sizeof(path), "%s/%s", kit_dir, name);
	for (i = 0; i < T_LEN(known) - 1 && known[i]; i++)
		if (strcmp(known[i], path) == 0)
			return known[i];
	free(known[i]);
	known[i] = strdup(path);
	return known[i];
}

__attribute__((unused)) static void kit_clean(void)
{
	struct dirent *d;
	DIR *dir = opendir(kit_dir);

	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			unlink(kit_path(d->d_name));
	if (dir)
		closedir(dir);
}

__attribute__((unused)) static int kit_end(void)
{
	kit_clean();
	rmdir(kit_dir);
	return t_done();
}

/* A file's bytes, owned by the caller. */
__attribute__((unused)) static uint8_t *kit_read(const char *path, size_t *len)
{
	struct stat sb;
	uint8_t *data;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fstat(fd, &sb) < 0)
		return NULL;
	data = malloc((size_t)sb.st_size + 1);
	*len = (size_t)read(fd, data, (size_t)sb.st_size);
	close(fd);
	return data;
}

__attribute__((unused)) static void kit_write(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		perror(path);
	if (fd >= 0)
		close(fd);
}

__attribute__((unused)) static struct store *kit_open(const char *path, uint64_t max_bytes,
						      uint64_t max_age_ns)
{
	struct store_opts o = { .create = true, .max_bytes = max_bytes, .max_age_ns = max_age_ns };
	struct store_why why = { "" };
	struct store *st = NULL;

	if (store_open_rw(&st, path, &o, &why) < 0) {
		printf("Bail out! %s\n", why.text);
		exit(1);
	}
	return st;
}

/* A row with so many records of steps, from that number on. */
__attribute__((unused)) static int kit_steps(struct store *st, uint32_t process, uint64_t from,
					     uint32_t n)
{
	uint8_t bytes[8 * STEP_MAX];
	struct store_steps b = {
		.process = process, .t0_ns = from, .t1_ns = from + n, .bytes = bytes
	};

	for (; b.count < n && b.count < 8; b.count++) {
		struct step_rec r;

		step_rec_init(&r);
		r.world = 4;
		r.step = (uint32_t)from + b.count;
		r.t.step = (float)(kit_random() % 100000000);
		/* Of different length. */
		for (uint32_t i = 0; i < b.count % 3; i++)
			step_slot_add(step_rec_slot(&r, kit_random(), STEP_OP_ALL_REDUCE), r.step,
				      1000, 1, 2);
		step_rec_seal(&r);
		b.len += (size_t)step_rec_encode(bytes + b.len, sizeof(bytes) - b.len, &r);
	}
	return store_steps(st, &b);
}

/* Event number i of a made-up training loop: kernels, copies and the ranges around them. */
__attribute__((unused)) static struct event kit_event(uint64_t i)
{
	struct event ev = { .start_ns = 1000000 + i * 3000 + kit_random() % 900,
			    .dur_ns = 1000 + i % 7 * 320 + kit_random() % 64,
			    .name = 2 + i % 7,
			    .a = i % 5,
			    .corr = (uint32_t)(i * 3),
			    .track = 1 + i % 2,
			    .kind = EVENT_KERNEL };

	if (i % 10 == 9) {
		ev.kind = EVENT_RANGE;
		ev.corr = 0;
		ev.a = 0;
		ev.track = 3;
		ev.depth = (uint16_t)(i % 3);
	}
	return ev;
}

/* A packed blob of n events, from number `from` on. */
__attribute__((unused)) static struct blob kit_blob(uint64_t from, size_t n)
{
	struct blob_packer *z;
	struct blob_enc *e;
	struct event ev;
	struct blob b = { 0 };

	if (blob_enc_new(&e) < 0 || blob_packer_new(&z) < 0)
		abort();
	for (size_t i = 0; i < n; i++) {
		ev = kit_event(from + i);
		if (blob_add(e, &ev, 1) != 1)
			abort();
	}
	if (blob_seal(e, &b) < 0 || blob_pack(z, &b) < 0)
		abort();
	blob_enc_free(e);
	blob_packer_free(z);
	return b;
}

/* One commit of a process: a blob and its account. Returns 0 or what failed. */
__attribute__((unused)) static int kit_commit(struct store *st, struct process *p, uint64_t from,
					      size_t n, uint64_t now_ns)
{
	struct blob b = kit_blob(from, n);
	struct process was = *p;
	int err;

	err = store_blob(st, p->id, &b);
	if (err == 0) {
		p->account.emitted += b.records;
		p->account.stored += b.records;
		err = store_process(st, p);
	}
	if (err == 0)
		err = store_commit(st, now_ns);
	if (err < 0) {
		store_rollback(st);
		*p = was;
	}
	blob_fini(&b);
	return err;
}

__attribute__((unused)) static struct process kit_process(struct store *st, uint32_t pid)
{
	struct process p = { .pid = pid,
			     .pid_start = 7,
			     .boot_id = { 1, 2 },
			     .pool_id = { pid, 3 },
			     .connected = 1,
			     .comm = "train",
			     .exe = "/usr/bin/train" };

	if (store_process(st, &p) < 0)
		abort();
	return p;
}

__attribute__((unused)) static uint64_t kit_bytes(const char *path)
{
	char name[PATH_MAX + 8];
	struct stat sb;
	uint64_t sum = 0;

	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s%s", path, i ? "-wal" : "");
		if (stat(name, &sb) == 0)
			sum += (uint64_t)sb.st_size;
	}
	return sum;
}

/* The identity that every report rests on. */
__attribute__((unused)) static bool kit_adds_up(const struct account *a)
{
	uint64_t sum = a->stored + a->overwritten + a->in_flight;

	for (size_t i = 0; i < ACCOUNT_LOSSES; i++)
		sum += a->lost[i];
	return sum == a->emitted;
}

__attribute__((unused)) static int kit_count_events(void *arg, uint32_t process,
						    const struct event_columns *c)
{
	(void)process;
	*(uint64_t *)arg += c->n;
	return 0;
}

#endif /* AON_STOREKIT_H */
