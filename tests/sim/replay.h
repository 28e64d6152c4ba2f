/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.h - a recorded trace in the form that the stand-in replays; replay.py writes it.
 *
 * Little endian: a head, `ops` rows in the order of their launch, `text` bytes of names, each
 * with its zero. Times are nanoseconds from the first of the trace.
 */
#ifndef SIM_REPLAY_H
#define SIM_REPLAY_H

#include <stdint.h>

#define REPLAY_MAGIC "simrepl1"

struct replay_head {
	char magic[8];
	uint32_t ops, text;
	uint64_t span_ns;
};

struct replay_op {
	uint32_t
		kind; /* CUPTI's: KERNEL 10, MEMCPY 1, MEMCPY2 22, MEMSET 2, SYNC 38, RUNTIME 5, DRIVER 4 */
	uint32_t corr, device, context, stream, graph;
	uint64_t node;
	uint64_t launch, start, end;
	uint64_t bytes;
	uint32_t name; /* offset in the text */
	uint32_t grid[3], block[3];
	uint32_t regs, smem_static, smem_dynamic;
	uint32_t value;    /* memset; sync: type; API: callback id; copy: direction */
	uint32_t src, dst; /* copy: memory kinds; sync: event, - ; API: thread, result */
	uint32_t pad;
};

#endif /* SIM_REPLAY_H */
