/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_store.h - the batches that a relay acknowledged, and the inserts that they became.
 *
 *	batch --commit--> open --freeze--> insert N --200--> gone
 *	                                     |  refused: split into its batches, each an insert
 *	                                     +--> aside, with its reason
 *
 * One SQLite file. A commit stores batches and the last number of their sources in one transaction,
 * and returns when it is on disk; so acknowledged batches are there after any crash, exactly once.
 * An insert is a list of whole batches that never changes: its bytes are the same however often it
 * is sent, and its number is never used again. It belongs to one table, one version of its columns,
 * one day, so that it is one part, and one shard.
 *
 * A source numbers its batches 1, 2, 3..., and sends them in that order. Batches that it dropped
 * leave a gap, which is accepted once the source says that it has nothing older (`first`).
 *
 * All calls may come from any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOLD_TABLE 16u /* bytes of a table's name */

struct batch_store;

struct arrival {
	uint64_t src, seq;
	uint64_t first;    /* the oldest batch that its sender still has */
	const char *table; /* borrowed: name of the table */
	uint32_t schema, rows, shard;
	uint32_t day;     /* of all its rows, so that they go into one partition */
	uint64_t bytes;   /* size as RowBinary */
	const char *node; /* borrowed: the sender's name in its certificate */
	const void *wire; /* borrowed: the bytes as received */
	size_t len;
	/* Filled by batch_store_commit(): */
	/* 0; -ESTALE: an earlier batch is missing; -EPERM: the source belongs to another node */
	int result;
	bool repeated; /* it had been stored before */
	uint64_t last; /* all batches of the source up to this number are durable */
};

struct insert {
	uint64_t id;
	char table[HOLD_TABLE];
	uint32_t schema, rows, shard, day;
	uint64_t bytes; /* size as RowBinary */
	uint32_t batches;
	uint64_t at_ns; /* when its oldest batch arrived */
};

struct freeze_rules {
	uint64_t rows, rows_max;   /* an insert is due from `rows` on and has at most rows_max */
	uint64_t bytes, bytes_max; /* the same in bytes of RowBinary */
	uint64_t age_ns;           /* an insert is due when its oldest batch has this age */
};

struct batch_store_stat {
	uint64_t open_batches, open_rows, open_bytes;
	uint64_t inserts, insert_rows, insert_bytes;
	uint64_t aside, aside_rows;
	uint64_t disk_bytes; /* pages in use */
	uint64_t oldest_ns;  /* arrival of the oldest batch that was not sent; 0: none */
	uint64_t sources;
	uint64_t shards; /* highest shard in use, + 1 */
};

/* Opens or makes DIR/hold.db. -errno; `why` then says what is wrong. */
int batch_store_open(struct batch_store **out, const char *dir, uint64_t max_bytes, char why[256]);
void batch_store_close(struct batch_store *h); /* NULL is allowed */

uint64_t batch_store_id(const struct batch_store *h); /* id of this relay's file */
uint64_t batch_store_inserts(struct batch_store *h);  /* the highest insert number so far */

/*
 * Stores them in one transaction. 0: each has its result. -ENOSPC: disk or quota is full, and none
 * was stored. Any other disk error ends the process; the next start reads the file again.
 */
int batch_store_commit(struct batch_store *h, struct arrival *const *a, size_t n, uint64_t now_ns);

/*
 * Freezes the inserts of a shard that are due (with `all`, the others, too). Number of inserts, or
 * -errno.
 */
int batch_store_freeze(struct batch_store *h, uint32_t shard, const struct freeze_rules *r,
		       uint64_t now_ns, bool all);

/*
 * The oldest insert of the shard that is not set aside and not for a table in not_tables
 * (",step,node,"); -ENOENT: none.
 */
int batch_store_next(struct batch_store *h, uint32_t shard, const char *not_tables,
		     struct insert *out);

/* Calls `fn` with its batches as received, in order. A result other than 0 ends it. */
typedef int batch_store_fn(void *arg, const void *wire, size_t len);
int batch_store_read(struct batch_store *h, uint64_t insert, batch_store_fn *fn, void *arg);

int batch_store_done(struct batch_store *h, uint64_t insert);
/*
 * ClickHouse refused it: each of its batches becomes an insert; a single batch is set aside, and
 * *aside says so.
 */
int batch_store_refused(struct batch_store *h, uint64_t insert, const char *why, bool *aside);

int batch_store_stat(struct batch_store *h, struct batch_store_stat *out);
/* Forgets sources that have been silent since `before_ns`. */
int batch_store_forget(struct batch_store *h, uint64_t before_ns);
