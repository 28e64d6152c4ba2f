/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.tbl.h - hardware that one tool can have at a time, once.
 *
 *	LEASE(NAME, "word", of, "source", "what it is")
 *
 * of      PROCESS: there is one in each process; NODE: one on the node
 * source  of the note of a probe of ours that says whether it has it (aon_note()); "": none has
 */
/* clang-format off */
LEASE(CUPTI, "cupti", PROCESS, "cuda",     "a process's subscription to CUPTI: nsys, ncu, Kineto")
LEASE(PM,    "pm",    NODE,    "counters", "counters of GPUs: PM sampling, ncu")
LEASE(DCGM,  "dcgm",  NODE,    "",         "DCGM's lock for profiling: excludes pm before Hopper")
/* clang-format on */
#undef LEASE
