/* SPDX-License-Identifier: Apache-2.0 */
/* image.h - the counters of samples or ranges, as the stand-in's profilers hand them over. */
#ifndef SIM_IMAGE_H
#define SIM_IMAGE_H

#include <stdint.h>

#include "hook.h"

enum { SIM_VALUE_BYTES = SIM_PM_METRICS, SIM_VALUE_NS, SIM_VALUES };

#define SIM_IMAGE_MAGIC 0x314d5053u

struct sim_image {
	uint32_t magic, max, n;
	struct {
		uint64_t start, end;
		double v[SIM_VALUES];
	} sample[];
};

#endif /* SIM_IMAGE_H */
