/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - opens a store: for writing, exclusively; for reading, without changing a file. */
#include "store/priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/vfs.h"

#define TABLES   14
#define TABLES_2 13 /* of versions 2 and 3 */
#define TABLES_1 9  /* of version 1 */

/* clang-format off */
/* What version 2 has more than version 1. */
#define SCHEMA_2 \
	"CREATE TABLE step(id INTEGER PRIMARY KEY AUTOINCREMENT,process INTEGER NOT NULL," \
		"t0 INTEGER NOT NULL,wall INTEGER NOT NULL,data BLOB NOT NULL);" \
	"CREATE TABLE node(id INTEGER PRIMARY KEY,data BLOB NOT NULL);" \
	"CREATE TABLE series(id INTEGER PRIMARY KEY,data BLOB NOT NULL);" \
	"CREATE TABLE tele(id INTEGER PRIMARY KEY AUTOINCREMENT,source INTEGER NOT NULL," \
		"t0 INTEGER NOT NULL,t1 INTEGER NOT NULL,wall INTEGER NOT NULL,data BLOB NOT NULL);"

/* What version 4 has more than version 3. */
#define SCHEMA_4 "CREATE TABLE stack(id INTEGER PRIMARY KEY,data BLOB NOT NULL);"

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
		"t0 INTEGER NOT NULL,wall INTEGER NOT NULL,data BLOB NOT NULL);"
	SCHEMA_2 SCHEMA_4;
/* clang-format on */

static int exec(struct store *st, const char *text)
{
	return store_errno(st, sqlite3_exec(st->db, text, NULL, NULL, NULL));
}

struct store *store_new(const char *path)
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
	st->old = tables == TABLES_1;
	st->has_stacks = tables == TABLES;
	if (!st->has_stacks && tables != TABLES_2 && !st->old)
		return -EBADMSG;
	rc = sqlite3_prepare_v2(st->db, "PRAGMA user_version", -1, &s, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	st->version = rc == SQLITE_ROW ? (uint32_t)sqlite3_column_int64(s, 0) : 0;
	sqlite3_finalize(s);
	return rc == SQLITE_ROW ? 0 : store_errno(st, rc);
}

/* one_of(x, list): whether the number is in the list, an array of uint32_t; NULL: all are. */
static void one_of(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const struct store_filter f = {
		.process = sqlite3_value_blob(argv[1]),
		.processes = (size_t)sqlite3_value_bytes(argv[1]) / sizeof(*f.process),
	};
	bool all = sqlite3_value_type(argv[1]) == SQLITE_NULL;

	(void)argc;
	sqlite3_result_int(
		ctx, all || (f.process &&
			     store_filter_process(&f, (uint32_t)sqlite3_value_int64(argv[0]))));
}

static int open_db(struct store *st, const char *name, int flags, const char *vfs)
{
	int rc = sqlite3_open_v2(name, &st->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, vfs);

	if (rc != SQLITE_OK)
		return store_errno(st, rc);
	sqlite3_extended_result_codes(st->db, 1);
	sqlite3_busy_timeout(st->db, 2000);
	/* No valid row is longer; a longer one would only take memory. */
	sqlite3_limit(st->db, SQLITE_LIMIT_LENGTH, (int)SEAL_BODY_MAX + 4096);
	sqlite3_db_config(st->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(st->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	rc = sqlite3_create_function(st->db, "one_of", 2,
				     SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL,
				     one_of, NULL, NULL);
	if (rc != SQLITE_OK)
		return store_errno(st, rc);
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
	err = open_db(st, name, SQLITE_OPEN_READONLY, NULL);
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

	if (store_opener(path))
		return store_opener(path)(out, path, why);
	err = store_probe(path, &wal, why);
	if (err < 0)
		return err;
	snprintf(shm, sizeof(shm), "%s-shm", path);
	if (wal && access(shm, F_OK) < 0)
		return store_because(why, -EBADMSG,
				     "%s has a log without its index: `aon recover` reads it",
				     path);
	st = store_new(path);
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

/* A file of an older version gets what it lacks; from here on older readers refuse it. */
static int upgrade(struct store *st)
{
	char text[2048];
	int err;

	snprintf(text, sizeof(text), "BEGIN;%s%sPRAGMA user_version=%u;COMMIT",
		 st->old ? SCHEMA_2 : "", st->has_stacks ? "" : SCHEMA_4, STORE_VERSION);
	err = exec(st, text);
	if (err < 0 && !sqlite3_get_autocommit(st->db))
		sqlite3_exec(st->db, "ROLLBACK", NULL, NULL, NULL);
	return err < 0 ? err : check_schema(st);
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

	err = open_db(st, st->path, SQLITE_OPEN_READWRITE, vfs_name());
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
	if (err == 0 && st->version < STORE_VERSION)
		err = upgrade(st);
	if (err < 0)
		return err;
	sqlite3_wal_hook(st->db, note_frames, st);
	/* From here on only a checkpoint that meets a reader waits. */
	sqlite3_busy_timeout(st->db, 50);
	err = store_load(st);
	if (err == 0)
		err = store_shrink(st);
	if (err == 0)
		err = store_commit_locked(st, 0);
	return err == 0 ? store_fold(st) : err;
}

/* A store that could not be made leaves nothing that the next one would trip over. */
static void unmake(const char *path)
{
	static const char *const parts[] = { "", "-wal", "-shm", "-journal" };
	char name[PATH_MAX + 16];

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", path, parts[i]);
		unlink(name);
	}
}

int store_open_rw(struct store **out, const char *path, const struct store_opts *o,
		  struct store_why *why)
{
	struct store *st = store_new(path);
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
	st->wall_offset_ns = (int64_t)(clock_wall_ns() - clock_mono_ns());
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
		unmake(path);
	store_close(st);
	return err;
}
