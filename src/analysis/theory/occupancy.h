/* SPDX-License-Identifier: Apache-2.0 */
/*
 * occupancy.h - how many blocks of a kernel fit an SM, what limits them, and how a grid falls
 * into waves. The rules are those of NVIDIA's occupancy calculator.
 */
#pragma once

#include <stdint.h>

#include "theory/gpu.h"

struct launch {
	uint32_t grid[3], block[3];
	uint32_t regs;   /* of a thread; 0: not known, taken as no limit */
	uint32_t shared; /* bytes of a block, static and dynamic */
};

struct occupancy {
	uint32_t blocks_per_sm, warps_per_sm;
	double fraction;     /* of the warps that an SM can hold */
	const char *limiter; /* "warps" "blocks" "registers" "shared memory" */
	double waves;        /* blocks of the grid, over what all SMs hold at once */
	double tail;         /* how full the last wave is: above 0, up to 1 */
};

/*
 * 0, and *out; it is untouched else:
 *   -EINVAL   a grid or block without threads
 *   -E2BIG    such a block does not fit the device: it cannot have been launched
 *   -ENOTSUP  the device's rules are not known: AMD, and capabilities that are not in the table
 */
int occupancy(struct occupancy *out, const struct gpu *g, const struct launch *l);
