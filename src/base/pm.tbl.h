/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pm.tbl.h - names of a device's own performance counters, in percent of its peak, once for their
 * writers and readers.
 *
 *	PM(ID, "name of the counter", "word", "metric of CUPTI", "another, if that is unknown")
 *
 * On a device's own track; each value is the mean from its own moment to the next value,
 * but no longer than the usual distance between two. An idle device reports one zero, not all.
 */
/* clang-format off */
PM(SM_ACTIVE,   "[pm] SMs active",     "sm_active",
	"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "")
PM(SM_ISSUE,    "[pm] SM throughput",  "sm",
	"sm__throughput.avg.pct_of_peak_sustained_elapsed",
	"sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed")
PM(TENSOR,      "[pm] tensor active",  "tensor",
	"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
	"sm__inst_executed_pipe_tensor_realtime.avg.pct_of_peak_sustained_elapsed")
PM(DRAM,        "[pm] DRAM throughput", "dram",
	"dram__throughput.avg.pct_of_peak_sustained_elapsed",
	"dramc__throughput.avg.pct_of_peak_sustained_elapsed")
/* clang-format on */
#undef PM
