/* SPDX-License-Identifier: Apache-2.0 */
/*
 * priv.h - what the files of this folder share of an open store.
 *
 * Tables (one row a line; every `data` is a seal and a body, see seal.h):
 *
 *	name geo stack process aged journal    (id, data)
 *	lane(id, process, data)          the tracks; the table keeps its first name
 *	blob    (id, process, t0, t1, wall, events, records, bytes)   index of the event blobs
 *	data    (id, data)                                             their bytes, same ids
 *	win     (id, process, t0, wall, data)                          windows
 *	series  (id, data)                                             of telemetry
 *	tele    (id, source, t0, t1, wall, data)                       its blocks
 *	step    (id, process, t0, wall, data)                          records of steps, some a row
 *	node    (id, data)                                             what the node is, one row
 *
 * Index and bytes of blobs are separate, so that a walk that filters touches only a few pages.
 * Ids of blob, win, step and tele only rise, and so do times, nearly: the smallest id is the oldest.
 *
 * Two locks. `mem` guards the tables in memory and the queue of small rows, is held for
 * moments only, and is all that interning takes: the draining thread never waits for a disk.
 * `db` guards the connection and may be held for as long as a commit takes. Order: db, mem.
 */
#pragma once

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "store/backend.h"
#include "store/block.h"
#include "store/rows.h"
#include "store/steps.h"
#include "store/store.h"
#include "store/window.h"

#define STORE_APP_ID 0x414f4e31u /* "AON1" */
/* 3: without stack; 2: also without typed entries; 1: also without step, node, series and tele */
#define STORE_VERSION 4u
#define STORE_PAGE    4096u

#define STORE_NAMES_MAX     100000u    /* where the caller asks for 0 */
#define STORE_BYTES_MIN     (1u << 20) /* the smallest cap: below, the log alone would fill it */
#define STORE_SERIES_MAX    65536u     /* series of telemetry; further ones are not stored */
#define STORE_TAILS         32u        /* sources of telemetry at a time */
#define STORE_PENDING_MAX   (8u << 20) /* bytes of small rows that wait for a commit */
#define STORE_PROCESSES_MAX 16384u     /* then those of which nothing is left are forgotten */

