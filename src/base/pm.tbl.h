/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pm.tbl.h - what a device's own counters say, in percent of what it can: names of counters, once
 * for who writes and who reads them.
 *
 *	PM(ID, "name of the counter", "word", "metric of CUPTI", "another, if that is unknown")
 *
 * On a device's own track; each value is the mean of the time from its own moment to the next one's,
 * but no longer than is usual between two. Of a device at rest one zero is said, not all.
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
