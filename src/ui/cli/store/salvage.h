/* SPDX-License-Identifier: Apache-2.0 */
/*
 * salvage.h - recovers a pool that outlived its process and its aond into a store.
 *
 * The file is only read: a private copy is repaired, then drained like a live pool.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

struct salvage {
	uint32_t pid;
	uint64_t bytes, bytes_missing; /* of the file: there, and cut off */
	uint64_t taken;                /* records that an aond took before: they are in its store */
	uint64_t records;              /* found now */
	uint64_t stored;               /* of them, in the new store */
	uint64_t chunks_bad, units_bad; /* 32-byte units that could not be read as records */
	uint64_t app_lost;              /* counted by the process itself, never written */
};

/* Whether the file begins as a pool does. -errno when it cannot be read. */
int salvage_is_pool(const char *path, bool *yes);

/* 0 or -errno: -EPROTO when its head makes no sense. Commits nothing. */
int salvage_pool(struct store *st, const char *path, struct salvage *out);
