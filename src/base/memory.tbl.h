/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.tbl.h - names of an allocator's counters, once for their writers and readers.
 *
 *	MEMORY(ID, "name of the counter")
 *
 * They are on the device's own track, or on a thread for the host. `b` of the event is the step that
 * had just ended, 0: unknown. An unchanged counter need not be repeated.
 */
/* clang-format off */
MEMORY(ALLOCATED, "[memory] allocated")      /* by tensors, bytes */
MEMORY(RESERVED,  "[memory] reserved")       /* from the device, bytes */
MEMORY(PEAK,      "[memory] peak")           /* of allocated: since the start or the program's last reset */
MEMORY(HIGHEST,   "[memory] highest")        /* allocated within the step that ended */
MEMORY(SPLIT,     "[memory] inactive split") /* free parts of blocks in use, bytes */
MEMORY(RETRIES,   "[memory] retries")        /* allocations that had to empty the cache first */
MEMORY(OOMS,      "[memory] out of memory")  /* and those that failed */
/* clang-format on */
#undef MEMORY
