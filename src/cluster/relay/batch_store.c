/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_store.c - see batch_store.h.
 *
 *	src    src, last, node, seen              a source: up to where it has arrived
 *	batch  id, src, seq, tbl, ver, day, shard, rows, bytes, at, ins      ins 0: not frozen
 *	body   id, wire                           apart, so that freezing moves no bytes
 *	ins    id, tbl, ver, day, shard, rows, bytes, n, at, why             why: set aside
 */
#include "relay/batch_store_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/log.h"

#define VERSION    1
#define ROOM_BYTES (8u << 20) /* disk space kept free, because deleting needs some */

/* clang-format off */
static const char schema[] =
	"CREATE TABLE meta(id INTEGER PRIMARY KEY CHECK(id=1),version INTEGER NOT NULL,relay INTEGER NOT NULL);"
	"CREATE TABLE src(src INTEGER PRIMARY KEY,last INTEGER NOT NULL,node TEXT NOT NULL,seen INTEGER NOT NULL);"
	"CREATE TABLE batch(id INTEGER PRIMARY KEY AUTOINCREMENT,src INTEGER NOT NULL,seq INTEGER NOT NULL,"
		"tbl TEXT NOT NULL,ver INTEGER NOT NULL,day INTEGER NOT NULL,shard INTEGER NOT NULL,rows INTEGER NOT NULL,"
		"bytes INTEGER NOT NULL,at INTEGER NOT NULL,ins INTEGER NOT NULL DEFAULT 0);"
	"CREATE INDEX batch_open ON batch(shard,tbl,ver,day,id,rows,bytes,at) WHERE ins=0;"
	"CREATE INDEX batch_ins ON batch(ins) WHERE ins>0;"
	"CREATE TABLE body(id INTEGER PRIMARY KEY,wire BLOB NOT NULL);"
	"CREATE TABLE ins(id INTEGER PRIMARY KEY AUTOINCREMENT,tbl TEXT NOT NULL,ver INTEGER NOT NULL,"
		"day INTEGER NOT NULL,shard INTEGER NOT NULL,rows INTEGER NOT NULL,bytes INTEGER NOT NULL,n INTEGER NOT NULL,"
		"at INTEGER NOT NULL,why TEXT);";

/* clang-format on */

static const char *const st_text[STS] = {
#define X(ID, text) text,
	STATEMENTS(X)
#undef X
};

/* --- SQLite --- */

int batch_store_errno(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
		return -EBUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_CANTOPEN:
		return -ENOENT;
	}
	return -EIO;
}

sqlite3_stmt *batch_store_use(struct batch_store *h, enum st which,
			      const struct batch_store_arg *args)
{
	sqlite3_stmt *s = h->st[which];

	sqlite3_reset(s);
	for (int i = 1; args && args->kind; i++, args++)
		if (args->kind == HOLD_NUMBER)
			sqlite3_bind_int64(s, i, (sqlite3_int64)args->number);
		else if (args->kind == HOLD_TEXT)
			sqlite3_bind_text(s, i, args->at, -1, SQLITE_STATIC);
		else
			sqlite3_bind_blob64(s, i, args->at, args->number, SQLITE_STATIC);
	return s;
}

uint64_t batch_store_column(sqlite3_stmt *s, int i)
{
	return (uint64_t)sqlite3_column_int64(s, i);
}

int batch_store_run(struct batch_store *h, enum st which, const struct batch_store_arg *args)
{
	int rc = sqlite3_step(batch_store_use(h, which, args));

	sqlite3_reset(h->st[which]);
	sqlite3_clear_bindings(h->st[which]); /* the bound values belong to the caller */
	return AFTER(rc) ? 0 : batch_store_errno(rc);
}

int batch_store_begin(struct batch_store *h)
{
	pthread_mutex_lock(&h->lock);
	return batch_store_run(h, ST_BEGIN, NULL);
}

/*
 * Ends the transaction and releases the lock. After a failed write the state of the disk is
 * unknown: the process must restart and read it again.
 */
int batch_store_end(struct batch_store *h, int err)
{
	if (!err) {
		fault_point("hold.commit");
		err = batch_store_run(h, ST_COMMIT, NULL);
		fault_point("hold.committed");
	}
	for (size_t i = 0; err && i < STS; i++)
		sqlite3_reset(h->st[i]);
	if (err && !sqlite3_get_autocommit(h->db))
		sqlite3_exec(h->db, "ROLLBACK", NULL, NULL, NULL);
	if (err == -EIO || err == -EBADMSG) {
		log_err("%s/hold.db: %s: it is read anew with the next start", h->dir,
			sqlite3_errmsg(h->db));
		_exit(1);
	}
	pthread_mutex_unlock(&h->lock);
	return err;
}