/* Statements, prepared when first used. */
#define STATEMENTS(X)                                                                          \
	X(BEGIN, "BEGIN IMMEDIATE")                                                            \
	X(COMMIT, "COMMIT")                                                                    \
	X(ROLLBACK, "ROLLBACK")                                                                \
	X(PAGES, "PRAGMA page_count")                                                          \
	X(FREE_PAGES, "PRAGMA freelist_count")                                                 \
	X(PUT_NAME, "INSERT OR REPLACE INTO name VALUES(?1,?2)")                               \
	X(PUT_GEO, "INSERT OR REPLACE INTO geo VALUES(?1,?2)")                                 \
	X(PUT_STACK, "INSERT OR REPLACE INTO stack VALUES(?1,?2)")                             \
	X(PUT_TRACK, "INSERT OR REPLACE INTO lane VALUES(?1,?3,?2)")                           \
	X(PUT_PROCESS, "INSERT OR REPLACE INTO process VALUES(?1,?2)")                         \
	X(PUT_AGED, "INSERT OR REPLACE INTO aged VALUES(?1,?2)")                               \
	X(PUT_JOURNAL, "INSERT OR REPLACE INTO journal VALUES(?1,?2)")                         \
	X(PUT_DATA, "INSERT INTO data VALUES(?1,?2)")                                          \
	X(PUT_BLOB, "INSERT INTO blob VALUES(?1,?2,?3,?4,?5,?6,?7,?8)")                        \
	X(PUT_WIN, "INSERT INTO win VALUES(?1,?3,?4,?5,?2)")                                   \
	X(PUT_STEPS, "INSERT INTO step VALUES(?1,?3,?4,?5,?2)")                                \
	X(PUT_NODE, "INSERT OR REPLACE INTO node VALUES(?1,?2)")                               \
	X(OLDEST_BLOB, "SELECT id,process,records,wall,t0,t1,bytes FROM blob WHERE id>?1 "     \
		       "ORDER BY id LIMIT 1")                                                  \
	X(OLDEST_WIN, "SELECT id,process,0,wall FROM win ORDER BY id LIMIT 1")                 \
	X(OLDEST_STEP, "SELECT id,process,0,wall FROM step ORDER BY id LIMIT 1")               \
	X(CUT_STEP, "DELETE FROM step WHERE id=?1")                                            \
	X(CUT_BLOB, "DELETE FROM blob WHERE id=?1")                                            \
	X(CUT_DATA, "DELETE FROM data WHERE id=?1")                                            \
	X(CUT_WIN, "DELETE FROM win WHERE id=?1")                                              \
	X(EMPTY_PROCESS, "SELECT id FROM process WHERE id NOT IN (SELECT process FROM blob)"   \
			 " AND id NOT IN (SELECT process FROM win)"                            \
			 " AND id NOT IN (SELECT process FROM step) ORDER BY id LIMIT ?1")     \
	X(CUT_PROCESS, "DELETE FROM process WHERE id=?1")                                      \
	X(CUT_TRACKS, "DELETE FROM lane WHERE process NOT IN (SELECT id FROM process)")        \
	X(CUT_AGED, "DELETE FROM aged WHERE id NOT IN (SELECT id FROM process)")               \
	X(GET_NAME, "SELECT id,data FROM name WHERE id=?1")                                    \
	X(GET_GEO, "SELECT id,data FROM geo WHERE id=?1")                                      \
	X(GET_STACK, "SELECT id,data FROM stack WHERE id=?1")                                  \
	X(GET_TRACK, "SELECT id,data FROM lane WHERE id=?1")                                   \
	X(EXTENT, "SELECT ifnull(max(id),0),ifnull(sum(events),0) FROM blob")                  \
	X(HELD, "SELECT ifnull(min(t0),-1) FROM blob WHERE process=?1 AND id>=(SELECT"         \
		" max(id) FROM blob b WHERE NOT EXISTS (SELECT 1 FROM blob WHERE id=b.id-1))") \
	X(STAT, "SELECT count(*),sum(events),sum(bytes),min(t0),max(t1),(SELECT count(*)"      \
		" FROM name),(SELECT count(*) FROM process),(SELECT count(*) FROM lane)"       \
		" FROM blob")                                                                  \
	X(STAT_WIN, "SELECT count(*),sum(length(data)),min(t0),max(t0) FROM win")              \
	X(STAT_STEP, "SELECT count(*),sum(length(data)) FROM step")                            \
	X(STAT_STACK, "SELECT count(*),sum(length(data)) FROM stack")                          \
	X(LAST_ID, "SELECT seq FROM sqlite_sequence WHERE name=?1")                            \
	X(EACH_NAME, "SELECT id,data FROM name WHERE id>?1 ORDER BY id LIMIT ?2")              \
	X(EACH_GEO, "SELECT id,data FROM geo WHERE id>?1 ORDER BY id LIMIT ?2")                \
	X(EACH_STACK, "SELECT id,data FROM stack WHERE id>?1 ORDER BY id LIMIT ?2")            \
	X(EACH_TRACK, "SELECT id,data FROM lane WHERE id>?1 AND one_of(process,?3)"            \
		      " ORDER BY id LIMIT ?2")                                                 \
	X(EACH_PROCESS, "SELECT id,data FROM process WHERE id>?1 ORDER BY id LIMIT ?2")        \
	X(EACH_AGED, "SELECT id,data FROM aged WHERE id>?1 ORDER BY id LIMIT ?2")              \
	X(EACH_JOURNAL, "SELECT id,data FROM journal WHERE id>?1 ORDER BY id LIMIT ?2")        \
	X(EACH_BLOB, "SELECT b.id,d.data FROM blob b CROSS JOIN data d ON d.id=b.id"           \
		     " WHERE b.id>?1 AND one_of(b.process,?3) AND b.t1>=?4 AND b.t0<=?5"       \
		     " ORDER BY b.id LIMIT ?2")                                                \
	X(ONE_BLOB, "SELECT id,data FROM data WHERE id=?1")                                    \
	X(EACH_EXTENT, "SELECT id,process,events,t0,t1 FROM blob WHERE id>?1"                  \
		       " ORDER BY id LIMIT ?2")                                                \
	X(EACH_WIN, "SELECT id,data FROM win WHERE id>?1 AND one_of(process,?3)"               \
		    " AND t0>=?4 AND t0<=?5 ORDER BY id LIMIT ?2")                             \
	X(EACH_STEP, "SELECT id,data FROM step WHERE id>?1 AND one_of(process,?3)"             \
		     " AND t0<=?5 ORDER BY id LIMIT ?2")                                       \
	X(EACH_NODE, "SELECT id,data FROM node WHERE id>?1 ORDER BY id LIMIT ?2")              \
	X(PUT_SERIES, "INSERT OR REPLACE INTO series VALUES(?1,?2)")                           \
	X(PUT_TELE, "INSERT INTO tele VALUES(?1,?3,?4,?5,?6,?2)")                              \
	X(CUT_TAILS, "DELETE FROM tele WHERE id>=?1 AND id<?2 AND source=?3")                  \
	X(OLDEST_TELE, "SELECT id,source,length(data),wall FROM tele ORDER BY id LIMIT 1")     \
	X(CUT_TELE, "DELETE FROM tele WHERE id=?1")                                            \
	X(TELE_BYTES, "SELECT ifnull(sum(length(data)),0) FROM tele")                          \
	X(EACH_SERIES, "SELECT id,data FROM series WHERE id>?1 ORDER BY id LIMIT ?2")          \
	X(EACH_TELE, "SELECT id,data FROM tele WHERE id>?1 AND t1>=?4 AND t0<=?5"              \
		     " ORDER BY id LIMIT ?2")                                                  \
	X(LAST_TELE, "SELECT ifnull(max(id),0) FROM tele")                                     \
	X(LAST_ENTRY, "SELECT ifnull(max(id),0) FROM journal")                                 \
	X(LAST_STEP, "SELECT ifnull(max(id),0) FROM step")                                     \
	X(LAST_WIN, "SELECT ifnull(max(id),0) FROM win")

