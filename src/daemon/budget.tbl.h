/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budget.tbl.h - the settings that limit what aon costs, once: those that `aon budget` shows and changes.
 *
 *	BUDGET(key of param.tbl.h, "what is used of it", how to tell: a double in its unit, or -1)
 */
/* clang-format off */
BUDGET(slowdown_permille, "most of any process, measured or accounted", budget_slowdown(d))
BUDGET(measure,           "",                                           -1)
BUDGET(cpu_percent,       "since aond started",                         budget_cpu(d))
BUDGET(pools_mib,         "pools of all processes",                     (double)d->roster.pool_bytes / (1 << 20))
BUDGET(queue_mib,         "waiting for the disk",                       (double)d->queue.bytes / (1 << 20))
BUDGET(store_max_mib,     "on disk",                                    (double)count_get(COUNT_store_bytes) / (1 << 20))
BUDGET(sessions_max,      "processes",                                  (double)d->roster.count)
BUDGET(ops_every,         "",                                           -1)
BUDGET(escalate_s,        "captures that alarms raised today",          (double)d->roster.captures)
/* clang-format on */
#undef BUDGET
