/* SPDX-License-Identifier: Apache-2.0 */
/* spool_state.h - a spool's state beside its batches: a small file, replaced as a whole. */
#pragma once

#include "ship/spool/spool.h"

#define STATE_MAGIC   0x734e4f41u /* "AONs" */
#define STATE_VERSION 1u
#define STATE_GONE    64u
#define STATE_TABLES  16u /* room for tables and reasons to come */
#define STATE_REASONS 8u

_Static_assert(SHIP_TABLES <= STATE_TABLES && SPOOL_REASONS <= STATE_REASONS, "a state has room");

struct state {
	uint32_t magic, version;
	uint64_t sum;           /* of all of the file, this as 0; in every version */
	uint64_t src, identity; /* identity: hash of cluster and host */
	uint64_t next;  /* number of the next batch: files from it on were never committed */
	uint64_t tried; /* up to this number, batches may have been sent: they are not dropped */
	uint64_t sent, sent_rows, sent_bytes, acked;
	/* Batches whose files must go, even after a crash: the same state has counted them. */
	uint64_t gone[STATE_GONE];
	uint32_t gones, cursor_len;
	/* All that was dropped, and the part reported by batches that the same state committed. */
	struct spool_drop drop[STATE_TABLES][STATE_REASONS];
	struct spool_drop told[STATE_TABLES][STATE_REASONS];
};

/* -ENOENT; -EBADMSG: damaged; -EPROTO: a newer version. *cursor is the caller's to free. */
int state_read(int dir, struct state *st, void **cursor);
/* *doubt: it failed, and which state a crash would leave is not known. */
int state_write(int dir, struct state *st, const void *cursor, bool *doubt);
