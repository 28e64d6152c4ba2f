/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.h - blocks of memory that torch's allocators make and free, counted by chance in the table of box.h.
 *
 * A block of BLOCK_INTERVAL bytes or more is counted. A smaller one is counted with a probability of its size over
 * BLOCK_INTERVAL, and then as BLOCK_INTERVAL bytes: the sums are right on average, and most small blocks cost a
 * random number. What was counted is kept by address, in sets of eight without a lock: a block has one owner at a
 * time, which allocates, then frees. A set that is full drops the block, and counts it as dropped.
 *
 * All state is in one mapping that fork() clears: a child begins with nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/memory.h"

#define BLOCK_INTERVAL (256u << 10)

/* exact: every block is counted as what it is. 0, or -errno. */
int block_start(bool exact);
bool block_on(void);

/* The bytes that it counts for; 0: none. `site` is asked for of those that count. */
typedef uint32_t block_site_fn(struct aon_memory *m, enum aon_memory_space space, const void *at);
uint64_t block_made(enum aon_memory_space space, const void *at, size_t bytes, block_site_fn *site);
uint64_t block_freed(const void *at);
void block_move(const void *at, uint32_t site); /* if it counts and is still there */
/* The table now: the shared one, or the process's own until there is one. */
struct aon_memory *block_table(void);
/* Rises where the table begins anew, in a child: sites of before are not in it. */
uint32_t block_generation(void);