/* --- open --- */

static int one_number(struct batch_store *h, const char *text, uint64_t *out)
{
	sqlite3_stmt *s;
	int rc = sqlite3_prepare_v2(h->db, text, -1, &s, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		*out = batch_store_column(s, 0);
	sqlite3_finalize(s);
	return rc == SQLITE_ROW ? 0 : rc == SQLITE_DONE ? -ENOENT : batch_store_errno(rc);
}

static int make(struct batch_store *h)
{
	char text[160];

	if (getrandom(&h->id, sizeof(h->id), 0) != sizeof(h->id))
		return -errno;
	snprintf(text, sizeof(text), "INSERT INTO meta VALUES(1,%d,%" PRId64 ")", VERSION,
		 (int64_t)h->id);
	if (sqlite3_exec(h->db, "BEGIN", NULL, NULL, NULL) ||
	    sqlite3_exec(h->db, schema, NULL, NULL, NULL) ||
	    sqlite3_exec(h->db, text, NULL, NULL, NULL) ||
	    sqlite3_exec(h->db, "COMMIT", NULL, NULL, NULL))
		return batch_store_errno(sqlite3_errcode(h->db));
	return 0;
}

static int open_db(struct batch_store *h, char why[256])
{
	char path[PATH_MAX + 16];
	uint64_t tables = 0, version = 0;
	int err;

	snprintf(path, sizeof(path), "%s/hold.db", h->dir);
	if (sqlite3_open_v2(path, &h->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    NULL) ||
	    /*
	     * Exclusive mode, so that the index needs no file. FULL: a commit is on the disk when
	     * it returns.
	     */
	    sqlite3_exec(h->db,
			 "PRAGMA locking_mode=EXCLUSIVE;PRAGMA journal_mode=WAL;"
			 "PRAGMA synchronous=FULL;PRAGMA cache_size=-8192;PRAGMA mmap_size=0;"
			 "PRAGMA wal_autocheckpoint=1000;PRAGMA journal_size_limit=16777216",
			 NULL, NULL, NULL)) {
		err = batch_store_errno(sqlite3_errcode(h->db));
		snprintf(why, 256, "%.180s: %s", path,
			 err == -EBUSY ? "another relay has it" : sqlite3_errmsg(h->db));
		return err;
	}
	chmod(path, 0600);
	err = one_number(h, "SELECT count(*) FROM sqlite_schema", &tables);
	if (!err && !tables)
		err = make(h);
	if (!err)
		err = one_number(h, "SELECT version FROM meta", &version);
	if (!err)
		err = one_number(h, "SELECT relay FROM meta", &h->id);
	if (err || version != VERSION)
		snprintf(why, 256, "%.180s: %s", path,
			 err ? sqlite3_errmsg(h->db) : "of another version of aon relay");
	return err ? err : version == VERSION ? 0 : -EPROTO;
}

int batch_store_open(struct batch_store **out, const char *dir, uint64_t max_bytes, char why[256])
{
	struct batch_store *h = calloc(1, sizeof(*h));
	int err;

	if (!h)
		return -ENOMEM;
	pthread_mutex_init(&h->lock, NULL);
	h->max_bytes = max_bytes;
	snprintf(h->dir, sizeof(h->dir), "%s", dir);
	err = open_db(h, why);
	for (size_t i = 0; !err && i < STS; i++)
		if (sqlite3_prepare_v3(h->db, st_text[i], -1, SQLITE_PREPARE_PERSISTENT, &h->st[i],
				       NULL) != SQLITE_OK) {
			err = batch_store_errno(sqlite3_errcode(h->db));
			snprintf(why, 256, "%.128s/hold.db: %s", dir, sqlite3_errmsg(h->db));
		}
	if (err) {
		batch_store_close(h);
		return err;
	}
	*out = h;
	return 0;
}

void batch_store_close(struct batch_store *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < STS; i++)
		sqlite3_finalize(h->st[i]);
	sqlite3_close(h->db);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

uint64_t batch_store_id(const struct batch_store *h)
{
	return h->id;
}

/* --- batches arrive --- */

static int look(struct batch_store *h, enum st which, uint64_t *const *to, size_t n)
{
	sqlite3_stmt *s = batch_store_use(h, which, NULL);
	int rc = sqlite3_step(s);

	for (size_t i = 0; i < n && rc == SQLITE_ROW; i++)
		*to[i] = batch_store_column(s, (int)i);
	sqlite3_reset(s);
	return rc == SQLITE_ROW ? 0 : batch_store_errno(rc);
}

static uint64_t used_bytes(struct batch_store *h)
{
	uint64_t pages = 0, unused = 0, *const to[] = { &pages, &unused };

	look(h, ST_PAGES, &to[0], 1);
	look(h, ST_FREE, &to[1], 1);
	return (pages - unused) * 4096;
}

static int check_room(struct batch_store *h, struct arrival *const *a, size_t n)
{
	uint64_t more = 0;
	struct statvfs fs;

	for (size_t i = 0; i < n; i++)
		more += a[i]->len + 512;
	if (used_bytes(h) + more > h->max_bytes)
		return -ENOSPC;
	/* Twice, because SQLite writes it to the log and then to the file. */
	if (statvfs(h->dir, &fs) == 0 &&
	    (uint64_t)fs.f_bavail * fs.f_frsize < 2 * more + ROOM_BYTES)
		return -ENOSPC;
	return 0;
}

/* Whether it is the next batch of its source; fills the answer. */
static int judge(struct batch_store *h, struct arrival *a, bool *take)
{
	sqlite3_stmt *s = batch_store_use(h, ST_SRC, WITH(N(a->src)));
	const char *node;
	int rc;

	*take = false;
	a->last = 0;
	a->result = 0;
	a->repeated = false;
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW) {
		a->last = batch_store_column(s, 0);
		node = (const char *)sqlite3_column_text(s, 1);
		if (!node || strcmp(node, a->node) != 0)
			a->result = -EPERM;
	}
	sqlite3_reset(s);
	if (!AFTER(rc))
		return batch_store_errno(rc);
	if (a->result)
		return 0;
	if (a->seq <= a->last)
		a->repeated = true;
	else if (a->seq == a->last + 1 || a->first == a->seq)
		*take = true;
	else
		a->result = -ESTALE;
	return 0;
}

