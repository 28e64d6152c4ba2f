/* SPDX-License-Identifier: Apache-2.0 */
/* batch_store_priv.h - shared by the files behind batch_store.h: SQLite and its statements. */
#pragma once

#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>

#include "relay/batch_store.h"

#define AFTER(rc) ((rc) == SQLITE_ROW || (rc) == SQLITE_DONE || (rc) == SQLITE_OK)

/* clang-format off */
/* Every statement, prepared once. */
#define STATEMENTS(X)                                                                              \
	X(BEGIN,   "BEGIN IMMEDIATE")                                                              \
	X(COMMIT,  "COMMIT")                                                                       \
	X(SRC,     "SELECT last,node FROM src WHERE src=?")                                        \
	X(SRC_SET, "INSERT INTO src VALUES(?,?,?,?) ON CONFLICT(src) DO UPDATE SET last=excluded.last,seen=excluded.seen") \
	X(BATCH,   "INSERT INTO batch(src,seq,tbl,ver,day,shard,rows,bytes,at) VALUES(?,?,?,?,?,?,?,?,?)") \
	X(BODY,    "INSERT INTO body VALUES(?,?)")                                                 \
	X(DUE,     "SELECT tbl,ver,day,sum(rows),sum(bytes),min(at) FROM batch WHERE ins=0 AND shard=? GROUP BY tbl,ver,day") \
	X(OPEN,    "SELECT id,rows,bytes FROM batch WHERE ins=0 AND shard=? AND tbl=? AND ver=? AND day=? ORDER BY id") \
	X(INS,     "INSERT INTO ins(tbl,ver,day,shard,rows,bytes,n,at) VALUES(?,?,?,?,?,?,?,?)")         \
	X(FREEZE,  "UPDATE batch SET ins=? WHERE ins=0 AND shard=? AND tbl=? AND ver=? AND day=? AND id<=?") \
	X(NEXT,    "SELECT id,tbl,ver,rows,bytes,n,at FROM ins WHERE shard=? AND why IS NULL AND instr(?,','||tbl||',')=0 ORDER BY id LIMIT 1") \
	X(READ,    "SELECT wire FROM batch JOIN body USING(id) WHERE ins=? ORDER BY id")           \
	X(GONE,    "DELETE FROM body WHERE id IN (SELECT id FROM batch WHERE ins=?)")              \
	X(GONE2,   "DELETE FROM batch WHERE ins=?")                                                \
	X(GONE3,   "DELETE FROM ins WHERE id=?")                                                   \
	X(COUNT,   "SELECT n FROM ins WHERE id=?")                                                 \
	X(PARTS,   "SELECT id,tbl,ver,day,shard,rows,bytes,at FROM batch WHERE ins=? ORDER BY id")     \
	X(TO_INS,  "UPDATE batch SET ins=? WHERE id=?")                                            \
	X(ASIDE,   "UPDATE ins SET why=? WHERE id=?")                                              \
	X(STAT,    "SELECT count(*),total(rows),total(bytes),min(at) FROM batch WHERE ins=0")      \
	X(STAT2,   "SELECT count(*),total(rows),total(bytes),min(at) FROM ins WHERE why IS NULL")  \
	X(STAT3,   "SELECT count(*),total(rows) FROM ins WHERE why IS NOT NULL")                   \
	X(STAT4,   "SELECT count(*) FROM src")                                                     \
	X(STAT5,   "SELECT coalesce(max(shard)+1,0) FROM batch")                                   \
	X(INSERTS, "SELECT coalesce(max(seq),0) FROM sqlite_sequence WHERE name='ins'")            \
	X(FORGET,  "DELETE FROM src WHERE seen<?")                                                 \
	X(PAGES,   "PRAGMA page_count")                                                            \
	X(FREE,    "PRAGMA freelist_count")
/* clang-format on */

enum st {
#define X(ID, text) ST_##ID,
	STATEMENTS(X)
#undef X
		STS
};

struct batch_store {
	pthread_mutex_t lock; /* guards db and all statements */
	sqlite3 *db;
	sqlite3_stmt *st[STS];
	char dir[PATH_MAX];
	uint64_t id, max_bytes;
};

/* batch_store.c */
int batch_store_errno(int rc); /* of SQLite */
uint64_t batch_store_column(sqlite3_stmt *s, int i);

/* The arguments of a statement, borrowed until it is used again. */
struct batch_store_arg {
	enum { HOLD_END, HOLD_NUMBER, HOLD_TEXT, HOLD_BYTES } kind;
	uint64_t number; /* for bytes: their length */
	const void *at;
};
#define N(v)                         \
	{                            \
		HOLD_NUMBER, v, NULL \
	}
#define T(text)                    \
	{                          \
		HOLD_TEXT, 0, text \
	}
#define B(at, n)                  \
	{                         \
		HOLD_BYTES, n, at \
	}
#define WITH(...) ((const struct batch_store_arg[]){ __VA_ARGS__, { HOLD_END, 0, NULL } })
/* Binds the arguments; ready for sqlite3_step(). args may be NULL. */
sqlite3_stmt *batch_store_use(struct batch_store *h, enum st which,
			      const struct batch_store_arg *args);
/* Runs a statement that returns no rows. */
int batch_store_run(struct batch_store *h, enum st which, const struct batch_store_arg *args);
/* Takes the lock and begins a transaction. */
int batch_store_begin(struct batch_store *h);
int batch_store_end(struct batch_store *h, int err);
