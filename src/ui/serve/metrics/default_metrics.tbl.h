/* SPDX-License-Identifier: Apache-2.0 */
/*
 * default_metrics.tbl.h - the metrics that are shown under a timeline by default, in this order.
 *
 *	USUAL(number of metric.tbl.h, "what it is called there", a label that the series has, or "")
 *
 * Of GPUs: those of the run. Of devices of the host: those that did anything.
 */
/* clang-format off */
USUAL(100,   "clock",          "")
USUAL(155,   "power",          "")
USUAL(150,   "temperature",    "")
USUAL(112,   "throttled",      "")
USUAL(252,   "memory",         "")
USUAL(203,   "use",            "")
USUAL(20110, "clock",          "")
USUAL(20106, "power",          "")
USUAL(20105, "temperature",    "")
USUAL(20108, "memory",         "")
USUAL(30007, "CPU user",       "mode=\"user\"")
USUAL(30007, "CPU system",     "mode=\"system\"")
USUAL(30007, "CPU iowait",     "mode=\"iowait\"")
USUAL(30019, "CPU pressure",   "")
USUAL(30020, "IO pressure",    "")
USUAL(30022, "memory pressure", "")
USUAL(30090, "received",       "")
USUAL(30098, "sent",           "")
USUAL(30144, "received",       "")
USUAL(30145, "sent",           "")
/* clang-format on */
#undef USUAL
