/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budget.tbl.h - the settings that limit the cost of aon: `aon budget` shows and changes them.
 *
 *	BUDGET(key of param.tbl.h, "what uses it", how much: a double in its unit, or -1,
 *	       "what was given up to keep the limit", how often)
 */
/* clang-format off */
BUDGET(max_slowdown,      "max of all processes, measured or accounted", budget_slowdown(d), "changes of the fidelity level", count_get(COUNT_fidelity_moves))
BUDGET(max_probe_cost,    "max of all processes with GPUs, per GPU, accounted", budget_probes(d), "changes of the fidelity level", count_get(COUNT_fidelity_moves))
BUDGET(fidelity,          "lowest of all processes",                      budget_fidelity(d), "processes recorded less", budget_lowered(d))
BUDGET(measure,           "",                                           -1, "", 0)
BUDGET(cpu_percent,       "since aond started",                         budget_cpu(d), "changes: events rolled up, records counted", count_get(COUNT_shed_moves))
BUDGET(sample_cpu_percent, "of aon-sample, in the last seconds",        sampler_percent(&d->sampler), "changes: sampled less often, or not", d->sampler.moves)
BUDGET(memory_mib,        "of aond, including pools",                     (double)d->rss / (1 << 20), "stops: events rolled up, records counted, processes refused", count_get(COUNT_memory_stops))
BUDGET(pools_mib,         "pools of all processes",                     (double)d->roster.pool_bytes / (1 << 20), "processes refused", count_get(COUNT_refused_memory))
BUDGET(queue_mib,         "waiting for the disk",                       (double)d->queue.bytes / (1 << 20), "batches and windows dropped", count_get(COUNT_batches_dropped) + count_get(COUNT_windows_dropped))
BUDGET(store_max_mib,     "on disk",                                    (double)count_get(COUNT_store_bytes) / (1 << 20), "", 0)
BUDGET(disk_mib_day,      "written today, including the log",             (double)budget_disk(d) / (1 << 20), "stops: events, then rollups", count_get(COUNT_disk_stops))
BUDGET(sessions_max,      "processes",                                  (double)d->roster.count, "processes refused", count_get(COUNT_refused_full) + count_get(COUNT_refused_uid))
BUDGET(ops_every,         "",                                           -1, "", 0)
BUDGET(escalate_s,        "captures that alarms raised today",          (double)d->roster.raised.captures, "captures not raised", count_get(COUNT_captures_refused))
/* clang-format on */
#undef BUDGET
