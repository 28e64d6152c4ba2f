/* SPDX-License-Identifier: Apache-2.0 */
/*
 * param.tbl.h - every setting of aond, once. Parser, -n, --help, man page and tests come from it.
 *
 *	PARAM(key, type, default, min, max, unit, live, "what it does")
 *
 * type  NUM: whole number in [min, max]; PATH: absolute path, at most max bytes, may be empty
 *       when min is 0; WORD: one of the words in `unit`, separated by |
 * live  LIVE: a reload changes it; START: read at start only, a reload says so and keeps the old
 */
/* clang-format off */
PARAM(store,            PATH, "/var/lib/aon/store.db",  1,   240, "",      START, "file that holds what was seen")
PARAM(run_dir,          PATH, "/run/aon",               1,    80, "",      START, "directory of the sockets and of the door file")
PARAM(pool_dir,         PATH, "",                       0,   160, "",      START, "directory for pools of aond's own user as files, so that they outlive a crash of the node's software; empty: memory only")
PARAM(pool_kib,         NUM,  "4096",                  64, 32768, "KiB",   LIVE,  "chunks in the pool of a process; its names get 512 KiB on top")
PARAM(pool_small_kib,   NUM,  "1024",                  64, 32768, "KiB",   LIVE,  "the same, once the pools together use more than half of pools_mib")
PARAM(chunk_bytes,      NUM,  "4096",                1024, 16384, "bytes", LIVE,  "chunk that a thread owns at a time; a power of two")
PARAM(pools_mib,        NUM,  "256",                    2, 65536, "MiB",   LIVE,  "all pools together; a process that would go over it is refused")
PARAM(memory_mib,       NUM,  "1024",                   0, 1 << 20, "MiB", LIVE,  "memory of aond, the pools with it; from 7/8 of it on events are only rolled up, from all of it on records are only counted and further processes are refused, until it is under 3/4 of it again; 0: no limit")
PARAM(cpu_percent,      NUM,  "-1",                    -1, 100000, "%",    LIVE,  "CPU of aond, of one core; over it for a second events are only rolled up, then records are only counted, until it is well under it again; -1: 1 % for each GPU of the node, 5 % at least, 15 % without GPUs; 0: no limit")
PARAM(slowdown_permille, NUM, "10",                    0,  1000, "1/1000", LIVE, "time that recording may add to a step of a program, as measured and as accounted; over it less is recorded, down a ladder; 0: no limit")
PARAM(probe_permille,   NUM,  "10",                    0,  1000, "1/1000", LIVE, "CPU that recording takes in the threads of a program that uses GPUs, of one core for each of them, as accounted; over it less is recorded, down the same ladder; 0: no limit")
PARAM(rung,             WORD, "all",                    0,     0, "all|no-ops|no-counters|half|quarter|tenth|rare|pulse", LIVE, "the rung of the ladder of fidelity (docs/budget.md) from which on processes are recorded; budgets only lead further down")
PARAM(disk_mib_day,     NUM,  "65536",                  0, 1 << 24, "MiB", LIVE,  "what may be written to the store's disk in a day; over 7/8 of it events are only rolled up, over all of it rollups are dropped, too, until the next day; 0: no limit")
PARAM(measure,          WORD, "on",                     0,     0, "off|on", LIVE, "leave out some steps of programs that have many, to measure what recording the others costs them")
PARAM(measure_after_s,  NUM,  "30",                     0, 86400, "s",     LIVE,  "the same, from so long after a program's first step on")
PARAM(escalate_s,       NUM,  "2",                      0,    60, "s",     LIVE,  "tier full for so long when a detector raises an alarm, at most 24 times a day, eight of them for one user, and once in ten minutes; 0: never")
PARAM(hang_stacks,      WORD, "on",                     0,     0, "off|on", LIVE, "look where the threads of a job stand when it hangs, if the system lets aond")
PARAM(escalate_before_s, NUM, "10",                     0,   600, "s",     LIVE,  "what was recorded so long before that is kept with it: overwritten after all else, for aon capture --raised")
PARAM(captures_day,     NUM,  "200",                    0, 100000, "",     LIVE,  "captures (aon capture) of one user in a day; 0: none")
PARAM(queue_mib,        NUM,  "16",                     1,  4096, "MiB",   LIVE,  "what may wait for the disk; over 3/4 of it new batches of events are dropped first, over all of it rollups, and new names read (other)")
PARAM(store_max_mib,    NUM,  "2048",                   8, 1 << 24, "MiB", START, "store and its log on disk; over it the oldest events are overwritten")
PARAM(store_max_age_h,  NUM,  "24",                     0, 87600, "h",     START, "age at which events are overwritten; 0: never")
PARAM(names_max,        NUM,  "100000",                16, 1 << 24, "",    START, "distinct names, and as many launch geometries; further ones read (other)")
PARAM(rows_max,         NUM,  "4096",                  16, 65536, "",      LIVE,  "rollups of one process in one second; further names read (other); for processes that join later")
PARAM(sessions_max,     NUM,  "1024",                   1, 16384, "",      LIVE,  "processes at a time")
PARAM(sessions_per_uid, NUM,  "256",                    1, 16384, "",      LIVE,  "processes of one user at a time")
PARAM(commit_ms,        NUM,  "1000",                1000, 60000, "ms",    LIVE,  "time between two commits to the store, in whole seconds")
PARAM(tier,             WORD, "flight",                 0,     0, "off|pulse|rollup|flight|full", LIVE, "what processes are asked for when they join")
PARAM(ops_every,        NUM,  "100",                    0, 1000000, "",    LIVE,  "of every so many steps of a framework, one whose operators are recorded; 0: none; in tier full: all")
PARAM(audit_kib,        NUM,  "1024",                   0, 1 << 20, "KiB", START, "log of who captured, subscribed, took a lease or changed a setting (aon audit), beside the store; the one before it is kept, too; 0: none")
PARAM(subscribe_mib,    NUM,  "8",                      0,   256, "MiB",   LIVE,  "ring of live events for each user that has consumers (aon subscribe), at most four of one and 16 in all; 0: nobody can consume")
PARAM(subscribe_events, NUM,  "5000000",                0, 1 << 30, "1/s", LIVE,  "events that are written for consumers in a second; rings share them by priority (1, 4, 16), what is over is left out and told; 0: no limit")
PARAM(kineto,           WORD, "on",                     0,     0, "off|on", START, "listen for PyTorch processes that run with KINETO_USE_DAEMON=1, for aon capture --kineto, where no dynolog does")
PARAM(kineto_dir,       PATH, "",                       0,    80, "",      START, "the same in this directory, for processes whose KINETO_IPC_SOCKET_DIR names it; every user can make sockets in it; empty: none")
PARAM(gpus_dir,         PATH, "/proc/driver/nvidia/gpus", 0, 160, "",      START, "directory in which the driver describes GPUs: their model says what limits kernels; empty: nothing is said")
PARAM(gpus_amd_dir,     PATH, "/sys/class/kfd/kfd/topology/nodes", 0, 160, "", START, "the same of AMD's driver: units and memory of each GPU; looked at where the other has none; empty: not at all")
PARAM(devices,          PATH, "/etc/aon/devices.json", 0, 160, "",         START, "file of devices (docs/devices.md) that go before those that aon knows; need not be there; empty: none")
PARAM(site,             PATH, "/etc/aon/site.conf",     0,   160, "",      START, "file of the site (docs/identity.md): cluster, rack, leaf, position and network cards of this node; need not be there; empty: none")
PARAM(kubelet,          PATH, "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint", 0, 200, "", LIVE, "where kubelet notes which GPUs a pod was given; need not be there; empty: not looked at")
PARAM(pods,             PATH, "/run/aon-collect/pods",          0,   160, "",      LIVE,  "file in which aon-collect notes which GPU is whose pod's; need not be there; empty: not looked at")
PARAM(hpc_dir,          PATH, "",                       0,   160, "",      LIVE,  "folder in which a scheduler's prolog notes the jobs of each GPU, as dcgm-exporter reads it; empty: none")
PARAM(nice,             NUM,  "-15",                  -20,    19, "",      START, "priority of the thread that empties the pools, where the system allows it; the one that writes gets half of it")
PARAM(log_level,        WORD, "info",                   0,     0, "err|warn|info|debug", LIVE, "lines less urgent than this are not logged")
/* clang-format on */
#undef PARAM
