/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account_host.tbl.h - what the time of a stepping thread goes into. Every nanosecond is in one.
 *
 *	HOST_CAUSE(ID, "word in JSON", "for people, after a share: 12 % forward", work: no cost as such)
 */
/* clang-format off */
HOST_CAUSE(INPUT,      "input",      "input",                       false)
HOST_CAUSE(FORWARD,    "forward",    "forward",                     true)
HOST_CAUSE(BACKWARD,   "backward",   "backward",                    true)
HOST_CAUSE(OPTIMIZER,  "optimizer",  "optimizer",                   true)
HOST_CAUSE(COMPUTE,    "compute",    "other tensor operations",     true)
HOST_CAUSE(COLLECTIVE, "collective", "collectives",                 false)
HOST_CAUSE(WAITING,    "waiting",    "waiting for other ranks",     false)
HOST_CAUSE(CHECKPOINT, "checkpoint", "checkpoints",                 false)
HOST_CAUSE(EVALUATION, "evaluation", "evaluation",                  false)
HOST_CAUSE(LOGGING,    "logging",    "logging",                     false)
HOST_CAUSE(COMPILE,    "compile",    "compiling",                   false)
HOST_CAUSE(GC,         "gc",         "garbage collection",          false)
HOST_CAUSE(GIL,        "gil",        "waiting for the GIL",         false)
HOST_CAUSE(PREEMPTED,  "preempted",  "waiting for a CPU",           false)
HOST_CAUSE(THROTTLED,  "throttled",  "throttled by the CPU quota",  false)
HOST_CAUSE(LOCK,       "lock",       "waiting for locks",           false)
HOST_CAUSE(IO,         "io",         "waiting for files, sockets or processes", false)
HOST_CAUSE(SLEEP,      "sleep",      "sleeping",                    false)
HOST_CAUSE(CODE,       "code",       "the program's own code",      false)
HOST_CAUSE(RANGE,      "range",      "ranges of the program",       false)
HOST_CAUSE(UNKNOWN,    "unknown",    "not known",                   false)
/* clang-format on */
#undef HOST_CAUSE
