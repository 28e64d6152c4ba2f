/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry.tbl.h - every kind of entry of a store's journal, its typed fields, and the sentence that shows it.
 *
 *	FIELD(ID, number, TYPE, "name", UNIT)              TYPE and UNIT: model/entry.h
 *	ENTRY(ID, number, "what", "kind", "sentence")
 *
 * Numbers are in stores on disk: never reused. A sentence is text with {name} for the value of a field; {who} is rank,
 * job and pid, {means} what NVIDIA's documentation says of the Xid. [...] is shown if all its fields are set, [?name ...]
 * if that one is set and not 0, [?name=N ...] if it is N. After a colon stands how a value is shown: {bytes:m} in MB
 * without the unit, {bytes:b} with it, {share:2} with two decimals, {ns:+} as signed seconds, {list:s} as "ranks 0-2".
 */
/* clang-format off */
#ifdef FIELD
/* The subject of the entry. */
FIELD(PROCESS,      2, UINT,  "process",       COUNT) /* its number in the store */
FIELD(PID,          3, UINT,  "pid",           COUNT)
FIELD(RANK,         4, UINT,  "rank",          COUNT)
FIELD(JOB,          5, TEXT,  "job",           WORD)
FIELD(UID,          6, UINT,  "uid",           COUNT)
FIELD(RANKS,        7, UINTS, "ranks",         COUNT)
FIELD(PIDS,         8, UINTS, "pids",          COUNT)
/* What was measured. */
FIELD(FROM_NS,      9, UINT,  "from_ns",       MOMENT)
FIELD(TO_NS,       10, UINT,  "to_ns",         MOMENT)
FIELD(QUIET_NS,    11, UINT,  "quiet_ns",      NS)    /* nothing moved for so long */
FIELD(WAS_NS,      12, UINT,  "was_ns",        NS)
FIELD(IS_NS,       13, UINT,  "is_ns",         NS)
FIELD(WAS_SHARE,   14, REAL,  "was_share",     SHARE)
FIELD(IS_SHARE,    15, REAL,  "is_share",      SHARE)
FIELD(WAS_BYTES,   16, UINT,  "was_bytes",     BYTES)
FIELD(IS_BYTES,    17, UINT,  "is_bytes",      BYTES)
FIELD(MOVED_NS,    18, INT,   "moved_ns",      NS)
FIELD(ACCOUNTED,   19, REAL,  "accounted",     SHARE)
FIELD(MEASURED,    20, REAL,  "measured",      SHARE)
FIELD(USED_MIB,    21, UINT,  "used_mib",      MIB)
FIELD(LIMIT,       22, UINT,  "limit",         COUNT)
FIELD(SECONDS,     23, UINT,  "seconds",       S)
FIELD(MS,          24, UINT,  "ms",            MS)
FIELD(BEFORE_MS,   25, UINT,  "before_ms",     MS)
/* Of a hang. */
FIELD(STEP,        26, UINT,  "step",          COUNT)
FIELD(COLLECTIVE,  27, UINT,  "collective",    COUNT) /* the last that it began */
FIELD(REACHED,     28, UINT,  "reached",       COUNT) /* the one that others wait in */
FIELD(WAITS_IN,    29, UINT,  "waits_in",      COUNT)
FIELD(MISSING,     30, UINT,  "missing",       COUNT) /* ranks that have not come there, */
FIELD(MISSING_RANK,31, UINT,  "missing_rank",  COUNT) /* the first of them, */
FIELD(RANKS_HERE,  32, UINT,  "ranks_here",    COUNT) /* of so many */
FIELD(OTHERS,      33, FLAG,  "others",        COUNT) /* more than one is missing */
FIELD(CHECKPOINT,  34, FLAG,  "checkpoint",    COUNT) /* one is being written */
FIELD(KERNEL,      35, TEXT,  "kernel",        WORD)
FIELD(FRAMES,      36, TEXTS, "frames",        WORD)  /* the innermost first */
FIELD(FRAMES_MORE, 37, UINT,  "frames_more",   COUNT)
FIELD(GROUPS_MORE, 38, UINT,  "groups_more",   COUNT)
/* Of hardware. */
FIELD(DEVICE,      39, TEXT,  "device",        WORD)
FIELD(XID,         40, UINT,  "xid",           COUNT)
/* Of captures and of the budget. */
FIELD(NUMBER,      41, UINT,  "number",        COUNT)
FIELD(STEPS,       42, UINT,  "steps",         COUNT)
FIELD(TRIGGER,     43, TEXT,  "trigger",       WORD)
FIELD(FIRED_PID,   44, UINT,  "fired_pid",     COUNT)
FIELD(FIRED,       45, TEXT,  "fired",         WORD)
FIELD(PIDS_MORE,   46, UINT,  "pids_more",     COUNT)
FIELD(PROFILER,    47, TEXT,  "profiler",      WORD)
FIELD(LEVEL,       48, TEXT,  "level",         WORD)  /* of detail */
FIELD(LEFT_OUT,    49, TEXT,  "left_out",      WORD)
FIELD(SHED,        50, UINT,  "shed",          COUNT) /* 0: nothing, 1: events, 2: all */
FIELD(BLOCK,       51, UINT,  "block_steps",   COUNT)
/* Of the rest. */
FIELD(SETTING,     52, TEXT,  "setting",       WORD)
FIELD(VALUE,       53, TEXT,  "value",         WORD)
FIELD(VERSION,     54, TEXT,  "version",       WORD)
FIELD(PATH,        55, TEXT,  "path",          WORD)
FIELD(WHY,         56, TEXT,  "why",           WORD)
FIELD(ERROR,       57, TEXT,  "error",         WORD)
FIELD(WHAT,        58, TEXT,  "what",          WORD)  /* of a LINE */
FIELD(LINE,        59, TEXT,  "line",          WORD)  /* in the words of whoever sent it */
/* Of memory. */
FIELD(HELD_BYTES,  60, UINT,  "held_bytes",    BYTES) /* by all tensors */
FIELD(LIMIT_BYTES, 61, UINT,  "limit_bytes",   BYTES) /* of the cgroup, the node or the GPU */
FIELD(RSS_BYTES,   62, UINT,  "rss_bytes",     BYTES) /* of the process, when it was last looked at */
FIELD(ASKED_BYTES, 63, UINT,  "asked_bytes",   BYTES) /* what was refused */
FIELD(PEAK_BYTES,  64, UINT,  "peak_bytes",    BYTES)
FIELD(KEPT_BYTES,  65, UINT,  "kept_bytes",    BYTES) /* at the end of the last step */
FIELD(PART,        66, UINT,  "part",          COUNT) /* abi/memory.h */
FIELD(SITE,        67, TEXT,  "site",          WORD)  /* the module */
FIELD(PLACE,       68, TEXT,  "place",         WORD)  /* file and line */
FIELD(GROWTH,      69, UINT,  "growth_bytes",  BYTES) /* a step, */
FIELD(SINCE,       70, UINT,  "since_step",    COUNT) /* from here on */
FIELD(BATCH,       71, UINT,  "batch",         COUNT)
FIELD(FITS,        72, UINT,  "batch_fits",    COUNT) /* 0: not known */
FIELD(CAUGHT,      73, FLAG,  "caught",        COUNT) /* the program went on */
FIELD(ELSEWHERE,   74, FLAG,  "elsewhere",     COUNT) /* tensors hold less than half */
FIELD(STEP_LIST,   75, UINTS, "at_steps",      COUNT)
FIELD(KEPT_LIST,   76, UINTS, "kept_list",     BYTES) /* after each of these, */
FIELD(PEAK_LIST,   77, UINTS, "peak_list",     BYTES) /* and at most in it */
#undef FIELD
#endif
#ifdef ENTRY
ENTRY(LINE,          1, "",        "line",            "{line}")
ENTRY(START,         2, "start",   "start",           "aond {version}")
ENTRY(STOP,          3, "stop",    "stop",            "aond {version}")
ENTRY(CLOCK,         4, "clock",   "clock",           "wall clock moved by {moved_ns:+} s")
ENTRY(ASIDE,         5, "aside",   "aside",           "{line}; put aside as {path}")
ENTRY(TIER,          6, "tier",    "tier",            "pid {pid} tier {level}")
ENTRY(SET,           7, "set",     "set",             "[job {job}: ][pid {pid}: ]{setting} = {value}, set by uid {uid}")
ENTRY(CAPTURE,      10, "capture", "asked",           "number {number}, [{steps} steps][{ms} ms] and {before_ms} ms before, for user {uid}, of pid {pids}"
                                                      "[ and {pids_more} more][: {trigger} (pid {fired_pid}: {fired})]")
