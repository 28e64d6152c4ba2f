// SPDX-License-Identifier: Apache-2.0
/* store.c - opens, closes and commits. priv.h draws the tables and the locks. */
#include "store/priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/blob.h"

/* clang-format off */
static const char schema[] =
	"CREATE TABLE name(id INTEGER PRIMARY KEY,data BLOB NOT NULL);"
	"CREATE TABLE geo(id INTEGER PRIMARY KEY,data BLOB NOT NULL);"
	"CREATE TABLE lane(id INTEGER PRIMARY KEY,process INTEGER NOT NULL,data BLOB NOT NULL);"
	"CREATE TABLE process(id INTEGER PRIMARY KEY,data BLOB NOT NULL);"
	"CREATE TABLE aged(id INTEGER PRIMARY KEY,data BLOB NOT NULL);"
	"CREATE TABLE journal(id INTEGER PRIMARY KEY,data BLOB NOT NULL);"
	"CREATE TABLE blob(id INTEGER PRIMARY KEY AUTOINCREMENT,process INTEGER NOT NULL,"
		"t0 INTEGER NOT NULL,t1 INTEGER NOT NULL,wall INTEGER NOT NULL,"
		"events INTEGER NOT NULL,records INTEGER NOT NULL,bytes INTEGER NOT NULL);"
	"CREATE TABLE data(id INTEGER PRIMARY KEY,data BLOB NOT NULL);"
	"CREATE TABLE win(id INTEGER PRIMARY KEY AUTOINCREMENT,process INTEGER NOT NULL,"
		"t0 INTEGER NOT NULL,wall INTEGER NOT NULL,data BLOB NOT NULL);";
/* clang-format on */

static const char *const sql[ST_COUNT] = {
#define X(NAME, text) [ST_##NAME] = text,
	STATEMENTS(X)
#undef X
};

int store_because(struct store_why *why, int err, const char *fmt, ...)
{
	va_list ap;

	if (why) {
		va_start(ap, fmt);
		vsnprintf(why->text, sizeof(why->text), fmt, ap);
		va_end(ap);
	}
	return err;
}

int store_errno(struct store *st, int rc)
{
	int sys = st->db ? sqlite3_system_errno(st->db) : 0;

	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return -EACCES;
	case SQLITE_CANTOPEN:
		return sys ? -sys : -EIO;
	case SQLITE_IOERR:
		return sys == ENOSPC || sys == EDQUOT ? -ENOSPC : -EIO;
	default: /* CORRUPT, NOTADB, and a schema that is not ours */
		return -EBADMSG;
	}
}

sqlite3_stmt *store_stmt(struct store *st, enum statement which)
{
	sqlite3_stmt **s = &st->stmt[which];

	if (!*s)
		sqlite3_prepare_v3(st->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT, s, NULL);
	if (*s)
		sqlite3_reset(*s);
	return *s;
}

int store_run(struct store *st, sqlite3_stmt *s)
{
	int rc;

	if (!s)
		return store_errno(st, sqlite3_errcode(st->db));
	rc = sqlite3_step(s);
	sqlite3_reset(s);
	return store_errno(st, rc);
}

int64_t store_number(struct store *st, enum statement which)
{
	sqlite3_stmt *s = store_stmt(st, which);
	int64_t v = 0;
	int rc;

	if (!s)
		return store_errno(st, sqlite3_errcode(st->db));
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		v = sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? v : store_errno(st, rc);
}

static int exec(struct store *st, const char *text)
{
	return store_errno(st, sqlite3_exec(st->db, text, NULL, NULL, NULL));
}

static struct store *new_store(const char *path)
{
	struct store *st = calloc(1, sizeof(*st));

	if (!st)
		return NULL;
	st->lock_fd = -1;
	pthread_mutex_init(&st->db_lock, NULL);
	pthread_mutex_init(&st->mem_lock, NULL);
	st->path = strdup(path);
	if (!st->path) {
		free(st);
		return NULL;
	}
	return st;
}

