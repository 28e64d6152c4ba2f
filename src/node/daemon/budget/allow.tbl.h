/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allow.tbl.h - the settings that a job or a process may have limits of its own for.
 *
 *	ALLOW(key of param.tbl.h, "what is used of it", "what was given up to keep it")
 *
 * How much that is stands in budget_ask.c.
 */
/* clang-format off */
ALLOW(slowdown_permille, "of a step, measured or accounted",       "steps left out")
ALLOW(probe_permille,    "of a core for each GPU, accounted",      "times it was recorded less or more")
ALLOW(disk_mib_day,      "events of this process, today",          "events rolled up, for any reason")
ALLOW(rung,              "of the ladder, 0: all",                  "")
/* clang-format on */
#undef ALLOW