ENTRY(RAISED,       11, "capture", "raised",          "pid {pid}: tier full for {seconds} s, because of {why}")
ENTRY(PROFILER,     12, "capture", "profiler",        "{profiler}, [{steps} steps][{ms} ms] of pid {pid}, for user {uid}")
ENTRY(BUDGET_LEVEL,      20, "budget",  "level",           "[pid {pid}: ]fidelity level {level}, left out: {left_out} ({why}; accounted {accounted:2}, measured {measured:2})")
ENTRY(BUDGET_PROCESS_DISK, 21, "budget",  "process_disk",    "[pid {pid}: ]events are only rolled up until tomorrow (disk_mib_day)")
ENTRY(BUDGET_MEMORY,     22, "budget",  "memory",          "[?shed=0 all is recorded again][?shed=1 events are only rolled up]"
                                                      "[?shed=2 records are only counted, processes are refused] (memory_mib {limit}, {used_mib} are used)")
ENTRY(BUDGET_CPU,        23, "budget",  "cpu",             "[?shed=0 all is recorded again][?shed=1 events are only rolled up]"
                                                      "[?shed=2 records are only counted] (cpu_percent {limit})")
ENTRY(BUDGET_DISK,       24, "budget",  "disk",            "[?shed=0 all is written again][?shed=1 events are only rolled up until tomorrow]"
                                                      "[?shed=2 rollups are dropped, too, until tomorrow] (disk_mib_day {limit})")
