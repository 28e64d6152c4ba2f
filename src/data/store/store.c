/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - errors and statements, commit, rollback and close. priv.h draws tables and locks. */
#include "store/priv.h"
#include "store/vfs.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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

void store_close(struct store *st)
{
	if (!st)
		return;
	if (st->ops && st->ops->close)
		st->ops->close(st->self);
	if (!st->ops)
		store_rollback(st);
	for (int i = 0; i < ST_COUNT; i++)
		sqlite3_finalize(st->stmt[i]);
	sqlite3_close(st->db);
	/* After SQLite: closing any descriptor of the file drops all of its locks. */
	if (st->lock_fd >= 0)
		close(st->lock_fd);
	for (size_t i = 0; i < st->texts; i++)
		free(st->text[i]);
	free(st->text);
	rows_fini(&st->sent);
	rows_fini(&st->scratch);
	rows_fini(&st->pending);
	map_fini(&st->names);
	map_fini(&st->geos);
	map_fini(&st->stacks);
	map_fini(&st->tracks);
	map_fini(&st->processes);
	map_fini(&st->series);
	block_codec_free(st->block);
	window_codec_free(st->win);
	steps_codec_free(st->steps);
	free(st->known);
	pthread_mutex_destroy(&st->db_lock);
	pthread_mutex_destroy(&st->mem_lock);
	free(st->path);
	free(st);
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
	/* Disk full or a reader in the way: all is still in the log, and the next try does it. */
	st->fold_err = (rc & 0xff) == SQLITE_IOERR && store_errno(st, rc) == -EIO ? -EIO : 0;
	return st->fold_err;
}

int store_commit_locked(struct store *st, uint64_t now_ns)
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
	store_fold(st); /* where it fails, store_begin() says so: this commit is done */
	return 0;
}

int store_commit(struct store *st, uint64_t now_ns)
{
	int err;

	pthread_mutex_lock(&st->db_lock);
	err = store_commit_locked(st, now_ns);
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

uint64_t store_written(void)
{
	return vfs_written();
}

uint64_t store_bytes(const struct store *st)
{
	return __atomic_load_n(&st->bytes, __ATOMIC_RELAXED);
}
