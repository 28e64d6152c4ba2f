/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes.c - how many bytes of disk an event of a real trace takes.
 *
 *	bytes EXTRACT DATA
 *
 * Takes kernels, copies and memsets of nanosecond traces (extract.py), in blobs as aond makes them,
 * through the real codec into a real store, reads them back from its file and compares every field.
 * The figure is the growth of the store's file: blobs, their index, and unused space in pages.
 * Names are stored once and do not count.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/bench.h"
#include "store/blob.h"
#include "store/store.h"

#define ID     "bytes_per_event"
#define BAR    3.0
#define EVENTS (1u << 20) /* room for all traces together */

struct trace {
	char label[64];
	uint32_t events;
	uint32_t reserved;
};

static struct event *all; /* of all traces, one after another */
static size_t all_n;
static char note[512];

static FILE *extract(const char *script, const char *data)
{
	int fd[2];

	if (pipe(fd) < 0)
		bench_die("pipe", errno);
	if (fork() == 0) {
		dup2(fd[1], STDOUT_FILENO);
		close(fd[0]);
		close(fd[1]);
		execlp("python3", "python3", script, data, (char *)NULL);
		_exit(127);
	}
	close(fd[1]);
	return fdopen(fd[0], "r");
}

static size_t store_size(const char *path)
{
	struct stat sb;

	return stat(path, &sb) == 0 ? (size_t)sb.st_size : 0;
}

static void put_blob(struct store *st, struct blob_enc *enc, struct blob_packer *packer,
		     uint64_t *bytes)
{
	struct blob b;
	int err;

	err = blob_seal(enc, &b);
	if (err == 0)
		err = blob_pack(packer, &b);
	if (err == 0)
		err = store_blob(st, 1, &b);
	if (err == 0)
		err = store_commit(st, 0);
	if (err < 0)
		bench_die("store", err);
	*bytes += b.len;
	blob_fini(&b);
}

static void put_trace(struct store *st, const struct trace *t, const struct event *ev)
{
	struct blob_packer *packer;
	struct blob_enc *enc;
	uint64_t bytes = 0;
	size_t len = strlen(note);

	if (blob_enc_new(&enc) < 0 || blob_packer_new(&packer) < 0)
		bench_die("encoder", ENOMEM);
	for (size_t done = 0; done < t->events;) {
		done += blob_add(enc, ev + done, t->events - done);
		put_blob(st, enc, packer, &bytes);
	}
	snprintf(note + len, sizeof(note) - len, "%s%s %.2f", len ? ", " : "", t->label,
		 (double)bytes / t->events);
	blob_enc_free(enc);
	blob_packer_free(packer);
}

static int compare(void *arg, uint32_t process, const struct event_columns *c)
{
	size_t *at = arg;

	(void)process;
	for (size_t i = 0; i < c->n; i++) {
		struct event e = event_at(c, i);

		if (*at == all_n || memcmp(all + (*at)++, &e, sizeof(e)) != 0)
			return 1;
	}
	return 0;
}

static void put_all(struct store *st, FILE *f)
{
	struct trace t;

	while (fread(&t, sizeof(t), 1, f) == 1) {
		if (t.events > EVENTS - all_n ||
		    fread(all + all_n, sizeof(*all), t.events, f) != t.events)
			bench_die("a trace", EINVAL);
		put_trace(st, &t, all + all_n);
		all_n += t.events;
	}
}

/* Fills the store at `path`; returns by how much its file grew, events and all. */
static size_t fill(const char *path, FILE *f)
{
	struct store_opts o = { .create = true };
	struct store_why why;
	struct process p = { .pid = 1 };
	struct store *st;
	size_t before;
	int err;

	err = store_open_rw(&st, path, &o, &why);
	if (err == 0)
		err = store_process(st, &p);
	if (err == 0)
		err = store_commit(st, 0);
	if (err < 0)
		bench_die("store", err);
	store_close(st);
	before = store_size(path);
	if (store_open_rw(&st, path, &o, &why) < 0)
		bench_die(why.text, EIO);
	put_all(st, f);
	store_close(st);
	return store_size(path) - before;
}

int main(int argc, char *argv[])
{
	char dir[] = "/tmp/aon-bytes-XXXXXX", path[64];
	struct store_filter filter = { 0 };
	size_t grown, at = 0;
	struct store *st;
	double value;
	int status = 0;
	FILE *f;

	if (argc != 3)
		bench_die("usage: bytes EXTRACT DATA", EINVAL);
	if (access(argv[2], R_OK) < 0) {
		bench_skip(ID, "the recorded traces are not here");
		return 0;
	}
	all = malloc(EVENTS * sizeof(*all));
	if (!all || !mkdtemp(dir))
		bench_die(dir, errno);
	snprintf(path, sizeof(path), "%s/store", dir);
	f = extract(argv[1], argv[2]);
	grown = fill(path, f);
	fclose(f);
	wait(&status);
	if (status != 0 || all_n == 0 || store_open_ro(&st, path, NULL) < 0)
		bench_die("extract", EIO);
	if (store_each_events(st, &filter, EVENT_COLS_ALL, compare, &at) != 0 || at != all_n)
		bench_die("what was read is not what was written", EBADMSG);
	store_close(st);
	unlink(path);
	rmdir(dir);
	value = (double)grown / (double)all_n;
	bench_row(ID, value, "B", BAR, value <= BAR,
		  "growth of the file for %zu events, read back the same; blobs alone: %s", all_n,
		  note);
	free(all);
	return 0;
}
