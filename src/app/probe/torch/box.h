/* SPDX-License-Identifier: Apache-2.0 */
/*
 * box.h - the table of memory's holders (abi/memory.h): adding, taking off, and what a step leaves. Pure: a table in.
 *
 * Everything but box_step() may be called by any thread at any time. Nothing waits: where two threads make the same
 * site, one of them leaves.
 */
#pragma once

#include <stdint.h>

#include "abi/memory.h"

void box_init(struct aon_memory *m, uint64_t interval);

/* The site of a part that has no name. */
static inline uint32_t box_fixed(enum aon_memory_space space, enum aon_memory_part part)
{
	return (uint32_t)space * AON_MEMORY_PARTS + (uint32_t)part;
}

/* The site of that name; a fixed one where there is no more room. Numbers in a path become "*". */
uint32_t box_site(struct aon_memory *m, enum aon_memory_space space, enum aon_memory_part part,
		  const char *name);
/* Where in the program's text: the first one stays. */
void box_place(struct aon_memory *m, uint32_t site, const char *place);

void box_add(struct aon_memory *m, uint32_t site, uint64_t bytes);
void box_sub(struct aon_memory *m, uint32_t site, uint64_t bytes);
/* An allocation was refused. */
void box_fail(struct aon_memory *m, enum aon_memory_space space, uint64_t bytes, uint32_t site);
/* Step `number` has ended. One thread at a time. */
void box_step(struct aon_memory *m, uint64_t number);
