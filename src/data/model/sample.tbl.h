/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample.tbl.h - the states of a sampled thread.
 *
 *	STATE(number, NAME, "word", "what it means")
 *
 * Numbers are in stores on disk: never reused.
 */
/* clang-format off */
STATE( 1, RUNNING,   "running",    "runs on a CPU")
STATE( 2, RUNNABLE,  "runnable",   "could run, and has no CPU")
STATE( 3, THROTTLED, "throttled",  "could run, and its cgroup has used up its CPU quota")
STATE( 4, GIL,       "gil",        "waits for Python's global interpreter lock")
STATE( 5, LOCK,      "lock",       "waits for a lock or a condition (futex)")
STATE( 6, IO,        "io",         "waits for a file or a disk")
STATE( 7, FAULT,     "page fault", "waits for a page of memory")
STATE( 8, SLEEP,     "sleep",      "sleeps for a time that it chose")
STATE( 9, WAIT,      "wait",       "waits for a socket, a pipe, a child or a device")
STATE(10, SYSCALL,   "syscall",    "is in another system call")
/* clang-format on */
#undef STATE
