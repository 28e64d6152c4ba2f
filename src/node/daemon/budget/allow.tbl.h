/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allow.tbl.h - the settings for which a job or a process may have limits of its own.
 *
 *	ALLOW(key of param.tbl.h, "what uses it", "what was given up to keep the limit")
 *
 * budget_ask.c computes how much.
 */
/* clang-format off */
ALLOW(max_slowdown,      "of a step, measured or accounted",       "unsampled steps")
ALLOW(max_probe_cost,    "of a core for each GPU, accounted",      "changes of the fidelity level")
ALLOW(disk_mib_day,      "events of this process, today",          "events rolled up, for any reason")
ALLOW(fidelity,          "fidelity level, 0: all",                  "")
/* clang-format on */
#undef ALLOW
