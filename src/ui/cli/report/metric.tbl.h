/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric.tbl.h - what a limit of aon check may be about, once.
 *
 *	METRIC(name, "for people", "unit", "which side is good", slack, needs a base)
 *
 * slack: --write proposes limits so far from what was seen, relative; from 1 on, absolute.
 */
/* clang-format off */
METRIC(step_ms,        "step time",            "ms", "<=", 0.05, false)
METRIC(slower_percent, "slower than the base", "%",  "<=", 5,    true)
METRIC(busy_percent,   "GPUs busy",            "%",  ">=", 3,    false)
METRIC(comm_percent,   "comm, not hidden",     "%",  "<=", 2,    false)
METRIC(copy_percent,   "copies, not hidden",   "%",  "<=", 2,    false)
METRIC(input_percent,  "waiting for input",    "%",  "<=", 2,    false)
METRIC(kernels_a_step, "kernels a step",       "",   "<=", 0.05, false)
/* clang-format on */
#undef METRIC
