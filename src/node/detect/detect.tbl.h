/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detect.tbl.h - every alarm that aond may raise by itself, once.
 *
 *	ALARM(ID, seconds of silence after one)
 *
 * Each is an entry of the journal of the same ID (model/entry.tbl.h), which has its word and its fields.
 */
/* clang-format off */
ALARM(HANG,        60)  /* no progress for five steps and five seconds: no step, launch or collective; longer while a checkpoint is written */
ALARM(HANG_OVER,   0)   /* the program makes progress again */
ALARM(HANG_STACKS, 0)   /* stacks of the ranks of a hang; equal stacks are shown once */
ALARM(STEP_SLOWER, 60)  /* steps take at least a tenth longer than they used to */
ALARM(STEP_FASTER, 60)  /* steps are at least a tenth shorter: usually, an earlier slowdown is over */
ALARM(THROUGHPUT,  300) /* at least a tenth fewer steps are completed: some are slow now and then, or time is lost between them */
ALARM(STRAGGLER,   300) /* one rank of the node comes late to collectives, and the others wait for it */
ALARM(KERNEL,      300) /* a kernel takes at least a fifth longer than it used to */
ALARM(GPU_IDLE,    300) /* GPUs are busy half as much as before, or less */
ALARM(MEMORY,      600) /* the memory allocated after a step keeps growing */
ALARM(XID,         300) /* the driver of a GPU reports a fault (Xid) */
ALARM(ECC,         300) /* memory errors of a GPU or of the node */
/* clang-format on */
#undef ALARM
