/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pm.h - the values of a device's own counters while each kernel ran. Pure: a sealed trace in.
 *
 * Uses the counters of base/pm.tbl.h. A sample covers the whole device for the length of the
 * sample: the kernels that ran share its value by their time, and time in which none ran counts for
 * none. `alone` says how much of its time a kernel had the device for itself: near 1 the mean is
 * the kernel's own, near 0 it includes its neighbours.
 *
 * Ranges (base/range.tbl.h) measure single calls of a kernel and take precedence over samples.
 */
#pragma once

#include "base/counters.h"
#include "base/map.h"
#include "model/trace.h"

extern const char *const pm_word[PM_COUNTERS]; /* for JSON */

struct pm_use {
	uint32_t name;              /* of kernels */
	uint64_t seen_ns;           /* of their time, in samples */
	double mean[PM_COUNTERS];   /* percent of the device's peak; below 0: not read */
	double weight[PM_COUNTERS]; /* ns that it is the mean of */
	double alone;               /* 0 to 1 */
	uint64_t ranges;            /* calls that were read one by one; then `alone` is 1 */
	double dram_bytes;          /* of one of these; 0: not read */
	uint64_t dram_reads;
};

/* All zero is an empty one. */
struct pm_uses {
	struct pm_use *use; /* owned */
	struct map by_name; /* index + 1 into use[] */
	size_t uses, samples;
	uint64_t interval_ns; /* usual time between two samples */
};

/* Adds the events of a sealed trace; of one that comes stretch by stretch, each stretch's. Means
 * are sums until pm_end(). */
int pm_add(struct pm_uses *p, const struct trace *t);
void pm_end(struct pm_uses *p);
void pm_fini(struct pm_uses *p);
const struct pm_use *pm_of_name(const struct pm_uses *p, uint32_t name); /* NULL: none */
