/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budget.tbl.h - the settings that limit what aon costs, once: those that `aon budget` shows and changes.
 *
 *	BUDGET(key of param.tbl.h, "what is used of it", how to tell: a double in its unit, or -1,
 *	       "what was given up to keep it", how often)
 */
/* clang-format off */
BUDGET(slowdown_permille, "most of any process, measured or accounted", budget_slowdown(d), "moves on the ladder", count_get(COUNT_rung_moves))
BUDGET(probe_permille,    "most of any process with GPUs, for each of them, accounted", budget_probes(d), "moves on the ladder", count_get(COUNT_rung_moves))
BUDGET(rung,              "lowest of any process",                      budget_fidelity(d), "processes recorded less", budget_lowered(d))
BUDGET(measure,           "",                                           -1, "", 0)
BUDGET(cpu_percent,       "since aond started",                         budget_cpu(d), "moves: events rolled up, records counted", count_get(COUNT_shed_moves))
BUDGET(memory_mib,        "of aond, pools with it",                     (double)d->rss / (1 << 20), "stops: events rolled up, records counted, processes refused", count_get(COUNT_memory_stops))
BUDGET(pools_mib,         "pools of all processes",                     (double)d->roster.pool_bytes / (1 << 20), "processes refused", count_get(COUNT_refused_memory))
BUDGET(queue_mib,         "waiting for the disk",                       (double)d->queue.bytes / (1 << 20), "batches and windows dropped", count_get(COUNT_batches_dropped) + count_get(COUNT_windows_dropped))
BUDGET(store_max_mib,     "on disk",                                    (double)count_get(COUNT_store_bytes) / (1 << 20), "", 0)
BUDGET(disk_mib_day,      "written today, the log with it",             (double)budget_disk(d) / (1 << 20), "stops: events, then rollups", count_get(COUNT_disk_stops))
BUDGET(sessions_max,      "processes",                                  (double)d->roster.count, "processes refused", count_get(COUNT_refused_full) + count_get(COUNT_refused_uid))
BUDGET(ops_every,         "",                                           -1, "", 0)
BUDGET(escalate_s,        "captures that alarms raised today",          (double)d->roster.captures, "captures not raised", count_get(COUNT_captures_refused))
/* clang-format on */
#undef BUDGET
