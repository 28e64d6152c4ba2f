/* SPDX-License-Identifier: Apache-2.0 */
/* spool_priv.h - a spool's internals. */
#pragma once

#include "ship/spool/spool_state.h"

#define SPOOL_NAME  40u /* of a file: twenty digits and .batch */
#define SPOOL_ASIDE "aside"

struct entry {
	uint64_t seq, made_ns;
	uint32_t bytes, rows; /* bytes: of the file */
	uint8_t table;
	bool gone; /* its file goes with the next flush, or has */
};

struct spool {
	int dir, lock; /* owned */
	char cluster[128], host[128];
	uint64_t max_bytes, max_age_ns;
	struct state st;
	uint64_t tried;      /* when it was opened: up to this number batches may have been sent */
	void *cursor;        /* owned; of the last commit */
	struct entry *entry; /* owned; by number. From `kept` on they are not committed */
	size_t entries, kept, cap;
	uint64_t bytes;                            /* of all that is not gone */
	uint64_t lost[SHIP_TABLES][SPOOL_REASONS]; /* rows, with the next commit */
	bool doubt; /* a commit failed half way: the disk may have it */
	bool news;  /* the state has something that the disk does not */
	void *data; /* owned; of the last spool_get() */
	struct rowbin packed;
};

char *spool_name(char out[SPOOL_NAME], uint64_t seq);
/* The number of a file of a batch; 0: it is none. */
uint64_t spool_number(const char *name);
struct entry *spool_find(struct spool *s, uint64_t seq);
int spool_add(struct spool *s, const struct entry *e);
/* Marks it: the next flush makes it so. */
int spool_gone(struct spool *s, struct entry *e);
int spool_give_up(struct spool *s, struct entry *e, enum spool_reason why);
/* Makes room for `need` bytes. False: there is none. */
bool spool_room(struct spool *s, uint64_t need);
