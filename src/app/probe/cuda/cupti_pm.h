/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_pm.h - the facts of CUPTI's public ABI for PM sampling (12.6 and later): counters of a whole
 * device, read by its own hardware at a fixed period. tests/unit/app/test_cupti_abi.c holds them
 * against NVIDIA's headers.
 *
 * Every call takes one struct that begins with its size. Fields that later versions added at the end
 * are left out where nothing needs them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CUPTI_INVALID_METRIC 17

enum { PM_PROFILER_TYPE = 1 };                     /* of the host object: PM sampling */
enum { PM_TRIGGER_CLOCKS = 0, PM_TRIGGER_NS = 1 }; /* what the interval counts; ns not on GA100 */
enum { PM_KEEP_OLDEST = 0 };

/* The size that a call is given: up to the last field, without what the compiler adds. */
#define PM_SIZE(type, last) (offsetof(struct type, last) + sizeof(((struct type *)0)->last))

struct pm_init { /* cuptiProfilerInitialize */
	size_t size;
	void *priv;
};

struct pm_chip { /* cuptiDeviceGetChipName */
	size_t size;
	void *priv;
	size_t device;
	const char *chip; /* out */
};

struct pm_avail { /* cuptiPmSamplingGetCounterAvailability: twice, the first for the size */
	size_t size;
	void *priv;
	size_t device;
	size_t bytes;
	uint8_t *image;
};

struct pm_host { /* cuptiProfilerHostInitialize */
	size_t size;
	void *priv;
	int32_t type;
	const char *chip;
	const uint8_t *avail;
	void *host; /* out */
};

struct pm_host_end { /* cuptiProfilerHostDeinitialize */
	size_t size;
	void *priv;
	void *host;
};

struct pm_add { /* cuptiProfilerHostConfigAddMetrics */
	size_t size;
	void *priv;
	void *host;
	const char **metric;
	size_t metrics;
};

struct pm_config_size { /* cuptiProfilerHostGetConfigImageSize */
	size_t size;
	void *priv;
	void *host;
	size_t bytes; /* out */
};

struct pm_config { /* cuptiProfilerHostGetConfigImage */
	size_t size;
	void *priv;
	void *host;
	size_t bytes;
	uint8_t *image;
};

struct pm_passes { /* cuptiProfilerHostGetNumOfPasses */
	size_t size;
	void *priv;
	size_t bytes;
	uint8_t *image;
	size_t passes; /* out */
};

struct pm_values { /* cuptiProfilerHostEvaluateToGpuValues */
	size_t size;
	void *priv;
	void *host;
	const uint8_t *image;
	size_t bytes;
	size_t sample;
	const char **metric;
	size_t metrics;
	double *value; /* out */
};

struct pm_enable { /* cuptiPmSamplingEnable */
	size_t size;
	void *priv;
	size_t device;
	void *object; /* out */
};

struct pm_object { /* cuptiPmSamplingDisable, Start, Stop */
	size_t size;
	void *priv;
	void *object;
};

struct pm_set { /* cuptiPmSamplingSetConfig */
	size_t size;
	void *priv;
	void *object;
	size_t bytes;
	const uint8_t *image;
	size_t hardware_bytes;
	uint64_t interval;
	int32_t trigger;
	int32_t append;
};

struct pm_data_size { /* cuptiPmSamplingGetCounterDataSize */
	size_t size;
	void *priv;
	void *object;
	const char **metric;
	size_t metrics;
	uint32_t samples;
	size_t bytes; /* out */
};

struct pm_data { /* cuptiPmSamplingCounterDataImageInitialize */
	size_t size;
	void *priv;
	void *object;
	size_t bytes;
	uint8_t *image;
};

struct pm_decode { /* cuptiPmSamplingDecodeData */
	size_t size;
	void *priv;
	void *object;
	uint8_t *image;
	size_t bytes;
	int32_t stopped;  /* out: why */
	uint8_t overflow; /* out: samples were lost */
};

struct pm_info { /* cuptiPmSamplingGetCounterDataInfo */
	size_t size;
	void *priv;
	const uint8_t *image;
	size_t bytes;
	size_t total, populated, completed; /* out */
};

struct pm_sample { /* cuptiPmSamplingCounterDataGetSampleInfo */
	size_t size;
	void *priv;
	void *object;
	const uint8_t *image;
	size_t bytes;
	size_t sample;
	uint64_t start, end; /* out */
};