void store_close(struct store *st)
{
	if (!st)
		return;
	store_rollback(st);
	for (int i = 0; i < ST_COUNT; i++)
		sqlite3_finalize(st->stmt[i]);
	sqlite3_close(st->db);
	/* After SQLite: closing any descriptor of the file drops all of its locks. */
	if (st->lock_fd >= 0)
		close(st->lock_fd);
	for (uint32_t i = 0; i < st->texts; i++)
		free(st->text[i]);
	free(st->text);
	rows_fini(&st->sent);
	rows_fini(&st->scratch);
	rows_fini(&st->pending);
	intern_fini(&st->names);
	intern_fini(&st->geos);
	intern_fini(&st->lanes);
	intern_fini(&st->processes);
	window_codec_free(st->win);
	blob_dec_free(st->dec);
	blob_packer_free(st->packer);
	free(st->known);
	pthread_mutex_destroy(&st->db_lock);
	pthread_mutex_destroy(&st->mem_lock);
	free(st->path);
	free(st);
}

/* Only our tables, and nothing that runs by itself: the file may be anybody's work. */
static int check_schema(struct store *st)
{
	sqlite3_stmt *s;
	int rc, tables = 0;

	rc = sqlite3_prepare_v2(st->db,
				"SELECT sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'", -1,
				&s, NULL);
	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		const char *text;

		rc = sqlite3_step(s);
		if (rc != SQLITE_ROW)
			break;
		text = (const char *)sqlite3_column_text(s, 0);
		if (!text || !strstr(schema, text)) {
			rc = SQLITE_CORRUPT;
			break;
		}
		tables++;
	}
	sqlite3_finalize(s);
	if (rc != SQLITE_DONE)
		return store_errno(st, rc);
	return tables == 9 ? 0 : -EBADMSG;
}

