/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kind.tbl.h - what time on a path is, once.
 *
 *	SIM_KIND(NAME, "word", "for people")
 */
/* clang-format off */
SIM_KIND(HOST,    "host",    "the program, between calls of the runtime")
SIM_KIND(CALL,    "call",    "in calls of the runtime")
SIM_KIND(LAUNCH,  "launch",  "from a launch to the start of its work")
SIM_KIND(COMPUTE, "compute", "kernels")
SIM_KIND(COMM,    "comm",    "communication")
SIM_KIND(COPY,    "copy",    "copies and memsets")
SIM_KIND(ORDER,   "order",   "between two pieces of work of a stream")
SIM_KIND(UNKNOWN, "unknown", "a stream stood still, and nothing that was seen tells why")
SIM_KIND(DEPEND,  "depend",  "waiting for another stream or rank")
SIM_KIND(SYNC,    "sync",    "from the end of work to the return of the call that waits for it")
SIM_KIND(RELEASE, "release", "from one thread to the one it wakes")
/* clang-format on */
#undef SIM_KIND
