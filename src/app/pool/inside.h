/* SPDX-License-Identifier: Apache-2.0 */
/* inside.h - the daemon's view of a segment, for the files of src/app/pool only. */
#pragma once

#include <stdatomic.h>

#include "pool/pool.h"

/* A chunk in the order in which its thread filled it: key is the thread and its count. */
struct chunk_order {
	uint64_t key;
	uint32_t chunk;
};

struct pool {
	int fd;                    /* owned */
	uint8_t *map;              /* owned; head.total_bytes */
	char *path;                /* owned; NULL for a memfd */
	bool drained;              /* the last pass left nothing behind */
	struct aon_seg_head head;  /* checked copy: only its constant part is used */
	uint32_t units;            /* that a chunk holds */
	uint64_t next;             /* key where the next pass goes on */
	struct chunk_order *order; /* of a pass, and of a first look: behind done[] */
	_Atomic uint32_t *state;
	_Atomic uint32_t *consumed; /* for the next daemon; never read while we live */
	uint32_t done[];            /* a copy of consumed[] that the process cannot change */
};

static inline struct aon_seg_head *shared(const struct pool *p)
{
	return (struct aon_seg_head *)(void *)p->map;
}

static inline struct aon_chunk_head *chunk(const struct pool *p, uint32_t i)
{
	return (struct aon_chunk_head *)(void *)(p->map + p->head.chunk_off +
						 (size_t)i * p->head.chunk_bytes);
}

static inline _Atomic uint32_t *chunk_n(const struct pool *p, uint32_t i)
{
	return (_Atomic uint32_t *)&chunk(p, i)->n;
}
