/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_range.h - the facts of CUPTI's public ABI for its range profiler (12.6 and later): counters of
 * single kernels. tests/unit/app/test_cupti_abi.c holds them against NVIDIA's headers. What is as for PM
 * sampling is in cupti_pm.h: metrics, and calls that take an object alone.
 */
#pragma once

#include "probe/cuda/cupti_pm.h"

enum { RP_PROFILER_TYPE = 0 }; /* of the host object */
enum { RP_AUTO_RANGE = 1 };    /* each kernel is one */
enum { RP_KERNEL_REPLAY = 2 }; /* of more passes than one; there are none */

struct rp_enable { /* cuptiRangeProfilerEnable */
	size_t size;
	void *priv;
	void *context;
	void *object; /* out */
};

struct rp_set { /* cuptiRangeProfilerSetConfig */
	size_t size;
	void *priv;
	void *object;
	size_t config_bytes;
	const uint8_t *config;
	size_t bytes;
	uint8_t *image;
	int32_t range, replay;
	size_t ranges; /* at most, a pass */
	uint16_t levels, level;
	size_t pass;
	uint16_t target;
};

struct rp_stop { /* cuptiRangeProfilerStop */
	size_t size;
	void *priv;
	void *object;
	size_t pass, level; /* out */
	uint8_t all;        /* out: no pass is left */
};

struct rp_decode { /* cuptiRangeProfilerDecodeData */
	size_t size;
	void *priv;
	void *object;
	size_t dropped; /* out */
};

struct rp_data_size { /* cuptiRangeProfilerGetCounterDataSize */
	size_t size;
	void *priv;
	void *object;
	const char **metric;
	size_t metrics;
	size_t ranges;
	uint32_t nodes;
	size_t bytes; /* out */
};

struct rp_info { /* cuptiRangeProfilerGetCounterDataInfo */
	size_t size;
	void *priv;
	const uint8_t *image;
	size_t bytes;
	size_t ranges; /* out */
};