static int open_db(struct store *st, const char *name, int flags)
{
	int rc =
		sqlite3_open_v2(name, &st->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL);

	if (rc != SQLITE_OK)
		return store_errno(st, rc);
	sqlite3_extended_result_codes(st->db, 1);
	sqlite3_busy_timeout(st->db, 2000);
	sqlite3_db_config(st->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(st->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	return exec(st, "PRAGMA mmap_size=0;PRAGMA cell_size_check=1;PRAGMA cache_size=-256");
}

/* "file:" and the path, with what a URI gives a meaning to written as %XX. */
static int uri(const char *path, const char *query, char *out, size_t max)
{
	size_t n = (size_t)snprintf(out, max, "file:");

	for (; *path && n + 4 < max; path++)
		n += (size_t)snprintf(out + n, max - n, strchr("?#%", *path) ? "%%%02X" : "%c",
				      (unsigned char)*path);
	if (*path || n + strlen(query) >= max)
		return -ENAMETOOLONG;
	strcpy(out + n, query);
	return 0;
}

/*
 * A reader changes nothing: with a log it uses the index (-shm) that the writer left, read
 * only; without one the file cannot change but by a writer that makes a log first.
 */
int store_connect_ro(struct store *st)
{
	char name[PATH_MAX + 64], log[PATH_MAX + 8];
	int err;

	snprintf(log, sizeof(log), "%s-wal", st->path);
	st->alone = access(log, F_OK) < 0;
	err = uri(st->path, st->alone ? "?immutable=1" : "?readonly_shm=1", name, sizeof(name));
	if (err < 0)
		return err;
	err = open_db(st, name, SQLITE_OPEN_READONLY);
	if (err == 0)
		err = exec(st, "PRAGMA temp_store=2"); /* not even a temporary file */
	return err < 0 ? err : check_schema(st);
}

int store_open_ro(struct store **out, const char *path, struct store_why *why)
{
	char shm[PATH_MAX + 8];
	struct store *st;
	bool wal;
	int err;

	err = store_probe(path, &wal, why);
	if (err < 0)
		return err;
	snprintf(shm, sizeof(shm), "%s-shm", path);
	if (wal && access(shm, F_OK) < 0)
		return store_because(why, -EBADMSG,
				     "%s has a log without its index: `aon recover` reads it",
				     path);
	st = new_store(path);
	if (!st)
		return store_because(why, -ENOMEM, "%s: no memory", path);
	err = store_connect_ro(st);
	if (err < 0) {
		store_because(why, err,
			      err == -EBADMSG ? "%s is damaged (%s): try `aon recover`" : "%s: %s",
			      path, st->db ? sqlite3_errmsg(st->db) : strerror(-err));
		store_close(st);
		return err;
	}
	*out = st;
	return 0;
}

/* One writer: a lock of the kind that SQLite does not use, held as long as the store is open. */
static int take_lock(struct store *st, bool create, bool *empty, struct store_why *why)
{
	char log[PATH_MAX + 8];
	struct stat sb;
	int err;

	st->lock_fd = open(st->path,
			   O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW |
				   (create ? O_CREAT : 0),
			   0640);
	if (st->lock_fd < 0) {
		err = errno == EISDIR ? -EMEDIUMTYPE : -errno;
		return store_because(why, err, "%s: %s", st->path,
				     err == -ELOOP         ? "is a link"
				     : err == -EMEDIUMTYPE ? "is not a file"
							   : strerror(-err));
	}
	if (flock(st->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return store_because(why, -EBUSY, "%s: another aond writes it", st->path);
	if (fstat(st->lock_fd, &sb) < 0)
		return -errno;
	snprintf(log, sizeof(log), "%s-wal", st->path);
	*empty = S_ISREG(sb.st_mode) && sb.st_size == 0 && access(log, F_OK) < 0 && create;
	return *empty ? 0 : store_probe(st->path, NULL, why);
}

static int make_tables(struct store *st)
{
	char head[160];
	int err;

	snprintf(head, sizeof(head),
		 "PRAGMA page_size=%u;PRAGMA auto_vacuum=0;BEGIN;PRAGMA application_id=%u;"
		 "PRAGMA user_version=%u;",
		 STORE_PAGE, STORE_APP_ID, STORE_VERSION);
	err = exec(st, head);
	if (err == 0)
		err = exec(st, schema);
	return err == 0 ? exec(st, "COMMIT") : err;
}

uint64_t store_wal_limit(const struct store *st)
{
	uint64_t limit = st->opts.max_bytes / 32;

	if (st->opts.max_bytes == 0 || limit > 8u << 20)
		return 8u << 20;
	return limit < 128u << 10 ? 128u << 10 : limit;
}

/* Copies what readers no longer need from the log to the file, and measures both. */
int store_fold(struct store *st)
{
	uint64_t used = (uint64_t)st->wal_frames * (STORE_PAGE + 24);
	char log[PATH_MAX + 8];
	struct stat sb;
	int64_t pages;
	int rc = SQLITE_OK;

	if (used > store_wal_limit(st)) {
		rc = sqlite3_wal_checkpoint_v2(st->db, NULL,
					       used > 2 * store_wal_limit(st)
						       ? SQLITE_CHECKPOINT_RESTART
						       : SQLITE_CHECKPOINT_PASSIVE,
					       NULL, NULL);
		if (rc == SQLITE_OK)
			st->wal_frames = 0;
	}
	pages = store_number(st, ST_PAGES);
	if (pages < 0)
		return (int)pages;
	snprintf(log, sizeof(log), "%s-wal", st->path);
	used = (uint64_t)pages * STORE_PAGE + (stat(log, &sb) == 0 ? (uint64_t)sb.st_size : 0);
	__atomic_store_n(&st->bytes, used,
			 __ATOMIC_RELAXED); /* store_bytes() asks without a lock */
	/* Disk full or a reader in the way: all is still in the log. But after a failed fsync
	 * nobody knows what the disk holds. */
	return (rc & 0xff) == SQLITE_IOERR && store_errno(st, rc) == -EIO ? -EIO : 0;
}

static int commit(struct store *st, uint64_t now_ns)
{
	int err;

	err = store_flush(st);
	if (err == 0)
		err = store_drop_aged(st, now_ns);
	if (err == 0)
		err = store_forget(st);
	if (err < 0)
		return err;
	/* Even with nothing to commit: a reader may have let go of a log that grew too long. */
	if (!st->in_txn)
		return st->wal_frames ? store_fold(st) : 0;
	err = store_run(st, store_stmt(st, ST_COMMIT));
	if (err < 0)
		return err;
	st->in_txn = false;
	rows_fini(&st->sent);
	return store_fold(st);
}

static int note_frames(void *arg, sqlite3 *db, const char *name, int frames)
{
	struct store *st = arg;

	(void)db, (void)name;
	st->wal_frames = (uint32_t)frames;
	return SQLITE_OK;
}

static int connect_rw(struct store *st, bool empty)
{
	char pragma[160];
	int err;

	err = open_db(st, st->path, SQLITE_OPEN_READWRITE);
	if (err == 0 && empty)
		err = make_tables(st);
	if (err == 0)
		err = check_schema(st);
	snprintf(pragma, sizeof(pragma),
		 "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA wal_autocheckpoint=0;"
		 "PRAGMA journal_size_limit=%llu",
		 (unsigned long long)store_wal_limit(st));
	if (err == 0)
		err = exec(st, pragma);
	if (err < 0)
		return err;
	sqlite3_wal_hook(st->db, note_frames, st);
	/* From here on only a checkpoint that meets a reader waits. */
	sqlite3_busy_timeout(st->db, 50);
	err = store_load(st);
	if (err == 0)
		err = store_shrink(st);
	if (err == 0)
		err = commit(st, 0);
	return err == 0 ? store_fold(st) : err;
}

static int64_t wall_offset(void)
{
	struct timespec wall, mono;

	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	return (wall.tv_sec - mono.tv_sec) * 1000000000ll + wall.tv_nsec - mono.tv_nsec;
}

int store_open_rw(struct store **out, const char *path, const struct store_opts *o,
		  struct store_why *why)
{
	struct store *st = new_store(path);
	bool empty = false;
	int err;

	if (!st)
		return store_because(why, -ENOMEM, "%s: no memory", path);
	st->writer = true;
	st->opts = *o;
	if (!st->opts.names_max)
		st->opts.names_max = STORE_NAMES_MAX;
	if (st->opts.max_bytes && st->opts.max_bytes < STORE_BYTES_MIN)
		st->opts.max_bytes = STORE_BYTES_MIN;
	st->wall_offset_ns = wall_offset();
	if (getrandom(&st->seed, sizeof(st->seed), GRND_NONBLOCK) < 0)
		st->seed = (uint64_t)st->wall_offset_ns ^ (uintptr_t)st;
	err = take_lock(st, o->create, &empty, why);
	if (err < 0)
		goto close;
	err = connect_rw(st, empty);
	if (err < 0) {
		store_because(why, err, "%s: %s", path,
			      st->db ? sqlite3_errmsg(st->db) : strerror(-err));
		goto close;
	}
	*out = st;
	return 0;

close:
	if (empty)
		unlink(path);
	store_close(st);
	return err;
}

int store_commit(struct store *st, uint64_t now_ns)
{
	int err;

	pthread_mutex_lock(&st->db_lock);
	err = commit(st, now_ns);
	pthread_mutex_unlock(&st->db_lock);
	return err;
}

void store_rollback(struct store *st)
{
	bool undone;

	pthread_mutex_lock(&st->db_lock);
	undone = st->in_txn;
	if (st->db && !sqlite3_get_autocommit(st->db))
		store_run(st, store_stmt(st, ST_ROLLBACK));
	if (undone)
		store_unsend(st);
	st->in_txn = false;
	pthread_mutex_unlock(&st->db_lock);
	if (undone)
		store_load_aged(st);
}

uint64_t store_bytes(const struct store *st)
{
	return __atomic_load_n(&st->bytes, __ATOMIC_RELAXED);
}
