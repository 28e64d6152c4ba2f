/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kind.tbl.h - what time on a path is, once.
 *
 *	SIM_KIND(NAME, "word", "for people")
 */
/* clang-format off */
SIM_KIND(HOST,    "host",    "CPU code outside CUDA / OpenCL calls")
SIM_KIND(CALL,    "call",    "in CUDA / OpenCL calls")
SIM_KIND(LAUNCH,  "launch",  "from a launch to the start of its work")
SIM_KIND(COMPUTE, "compute", "kernels")
SIM_KIND(COMM,    "comm",    "communication")
SIM_KIND(COPY,    "copy",    "copies and memsets")
SIM_KIND(ORDER,   "order",   "between two pieces of work on a stream")
SIM_KIND(UNKNOWN, "unknown", "GPU idle, cause unknown")
SIM_KIND(DEPEND,  "depend",  "waiting for another stream or rank")
SIM_KIND(SYNC,    "sync",    "from the end of work to the return of the call that waits for it")
SIM_KIND(RELEASE, "release", "from one thread to the thread that it wakes")
/* clang-format on */
#undef SIM_KIND
