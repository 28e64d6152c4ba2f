/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account.tbl.h - where a device's time goes, once. Each nanosecond of an account's base is in
 * exactly one of these.
 *
 *	ACCOUNT(ID, "word in JSON", "for people", "what it means")
 *
 * Above ACCOUNT_IDLE the device works, below it waits.
 */
/* clang-format off */
ACCOUNT(COMPUTE,      "compute",          "computing",              "kernels ran that are no communication")
ACCOUNT(FORWARD,      "forward",          "forward pass",           "of a CPU: the model's forward pass")
ACCOUNT(BACKWARD,     "backward",         "backward pass",          "of a CPU: the backward pass")
ACCOUNT(OPTIMIZER,    "optimizer",        "optimizer",              "of a CPU: the optimizer's step")
ACCOUNT(COMM_SEND,    "comm_transfer",    "transferring",           "communication ran and nothing computed: without the wait for late ranks")
ACCOUNT(COMM_WAIT,    "comm_wait",        "waiting for late ranks", "communication ran and nothing computed: the wait for ranks that came later")
ACCOUNT(COMM,         "comm",             "communication",          "communication ran and nothing computed; waiting and sending cannot be distinguished")
ACCOUNT(COPY,         "copy",             "copies",                 "copies or memsets ran, and no kernel")
ACCOUNT(INPUT,        "input",            "next batch",             "the launching thread fetched or prepared its next batch")
ACCOUNT(SYNC,         "sync",             "after waits",            "the host had waited for the device, so that nothing was queued")
ACCOUNT(HOST,         "host",             "host code",              "the launching thread was busy with something else")
ACCOUNT(LAUNCH,       "launch",           "launching",              "the launching call itself, and from it to the start of the work")
ACCOUNT(DEPENDENCY,   "dependency",       "dependencies",           "launched in time, but waiting for an event, another device or a host function")
ACCOUNT(COMPILE,      "compile",          "compiling",              "torch.compile, JAX or Triton compiled")
ACCOUNT(CHECKPOINT,   "checkpoint",       "checkpoints",            "a checkpoint was written or read")
ACCOUNT(GC,           "gc",               "garbage collection",     "Python collected garbage")
ACCOUNT(ALLOC,        "alloc",            "allocating",             "memory of the device was allocated or freed")
ACCOUNT(CAPTURE,      "graph_capture",    "capturing graphs",       "work was recorded into a graph, which runs later")
ACCOUNT(WARM_UP,      "warm_up",          "first use",              "code was loaded, or the device set up, on its first use")
ACCOUNT(PROFILER,     "profiler",         "the profiler",           "the profiler that recorded the trace started, stopped or wrote")
ACCOUNT(EVALUATION,   "evaluation",       "evaluation",             "the model was evaluated between steps")
ACCOUNT(LOGGING,      "logging",          "logging",                "logs, metrics or output were formatted and written")
ACCOUNT(GIL,          "gil",              "waiting for the GIL",    "another thread held Python's global interpreter lock")
ACCOUNT(PREEMPTED,    "preempted",        "waiting for a CPU",      "the thread could run, and others had the CPUs")
ACCOUNT(THROTTLED,    "throttled",        "stopped by the CPU quota", "its cgroup had used up its CPU quota")
ACCOUNT(LOCK,         "lock",             "waiting for locks",      "the program waited for a lock")
ACCOUNT(IO,           "io",               "waiting for files, sockets, processes", "the program waited for a file, a socket or another process")
ACCOUNT(SLEEP,        "sleep",            "sleeping",               "the program slept for a time that it chose")
ACCOUNT(CODE,         "code",             "the program's own code", "code of the program that is neither model nor input")
ACCOUNT(RANGE,        "range",            "ranges of the program",  "a range that the program marked itself")
ACCOUNT(UNKNOWN,      "not_known",        "not known",              "what launched the next work is not in the trace")
/* clang-format on */
#undef ACCOUNT