enum statement {
#define X(NAME, sql) ST_##NAME,
	STATEMENTS(X)
#undef X
		ST_COUNT,
};

/* The state of a process in memory. */
struct known_process {
	uint32_t id;
	uint32_t connected;
	int64_t wall_offset_ns;
	uint64_t overwritten; /* records */
};

/* Protected events: others are overwritten first. */
struct kept_events {
	uint32_t process;
	uint64_t from_ns, to_ns;
};

struct store {
	const struct store_ops *ops; /* NULL: a file; else only the path below is used */
	void *self;                  /* owned: of ops */
	char *path;                  /* owned */
	sqlite3 *db;                 /* owned */
	int lock_fd;                 /* owned; -1 for a reader */
	bool writer;
	bool alone; /* reader of a file without a log: opened as immutable */
	uint32_t version;
	bool old;        /* of version 1: without the tables step, node, series and tele */
	bool has_stacks; /* it has a table of stacks: from version 4 on */
	struct store_opts opts;

	pthread_mutex_t db_lock; /* guards all until mem_lock */
	sqlite3_stmt *stmt[ST_COUNT];
	bool in_txn;
	struct rows sent; /* small rows written in the open transaction */
	struct rows scratch;
	struct window_codec *win;
	struct steps_codec *steps;
	struct block_codec *block;
	uint64_t next_blob, next_win, next_step, next_tele;
	uint64_t tele_bytes; /* of the blocks; a rollback is accounted for at the next start */
	struct {
		uint32_t source;
		uint64_t first; /* number of the first block since the last whole one */
	} tail[STORE_TAILS];
	uint32_t wal_frames; /* in the log since it was last folded back */
	int fold_err;        /* -EIO: the disk failed there; nothing is written until it succeeds */
	uint64_t bytes;
	uint64_t oldest_wall; /* of the event blobs, wall ns; 0: ask the file */
	uint64_t now_ns;      /* of the last commit */
	uint32_t forget_at;   /* known processes at which to look for some to forget */
	char **text;          /* owned: names by id, as far as they were asked for */
	size_t texts;

	pthread_mutex_t mem_lock; /* guards the rest */
	uint64_t seed;
	/*
	 * Hash: id, and of tracks the process << 32. The hash stands for the key: it is seeded at
	 * random each time a store is opened, so nobody can make two keys meet on purpose, and by
	 * chance it takes billions of them.
	 */
	struct map names, geos, stacks, tracks, processes, series;
	uint32_t next_name, next_geo, next_stack, next_track, next_process, next_series;
	uint64_t next_journal;
	struct known_process *known; /* owned; sorted by id */
	uint32_t known_n;
	int64_t wall_offset_ns;
	struct kept_events kept[STORE_KEPT]; /* the oldest first */
	uint32_t kept_n;
	struct rows pending; /* small rows that wait for the next commit */
};

/* --- store.c --- */

