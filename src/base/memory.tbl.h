/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.tbl.h - what an allocator says of itself: names of counters, once for who writes and
 * who reads them.
 *
 *	MEMORY(ID, "name of the counter")
 *
 * On a device's own track, or on a thread for the host's; `b` of the event is the step that had
 * just ended, 0: not told. One that did not change need not be said again.
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
