/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantity.tbl.h - what a trigger can be about, of one process.
 *
 *	QUANTITY(ID, "word", "what it is")
 *
 * STEP_MS is new with every step, the others every second; those from BUSY to EXPOSED are of a second
 * that ended two seconds ago, because activities of a GPU come late.
 */
/* clang-format off */
QUANTITY(STEP_MS,  "step_ms",      "time of a step, in ms")
QUANTITY(STEPS_S,  "steps_s",      "steps a second")
QUANTITY(BUSY,     "gpu_busy",     "time in which its GPUs worked, in percent")
QUANTITY(COMM,     "comm",         "time in collectives, in percent")
QUANTITY(EXPOSED,  "exposed_comm", "time in collectives in which nothing else ran on a GPU, in percent")
QUANTITY(EVENTS_S, "events_s",     "records a second")
QUANTITY(LOST_S,   "lost_s",       "records lost a second")
QUANTITY(MEMORY,   "memory_mb",    "what PyTorch had allocated after the last step, in MB")
QUANTITY(ALARMS,   "alarms",       "its alarms in the last second")
QUANTITY(QUIET,    "quiet_s",      "time since its last record, in s")
QUANTITY(COST,     "overhead",     "what its records cost it, in percent of its time")
/* clang-format on */
#undef QUANTITY
