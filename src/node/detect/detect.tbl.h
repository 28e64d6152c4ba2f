/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detect.tbl.h - every alarm that aond may raise by itself, once.
 *
 *	ALARM(ID, "word", seconds of silence after one, "what it means")
 */
/* clang-format off */
ALARM(HANG,        "hang",          60, "nothing has moved for five steps and five seconds: no step, launch or collective; longer while a checkpoint is written")
ALARM(HANG_OVER,   "hang_over",      0, "it moves again")
ALARM(HANG_STACKS, "hang_stacks",   0, "where the ranks of a hang are; ranks at the same place are listed once")
ALARM(STEP_SLOWER, "step_slower",   60, "steps take at least a tenth longer than they used to")
ALARM(STEP_FASTER, "step_faster",   60, "steps take at least a tenth less: mostly, what had slowed them is over")
ALARM(THROUGHPUT,  "throughput_drop", 300, "fewer steps get done, by a tenth: some are slow now and then, or time is lost between them")
ALARM(STRAGGLER,   "straggler",    300, "one rank of the node comes late to collectives, and the others wait for it")
ALARM(KERNEL,      "kernel_slower", 300, "a kernel takes at least a fifth longer than it used to")
ALARM(GPU_IDLE,    "gpu_idle",     300, "GPUs do half or less of what they used to")
ALARM(MEMORY,      "memory_growth", 600, "what is allocated after a step grows on and on")
ALARM(XID,         "xid",          300, "the driver of a GPU reports a fault (Xid)")
ALARM(ECC,         "ecc",          300, "errors of memory, of a GPU or of the node")
/* clang-format on */
#undef ALARM
