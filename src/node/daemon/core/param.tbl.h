/* SPDX-License-Identifier: Apache-2.0 */
/*
 * param.tbl.h - every setting of aond, once. Parser, -n, --help, man page and tests come from it.
 *
 *	PARAM(key, type, default, min, max, unit, live, "what it does")
 *
 * type  NUM: whole number in [min, max]; SHARE: percent, with min and max in thousandths; PATH: absolute path, at most max bytes, may be empty
 *       when min is 0; WORD: one of the words in `unit`, separated by |
 * live  LIVE: a reload changes it; START: read at start only, a reload keeps the old value and logs that
 */
/* clang-format off */
PARAM(store,            PATH, "/var/lib/aon/store.db",  1,   240, "",      START, "file for everything that is recorded")
PARAM(run_dir,          PATH, "/run/aon",               1,    80, "",      START, "directory of the sockets and of the rendezvous page (the file gate)")
PARAM(pool_dir,         PATH, "",                       0,   160, "",      START, "directory for pools of aond's own user as files, which survive a crash of the node's software; empty: memory only")
PARAM(pool_kib,         NUM,  "4096",                  64, 32768, "KiB",   LIVE,  "size of the chunks in the pool of a process; the heap of names takes another 512 KiB")
PARAM(pool_small_kib,   NUM,  "1024",                  64, 32768, "KiB",   LIVE,  "the same for processes that join while all pools together use more than half of pools_mib")
PARAM(chunk_bytes,      NUM,  "4096",                1024, 16384, "bytes", LIVE,  "size of the chunk that a thread owns at a time; a power of two")
PARAM(pools_mib,        NUM,  "256",                    2, 65536, "MiB",   LIVE,  "size of all pools together; a process that would exceed it is refused")
PARAM(memory_mib,       NUM,  "1024",                   0, 1 << 20, "MiB", LIVE,  "memory of aond, including the pools; from 7/8 of this limit on events are only rolled up, at the limit records are only counted and further processes refused, until usage falls below 3/4; 0: no limit")
PARAM(cpu_percent,      NUM,  "-1",                    -1, 100000, "%",    LIVE,  "CPU of aond in percent of one core; above it for a second events are only rolled up, then records are only counted, until usage is well below it again; -1: 1 % for each GPU of the node, at least 5 %, 15 % without GPUs; 0: no limit")
PARAM(max_slowdown,     SHARE, "1",                     0,  1000, "%",     LIVE,  "time that recording may add to a step of a program, as measured and as accounted; above it the fidelity level falls and less is recorded; 0: no limit")
PARAM(max_probe_cost,   SHARE, "1",                     0,  1000, "%",     LIVE,  "CPU that recording takes in the threads of a program that uses GPUs, as accounted, in percent of one core for each GPU; above it the fidelity level falls and less is recorded; 0: no limit")
PARAM(fidelity,         WORD, "all",                    0,     0, "all|no-ops|no-counters|half|quarter|tenth|rare|heartbeat", LIVE, "the fidelity level (docs/budget.md) at which recording of processes starts; budgets only lower it")
PARAM(disk_mib_day,     NUM,  "65536",                  0, 1 << 24, "MiB", LIVE,  "data written to the store's disk per day; above 7/8 of this limit events are only rolled up, above the limit rollups are dropped too, until the next day; 0: no limit")
PARAM(measure,          WORD, "on",                     0,     0, "off|on", LIVE, "skip the recording of some steps of programs with many steps, to measure the cost of recording")
PARAM(measure_after_s,  NUM,  "30",                     0, 86400, "s",     LIVE,  "time from a program's first step until aond starts to measure")
PARAM(escalate_s,       NUM,  "2",                      0,    60, "s",     LIVE,  "how long tier full is recorded when a detector raises an alarm; at most once in ten minutes and 24 times a day, eight of them for one user; 0: never")
PARAM(hang_stacks,      WORD, "on",                     0,     0, "off|on", LIVE, "read the stacks of the threads of a job that hangs, if the system permits it")
PARAM(sample,           WORD, "on",                     0,     0, "off|on", LIVE, "sample the stacks of the threads of recorded processes that launch work, from outside (docs/sampling.md), if the system permits it")
PARAM(sample_hz,        NUM,  "49",                     1,   250, "1/s",   LIVE,  "samples of a thread per second while its GPU or its step waits; 10 otherwise")
PARAM(sample_cpu_percent, SHARE, "1.5",                 0,  1000, "%",     LIVE,  "CPU of aon-sample in percent of one core; above it all rates are halved, in the end to nothing, until it is well below it again; 0: no limit")
PARAM(escalate_before_s, NUM, "10",                     0,   600, "s",     LIVE,  "how much of the recording before an alarm is kept for aon capture --raised; it is overwritten last")
PARAM(captures_day,     NUM,  "200",                    0, 100000, "",     LIVE,  "captures (aon capture) of one user per day; 0: none")
PARAM(queue_mib,        NUM,  "16",                     1,  4096, "MiB",   LIVE,  "data that may wait for the disk; above 3/4 of this limit new batches of events are dropped, above the limit rollups too, and new names become (other)")
PARAM(store_max_mib,    NUM,  "2048",                   8, 1 << 24, "MiB", START, "size of the store and its log on disk; above it the oldest events are overwritten")
PARAM(store_max_age_h,  NUM,  "24",                     0, 87600, "h",     START, "age at which events are overwritten; 0: never")
PARAM(names_max,        NUM,  "100000",                16, 1 << 24, "",    START, "distinct names, and as many launch geometries; further ones become (other)")
PARAM(rows_max,         NUM,  "4096",                  16, 65536, "",      LIVE,  "rollups of one process in one second; further names become (other); applies to processes that join later")
PARAM(sessions_max,     NUM,  "1024",                   1, 16384, "",      LIVE,  "processes at a time")
PARAM(sessions_per_uid, NUM,  "256",                    1, 16384, "",      LIVE,  "processes of one user at a time")
PARAM(commit_ms,        NUM,  "1000",                1000, 60000, "ms",    LIVE,  "time between two commits to the store, in whole seconds")
PARAM(tier,             WORD, "flight",                 0,     0, "off|heartbeat|rollup|flight|full", LIVE, "how much processes record when they join: off, heartbeat (steps only), rollup (sums), flight (normal), full (everything)")
PARAM(ops_every,        NUM,  "100",                    0, 1000000, "",    LIVE,  "record the operators of a framework in one step out of this many; 0: never; tier full records them in every step")
PARAM(audit_kib,        NUM,  "1024",                   0, 1 << 20, "KiB", START, "size of the audit log (aon audit) beside the store: captures, subscriptions, leases and changes of settings, with their user; the previous log is kept too; 0: none")
PARAM(subscribe_mib,    NUM,  "8",                      0,   256, "MiB",   LIVE,  "ring of live events for each user that has consumers (aon subscribe), at most four per user and 16 in all; 0: no consumers")
PARAM(subscribe_events, NUM,  "5000000",                0, 1 << 30, "1/s", LIVE,  "events written for consumers per second; rings share them by priority (1, 4, 16), the rest is left out and reported as lost; 0: no limit")
PARAM(kineto,           WORD, "on",                     0,     0, "off|on", START, "listen for PyTorch processes that run with KINETO_USE_DAEMON=1, for aon capture --kineto, unless a dynolog does")
PARAM(kineto_dir,       PATH, "",                       0,    80, "",      START, "also listen in this directory, for processes whose KINETO_IPC_SOCKET_DIR names it; every user can create sockets in it; empty: none")
PARAM(gpus_dir,         PATH, "/proc/driver/nvidia/gpus", 0, 160, "",      START, "directory in which the driver describes GPUs: their model determines what limits kernels; empty: no verdicts on kernels")
PARAM(gpus_amd_dir,     PATH, "/sys/class/kfd/kfd/topology/nodes", 0, 160, "", START, "the same for AMD's driver: units and memory of each GPU; used if the other directory has none; empty: not used")
PARAM(devices,          PATH, "/etc/aon/devices.json", 0, 160, "",         START, "file of devices (docs/devices.md) that take precedence over those that aon knows; may be missing; empty: none")
PARAM(site,             PATH, "/etc/aon/site.conf",     0,   160, "",      START, "file of the site (docs/identity.md): cluster, rack, leaf, position and network cards of this node; may be missing; empty: none")
PARAM(kubelet,          PATH, "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint", 0, 200, "", LIVE, "file in which kubelet notes the GPUs of each pod; may be missing; empty: not used")
PARAM(pods,             PATH, "/run/aon-collect/pods",          0,   160, "",      LIVE,  "file in which aon-collect notes which pod has which GPU; may be missing; empty: not used")
PARAM(hpc_dir,          PATH, "",                       0,   160, "",      LIVE,  "folder in which a scheduler's prolog notes the jobs of each GPU, in the format of dcgm-exporter; empty: none")
PARAM(nice,             NUM,  "-15",                  -20,    19, "",      START, "priority of the thread that empties the pools, if the system allows it; the writer thread gets half")
PARAM(log_level,        WORD, "info",                   0,     0, "err|warn|info|debug", LIVE, "log lines less urgent than this are dropped")
/* clang-format on */
#undef PARAM
