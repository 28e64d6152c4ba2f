/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack.h - packs rows into batches of a spool: one for each table, route and day, and another when
 * one is full. Several batches are open at a time; names and processes are put before the rows that
 * refer to them.
 */
#pragma once

#include "ship/spool/spool.h"

#define PACK_OPEN  24u
#define PACK_BYTES (1u << 20) /* of rows, unpacked */

struct pack {
	struct rowbin rows;
	uint32_t *start; /* owned; where each row begins: its seq is known when it is put */
	uint32_t n;
	size_t cap;
	enum ship_table_id table;
	uint64_t route, used;
	uint16_t day;
};

struct packs {
	struct spool *spool; /* borrowed */
	const char *cluster; /* borrowed; below 128 bytes */
	uint64_t now_ns, uses;
	uint64_t rows; /* that were put */
	struct pack pack[PACK_OPEN];
	int err; /* the first: nothing is added after it */
};

/* A row of that table (a struct ship_...), whose cluster, src and seq are filled in. */
void packs_add(struct packs *p, enum ship_table_id table, uint64_t route, void *row);
/* Puts what is left: 0 or the first error. */
int packs_end(struct packs *p);
void packs_fini(struct packs *p);
