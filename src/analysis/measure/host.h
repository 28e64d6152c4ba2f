/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - the host's memory bandwidth, all cores at once, as STREAM measures it. */
#pragma once

#include <stdint.h>

struct host_result {
	uint32_t threads;
	uint64_t bytes; /* of all arrays together */
	double copy_Bps, triad_Bps;
};

/* 0 or -errno: no memory, no threads. */
int host_measure(struct host_result *out);
