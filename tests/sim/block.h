/* SPDX-License-Identifier: Apache-2.0 */
/* block.h - what an address belongs to. */
#ifndef SIM_BLOCK_H
#define SIM_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum { MEM_PAGEABLE = 1, MEM_PINNED = 2, MEM_DEVICE = 3, MEM_MANAGED = 5 }; /* CUPTI's numbers */

struct block {
	struct block *next;
	uint64_t at, bytes;
	uint32_t memory;
	struct sim_device *dev;         /* borrowed */
	struct sim_pool *pool;          /* borrowed; NULL: not from one */
	uint64_t pool_bytes, pool_used; /* when it was last counted */
};

bool sim_block_of(uint64_t at, struct block *out);

#endif /* SIM_BLOCK_H */
