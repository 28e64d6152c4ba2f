/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range.tbl.h - metrics of single kernels besides those of pm.tbl.h, once for their writers and readers.
 *
 *	RANGE(ID, "word", "metric of CUPTI", "another, if that is unknown")
 *
 * A value is a counter of the kernel's own name, on a track of the device that RANGE_TRACK and the word
 * name: those of this table, and those of pm.tbl.h.
 */
#define RANGE_TRACK "[range] "

/* clang-format off */
#ifdef RANGE
RANGE(DRAM_BYTES, "dram_bytes", "dram__bytes.sum", "dramc__bytes.sum")
RANGE(TIME,       "time_ns",    "gpu__time_duration.sum", "")
#undef RANGE
#endif
/* clang-format on */
