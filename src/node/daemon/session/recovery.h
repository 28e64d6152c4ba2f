/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recovery.h - what an earlier aond left behind: rows of processes that are still alive and may
 * offer their pools, pools in files whose processes have ended, and rows of processes that are
 * gone.
 */
#pragma once

#include <stdint.h>

#include "model/process.h"

struct store;
struct plant;

struct recovery_row {
	struct recovery_row *next;
	struct process row;
};

struct recovery {
	struct recovery_row *first;
	uint64_t boot_id[2];
};

/* Before the writer has the store. */
int recovery_load(struct recovery *l, struct store *st, const uint64_t boot_id[2]);
void recovery_free(struct recovery *l);

/* The row of that pool, taken out of the list and the caller's to free(); NULL: none. */
struct recovery_row *recovery_take(struct recovery *l, const uint64_t pool_id[2]);

/* Closes the rows of those that are gone: what was in flight is lost. */
void recovery_sweep(struct recovery *l, struct plant *pl);

/* Reads the pools in `dir` whose processes have ended, then unlinks them. */
void recovery_pools(struct recovery *l, struct plant *pl, const char *dir, uint32_t rows_max);
/* The name of a pool's file in dir. */
void recovery_pool_unlink(const char *dir, const uint64_t pool_id[2]);