ENTRY(MEASURE,      25, "measure", "measure",         "pid {pid}: what recording costs lasts into what is left out: blocks of {block_steps} steps from now on")
ENTRY(MEMORY_SITE,  26, "memory",  "site",            "{who}: [{device}: ][?part=1 before the first step][?part=2 {site}][?part=3 backward pass][?part=4 optimizer][?part=5 data][?part=6 the program itself]"
                                                      "[ ({place})] holds {is_bytes:b}, at most {peak_bytes:b}, {kept_bytes:b} after the last step[, +{growth_bytes:b} each step since step {since_step}]")
ENTRY(MEMORY_STEPS, 27, "memory",  "steps",           "{who}: [{device}: ]{held_bytes:b} is held, at most {peak_bytes:b}; steps {at_steps}")
ENTRY(HANG,         40, "alarm",   "hang",            "{who}: nothing has moved for {quiet_ns}, [?checkpoint though a checkpoint is being written, ]in step {step}"
                                                      "[, has not come to collective {reached}, where others wait]"
                                                      "[, waits in collective {waits_in} for {missing} of {ranks_here} ranks here: rank {missing_rank}][?others  and others]"
                                                      "[, last collective {collective}][, last launch {kernel}]")
ENTRY(HANG_OVER,    41, "alarm",   "hang_over",       "{who}: moves again, after {quiet_ns}")
ENTRY(HANG_STACKS,  42, "alarm",   "hang_stacks",     "[{ranks:s}][{pids:s}][?error no stacks][and {groups_more} groups more][ of job {job}]"
                                                      "[: {frames}][ <- {frames_more} more][: no stack: {why}][: {error}]")
ENTRY(STEP_SLOWER,  43, "alarm",   "step_slower",     "{who}: steps take {is_ns} instead of {was_ns}")
ENTRY(STEP_FASTER,  44, "alarm",   "step_faster",     "{who}: steps take {is_ns} instead of {was_ns}")
ENTRY(THROUGHPUT,   45, "alarm",   "throughput_drop", "{who}: a step is done every {is_ns} instead of {was_ns}")
ENTRY(STRAGGLER,    46, "alarm",   "straggler",       "{who}: comes late to collectives: the others wait {is_share} of the time")
ENTRY(KERNEL,       47, "alarm",   "kernel_slower",   "{who}: {kernel} takes {is_ns} instead of {was_ns}")
ENTRY(GPU_IDLE,     48, "alarm",   "gpu_idle",        "{who}: its GPUs are busy {is_share} of the time instead of {was_share}")
ENTRY(MEMORY,       49, "alarm",   "memory_growth",   "{who}: what is allocated after a step has grown from {was_bytes:m} to {is_bytes:m} MB")
ENTRY(XID,          50, "alarm",   "xid",             "{device}[, {who}]: [Xid {xid}, ][{means} (]{line}[?means )]")
ENTRY(ECC,          51, "alarm",   "ecc",             "{device}[, {who}]: [Xid {xid}, ][{means} (]{line}[?means )]")
ENTRY(OOM_KILLED,   52, "alarm",   "oom_killed",      "{who}: ran out of memory[ in step {step}], and the kernel killed it"
                                                      "[: {held_bytes:b} of {limit_bytes:b} was held by tensors][, {is_bytes:b} of it by ][?part=1 what was made before the first step][?part=2 activations of {site}]"
                                                      "[?part=3 gradients][?part=4 the state of the optimizer][?part=5 batches][?part=6 tensors of the program itself][ ({place})]"
                                                      "[, +{growth_bytes:b} each step since step {since_step}][?batch_fits ; batch {batch_fits} would fit ({batch} did not)]"
                                                      "[?batch_fits=0 ; which batch would fit is not known ({batch} did not)][?elsewhere ; the rest is not in tensors]"
                                                      "[; the process held {rss_bytes:b}][, {was_bytes:b} at its start]")
ENTRY(OOM_FAILED,   53, "alarm",   "oom_failed",      "{who}: ran out of memory[ of {device}][ in step {step}], {asked_bytes:b} more could not be allocated"
                                                      "[: {held_bytes:b} of {limit_bytes:b} was held by tensors][, {is_bytes:b} of it by ][?part=1 what was made before the first step][?part=2 activations of {site}]"
                                                      "[?part=3 gradients][?part=4 the state of the optimizer][?part=5 batches][?part=6 tensors of the program itself][ ({place})]"
                                                      "[, +{growth_bytes:b} each step since step {since_step}][?batch_fits ; batch {batch_fits} would fit ({batch} did not)]"
                                                      "[?batch_fits=0 ; which batch would fit is not known ({batch} did not)][?caught ; the program went on]")
#undef ENTRY
#endif
/* clang-format on */