static int bring(struct batch_store *h, struct arrival *a, uint64_t now_ns)
{
	int err = batch_store_run(h, ST_BATCH,
				  WITH(N(a->src), N(a->seq), T(a->table), N(a->schema), N(a->day),
				       N(a->shard), N(a->rows), N(a->bytes), N(now_ns)));

	if (!err)
		err = batch_store_run(
			h, ST_BODY,
			WITH(N((uint64_t)sqlite3_last_insert_rowid(h->db)), B(a->wire, a->len)));
	if (!err)
		err = batch_store_run(h, ST_SRC_SET,
				      WITH(N(a->src), N(a->seq), T(a->node), N(now_ns)));
	if (!err)
		a->last = a->seq;
	return err;
}

int batch_store_commit(struct batch_store *h, struct arrival *const *a, size_t n, uint64_t now_ns)
{
	int err = batch_store_begin(h);
	bool take;

	if (!err)
		err = check_room(h, a, n);
	for (size_t i = 0; i < n && !err; i++) {
		err = judge(h, a[i], &take);
		if (!err && take)
			err = bring(h, a[i], now_ns);
	}
	return batch_store_end(h, err);
}

/* --- numbers --- */

int batch_store_stat(struct batch_store *h, struct batch_store_stat *out)
{
	struct batch_store_stat st = { 0 };
	uint64_t open_ns = 0, frozen_ns = 0;
	uint64_t *const open[] = { &st.open_batches, &st.open_rows, &st.open_bytes, &open_ns };
	uint64_t *const frozen[] = { &st.inserts, &st.insert_rows, &st.insert_bytes, &frozen_ns };
	uint64_t *const aside[] = { &st.aside, &st.aside_rows };
	uint64_t *const sources[] = { &st.sources }, *const shards[] = { &st.shards };
	int err;

	pthread_mutex_lock(&h->lock);
	err = look(h, ST_STAT, open, 4);
	err = err ? err : look(h, ST_STAT2, frozen, 4);
	err = err ? err : look(h, ST_STAT3, aside, 2);
	err = err ? err : look(h, ST_STAT4, sources, 1);
	err = err ? err : look(h, ST_STAT5, shards, 1);
	st.disk_bytes = used_bytes(h);
	pthread_mutex_unlock(&h->lock);
	st.oldest_ns = frozen_ns && (!open_ns || frozen_ns < open_ns) ? frozen_ns : open_ns;
	if (!err)
		*out = st;
	return err;
}

int batch_store_forget(struct batch_store *h, uint64_t before_ns)
{
	int err = batch_store_begin(h);

	if (!err)
		err = batch_store_run(h, ST_FORGET, WITH(N(before_ns)));
	return batch_store_end(h, err);
}

uint64_t batch_store_inserts(struct batch_store *h)
{
	uint64_t n = 0, *const to[] = { &n };

	pthread_mutex_lock(&h->lock);
	look(h, ST_INSERTS, to, 1);
	pthread_mutex_unlock(&h->lock);
	return n;
}
