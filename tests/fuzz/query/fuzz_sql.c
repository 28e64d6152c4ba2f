/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as a query on a small store: whatever SQLite makes of it, the tables must bear the
 * conditions, orders and columns that it asks them for. No query may write.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sql/sql.h"
#include "store/blob.h"
#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define QUERY_MAX 4096u
#define ROWS_MAX  1000u

static struct store *st;
static struct sql *sql[2]; /* with memory enough, and with hardly any */
static size_t rows;

static void fill(void)
{
	struct process p = { .pid = 7 };
	struct track l = { .stream = 7 };
	struct blob_packer *z;
	struct blob_enc *e;
	struct blob b;
	uint32_t name = 0, track = 0;

	store_process(st, &p);
	l.process = p.id;
	if (store_name(st, "gemm", 4, &name) < 0 || store_track(st, &l, &track) < 0 ||
	    blob_enc_new(&e) < 0 || blob_packer_new(&z) < 0)
		abort();
	for (uint32_t i = 0; i < 40; i++) {
		struct event ev = { .kind = (uint8_t)(1 + i % 15),
				    .track = i % 5 ? track : i,
				    .name = i % 3 ? name : i,
				    .start_ns = 1000 + i * 10,
				    .dur_ns = i,
				    .corr = i / 2,
				    .flags = (uint8_t)(i * 17),
				    .a = i };

		blob_add(e, &ev, 1);
		if (i % 8 == 7 &&
		    (blob_seal(e, &b) < 0 || blob_pack(z, &b) < 0 || store_blob(st, p.id, &b) < 0))
			abort();
		if (i % 8 == 7)
			blob_fini(&b);
	}
	store_commit(st, 1);
	blob_enc_free(e);
	blob_packer_free(z);
}

static void begin(void)
{
	char path[64] = "/tmp/aon-fuzz-sql-XXXXXX";
	struct store_opts o = { .create = true };
	struct sql_opts so = { .timeout_ns = 20000000 };
	struct store_why why;
	struct sql_why no;
	int fd = mkstemp(path);

	if (fd < 0 || close(fd) < 0 || unlink(path) < 0 || store_open_rw(&st, path, &o, &why) < 0)
		abort();
	fill();
	for (int i = 0; i < 2; i++) {
		so.memory_bytes = i ? 40 : 0;
		if (sql_open(&sql[i], st, &so, &no) < 0)
			abort();
	}
	unlink(path);
	strcat(path, "-wal");
	unlink(path);
	strcpy(strrchr(path, '-'), "-shm");
	unlink(path);
}

static int on_begin(void *arg, const char *const *names, int cols)
{
	(void)arg, (void)names, (void)cols;
	rows = 0;
	return 0;
}

static int on_row(void *arg, const struct sql_value *v, int cols)
{
	(void)arg;
	for (int i = 0; i < cols; i++)
		if (v[i].type == SQL_TEXT && strlen(v[i].text) > v[i].len)
			abort();
	return ++rows > ROWS_MAX;
}

static int on_end(void *arg)
{
	(void)arg;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sql_sink sink = { on_begin, on_row, on_end, NULL };
	char query[QUERY_MAX + 1];
	struct sql_why why;

	if (size > QUERY_MAX)
		return 0;
	if (!st)
		begin();
	memcpy(query, data, size);
	query[size] = 0;
	for (int i = 0; i < 2; i++)
		sql_run(sql[i], query, &sink, &why);
	return 0;
}