/* -errno for an SQLite result. */
int store_errno(struct store *st, int rc);
/* Says why (may be NULL) and returns err. */
int store_because(struct store_why *why, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Times are compared by SQLite as signed numbers. */
static inline int64_t store_ns(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

/* The statement, reset; NULL: store_errno(st, SQLITE_ERROR) says why not. */
sqlite3_stmt *store_stmt(struct store *st, enum statement which);
/* Steps a statement that gives no rows. 0 or -errno. */
int store_run(struct store *st, sqlite3_stmt *s);
/* The first column of its only row, or -errno. */
int64_t store_number(struct store *st, enum statement which);

/* The log is folded back when it is this long; the cap leaves room for four of them. */
uint64_t store_wal_limit(const struct store *st);
int store_fold(struct store *st);
/* store_commit() for callers that hold the db lock or are alone. */
int store_commit_locked(struct store *st, uint64_t now_ns);

/* --- backend.c --- */

/* The function that opens names of that kind; NULL: they are files. */
store_open_fn *store_opener(const char *name);
/* For a store elsewhere: the operation's result, or 0 if it has no such operation. */
#define STORE_ELSEWHERE(st, op, ...)                                                       \
	do {                                                                               \
		if ((st)->ops)                                                             \
			return (st)->ops->op ? (st)->ops->op((st)->self, __VA_ARGS__) : 0; \
	} while (0)

/* --- open.c --- */

struct store *store_new(const char *path);

/* Opens the connection of a reader. */
int store_connect_ro(struct store *st);

/* --- probe.c --- */

/*
 * Looks at a file without SQLite and without changing anything. 0: an aon store of a version
 * that we read; else as in store.h. `wal` (may be NULL) is set when it has a log.
 */
int store_probe(const char *path, bool *wal, struct store_why *why);

/* --- evict.c --- */

/* At opening: shrinks a file to a cap that was lowered. */
int store_shrink(struct store *st);
/* Drops the oldest until `bytes` more fit the cap. -ENOSPC: nothing is left to drop. */
int store_make_room(struct store *st, size_t bytes);
/* Drops the oldest telemetry while it has more than its share of the cap. */
int store_drop_telemetry(struct store *st);
/* Drops event blobs that are too old. */
int store_drop_aged(struct store *st, uint64_t now_ns);
/* Forgets processes of which nothing is left, when there are too many. */
int store_forget(struct store *st);

/* --- write.c --- */

int store_begin(struct store *st);
/* A sealed row to its table: by seal, not an event blob. */
int store_put_row(struct store *st, const uint8_t *row, size_t len);
/* Writes the small rows that wait. */
int store_flush(struct store *st);
/* After a rollback: what store_flush() wrote waits again. */
void store_unsend(struct store *st);
/* With mem_lock held. NULL: not known, or no memory to add it. */
struct known_process *store_known(struct store *st, uint32_t process, bool add);
uint64_t store_identity(const struct store *st, const struct process *p);
uint64_t store_track_hash(const struct store *st, const struct track *l);
uint64_t store_series_hash(const struct store *st, const struct series *s);
uint64_t store_geo_hash(const struct store *st, const struct geo *g);
uint64_t store_stack_hash(const struct store *st, const struct stack_frame *frame, uint32_t n);

/* --- decode.c --- */

struct blob_dec;

/* The contents of a row of any type. Its pointers belong to the codecs, until the next row. */
struct store_row {
	struct seal s;
	union {
		struct event_columns events;
		struct window window;
		struct store_steps steps;
		struct telemetry_block block;
		char name[ROW_NAME_MAX + 1]; /* of s.len bytes, and a NUL */
		struct geo geo;
		struct stack_row stack;
		struct track track;
		struct process process;
		struct journal_entry entry; /* also of SEAL_JOURNAL */
		struct node_ident node;
		struct series series;
	};
};

/* Zero at first; each is made when a row needs it. */
struct row_codecs {
	struct blob_dec *events;
	struct window_codec *window;
	struct steps_codec *steps;
	struct block_codec *block;
	char old[ENTRY_OLD];
	struct stack_frame frame[STACK_FRAMES_MAX];
};
void row_codecs_fini(struct row_codecs *c);
/* Untrusted bytes: as seal_check(), and -EBADMSG where the body is not what the seal says. */
int row_decode(struct row_codecs *c, const uint8_t *row, size_t len, struct store_row *out);

/* --- read.c --- */

/* The first row of a statement: n numbers, 0 where there is no row. `id`: its first parameter. */
int store_numbers(struct store *st, enum statement which, int64_t id, int64_t *out, int n);

/* A writer came to a file that was opened as immutable: reopens it. */
int store_reopen(struct store *st);

/* Walks the rows of a statement of the EACH_ kind in short transactions: their bytes, or what is in
 * them, where each must be a whole row of that type. */
struct store_walk {
	enum statement which;
	enum seal_type type;
	struct store_filter f;
	uint64_t after; /* rows with a higher number */
};
typedef int store_bytes_fn(void *arg, uint64_t id, const uint8_t *row, size_t len);
int store_walk_bytes(struct store *st, const struct store_walk *w, store_bytes_fn *fn, void *arg);
typedef int store_row_fn(void *arg, const struct store_row *r);
int store_walk(struct store *st, const struct store_walk *w, store_row_fn *fn, void *arg);

/* Some rows of such a walk, copied out in one short transaction: those after the id `after`. */
#define STORE_BATCH 64
struct store_batch {
	struct rows bytes; /* owned: rows_fini() */
	uint64_t id[STORE_BATCH];
	size_t end[STORE_BATCH]; /* of each row, in bytes */
	int n;
	bool last; /* there are no more */
};
int store_batch_get(struct store *st, const struct store_walk *w, uint64_t after,
		    struct store_batch *b);

/* --- load.c --- */

/* Fills the tables in memory from the file. For a writer. */
int store_load(struct store *st);
/* Loads only how much was overwritten: for a reader, and after a rollback. */
int store_load_aged(struct store *st);
