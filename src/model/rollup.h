/* SPDX-License-Identifier: Apache-2.0 */
/* rollup.h - what one name did on one lane in one window: counts, sums, a sketch. Data only. */
#ifndef AON_ROLLUP_H
#define AON_ROLLUP_H

#include <stdint.h>

#include "base/sketch.h"

#define WINDOW_NS 1000000000ull

struct rollup {
	uint32_t lane;
	uint32_t name;
	uint32_t kind; /* enum event_kind */
	uint32_t reserved;
	uint64_t count;
	uint64_t total_ns; /* COUNTER: sum of values is not kept; see min and max */
	uint64_t min_ns;   /* COUNTER: least and greatest value, an int64_t; doubles are rounded */
	uint64_t max_ns;
	uint64_t bytes; /* COPY, MEMSET, COLLECTIVE, ALLOC */
	struct sketch sketch;
};

/* All rollups of one process in [start_ns, start_ns + WINDOW_NS). Rows of the same window may
 * come in several pieces (late events): a reader adds them up. */
struct window {
	uint32_t process;
	uint32_t rows;
	uint64_t start_ns;
	struct rollup *row;
};

#endif /* AON_ROLLUP_H */
