/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.h - a store's file and log as bare pages, for salvage: nothing in them is trusted.
 *
 * Knows of SQLite's format what is needed to find rows: leaf pages of tables, overflow
 * chains, the list of free pages, and frames of the log (https://sqlite.org/fileformat2.html).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/priv.h"

static inline uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

enum page_state {
	PAGE_UNKNOWN = 0, /* not (yet) seen to be anything */
	PAGE_FREE,
	PAGE_TREE,  /* of a table, well formed */
	PAGE_CHAIN, /* overflow of some row */
	PAGE_BAD,
};

struct pages {
	int fd, wal_fd; /* owned; wal_fd may be -1 */
	uint32_t count; /* pages are numbered 1..count */
	uint32_t frames_bad;
	uint32_t *frame; /* owned: by page, 1 + the frame of the log that holds it; 0: none */
	uint8_t *state;  /* owned: by page, enum page_state */
};

/* -ENOENT, -EMEDIUMTYPE (empty), -EBUSY (a writer has it), -ENOMEM. Locked against writers. */
int pages_open(struct pages *p, const char *path, struct store_why *why);
void pages_close(struct pages *p);

/* One page as the log has it, or (bare) as the file has it. 0 or -errno. */
int pages_read(const struct pages *p, uint32_t page, bool bare, uint8_t out[STORE_PAGE]);

/* One row: `payload` is SQLite's record, whole. Good until the function returns. */
struct page_row {
	uint64_t id;
	const uint8_t *payload;
	size_t len;
	bool cut; /* the chain broke: `len` bytes were found */
};
typedef int page_row_fn(void *arg, const struct page_row *row);

/*
 * Calls fn() for each row of the leaf page, sets the state of the pages it meets, and uses
 * `buf` for rows that span pages. Returns 0, fn's other result, or -errno.
 */
int pages_rows(struct pages *p, uint32_t page, bool bare, struct rows *buf, page_row_fn *fn,
	       void *arg);

/*
 * Finds the columns of a record. Returns how many; *blob and *blob_len are the last one that
 * is a blob (NULL: none), integers go to num[] (others: 0).
 */
int record_parse(const struct page_row *row, const uint8_t **blob, size_t *blob_len, int64_t *num,
		 int max);
