/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.h - batches on disk between their producer and their sender: a folder with a file for each,
 * and `state`.
 *
 * A batch becomes part of the spool with spool_commit(), which stores everything together with the
 * caller's cursor, or nothing: after a crash a source is read again from its last complete commit.
 * Numbers of a spool only rise and are never used twice. A sent batch is marked in `state` before
 * its file is deleted.
 *
 *	write FILE..., sync each, sync the folder          not there yet
 *	write state.new, sync, rename, sync the folder     there, with the cursor
 *	sent; state says so, durably; unlink FILE          gone
 *
 * Above its caps the oldest batches are dropped: events of captures first, names and processes
 * last. Drops are counted, and spool_drops() makes rows that report them, once, through any crash;
 * these wait in one batch, which is never dropped.
 *
 * One process at a time owns a spool (-EBUSY); all others use spool_look(). One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ship/spool/batch.h"

#define SPOOL_CURSOR_MAX (4u << 20)
#define SPOOL_FILES_MAX  100000u
#define SPOOL_ASIDE_MAX  64u /* batches set aside that are kept to be looked at */

enum spool_reason {
#define REASON(ID, word, what) SPOOL_##ID,
#include "ship/reason.tbl.h"
	SPOOL_REASONS
};
extern const char *const spool_reason_word[SPOOL_REASONS];

struct spool;

struct spool_opts {
	const char *dir;                /* made if it is not there, 0700 */
	const char *cluster, *host;     /* a spool of others is begun anew under another src */
	uint64_t max_bytes, max_age_ns; /* 0: no cap */
};

struct spool_why {
	char text[256];
};

/* now_ns: wall time. -EBUSY: another process has it. *why says what, on failure. */
int spool_open(struct spool **out, const struct spool_opts *o, uint64_t now_ns,
	       struct spool_why *why);
void spool_close(struct spool *s); /* NULL is allowed; what was put and not committed is gone */

uint64_t spool_src(const struct spool *s);
/* The cursor of the last commit: borrowed until the next one. */
const void *spool_cursor(const struct spool *s, size_t *len);

/* --- putting in --- */

/* The number that the next spool_put() gives: for the rows, which carry it. */
uint64_t spool_next(const struct spool *s);
/* A batch of `n` rows; they say spool_src() and spool_next(). On failure nothing was put; -ENOSPC: disk full. */
int spool_put(struct spool *s, enum ship_table_id table, const struct rowbin *rows, uint32_t n,
	      uint64_t route, uint64_t now_ns);
int spool_commit(struct spool *s, const void *cursor, size_t len);
/* Takes back what was put since the last commit. On failure only spool_close() helps: what the disk then has is
 * one of both, whole. */
int spool_abort(struct spool *s);

/* Counts rows that never became a batch; reported like other drops. Part of the next commit. */
void spool_lost(struct spool *s, enum ship_table_id table, enum spool_reason why, uint64_t rows);

/* Drops batches above the caps, and puts rows that report all drops, if there were any; commits. */
int spool_drops(struct spool *s, uint64_t now_ns);

/* --- taking out --- */

/*
 * The oldest batch with a number above `after`, to be sent: 1, 0: there is none, -errno. *data
 * (BATCH_HEAD and body) is good until the next call. From here on it is not dropped: it may have
 * arrived, and a reported drop must be real. A damaged file is dropped and counted, and the next
 * one is returned.
 */
int spool_get(struct spool *s, uint64_t after, struct batch_head *h, const void **data);
/* Whether an earlier process may have sent it. */
bool spool_maybe_sent(const struct spool *s, uint64_t seq);
/* It has arrived; on disk that is with the next spool_flush(), at the latest after 64 of them. */
int spool_ack(struct spool *s, uint64_t seq);
int spool_flush(struct spool *s);
/* It will never be taken: to the folder `aside`, with the reason beside it; counted. */
int spool_poison(struct spool *s, uint64_t seq, const char *reason);

/* --- looking --- */

struct spool_stat {
	uint64_t src, next, acked; /* acked: highest number that arrived */
	uint64_t batches, bytes, rows, oldest_ns;
	uint64_t sent, sent_rows, sent_bytes; /* since the spool was made */
	uint64_t aside;
	struct spool_drop {
		uint64_t batches, rows, bytes, first, last;
	} drop[SHIP_TABLES][SPOOL_REASONS]; /* since the spool was made */
};
void spool_stat(const struct spool *s, struct spool_stat *out);
/* The same of a spool that another process has. */
int spool_look(const char *dir, struct spool_stat *out, struct spool_why *why);

/* What was set aside, and why. */
typedef int spool_aside_fn(void *arg, const struct batch_head *h, const char *reason);
int spool_each_aside(const char *dir, spool_aside_fn *fn, void *arg);
