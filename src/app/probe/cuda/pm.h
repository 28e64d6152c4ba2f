/* SPDX-License-Identifier: Apache-2.0 */
/* pm.h - counters of devices by PM sampling: what pm.c keeps. Only the probe's thread touches it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/counters.h"
#include "probe/clock.h"
#include "probe/cuda/metric.h"

#define PM_DEVICES 16u

enum pm_state { PM_NEW, PM_ON, PM_HELD, PM_OFF };

struct pm_device {
	uint32_t id, track;
	bool on;   /* it samples */
	bool zero; /* the last value said was one of rest */
	void *object;
	struct metric_set set;
	struct pm_bytes image;
	uint64_t samples;
	int64_t shift; /* of its clock against CUPTI's */
};

struct pm {
	uint32_t interval_us; /* 0: not asked for */
	enum pm_state state;
	const char *why;
	uint64_t retry_ns;
	struct dev_clock clock; /* CUPTI's, as of this tick, */
	uint64_t now_ns;        /* and when that is */
	uint32_t name[PM_COUNTERS];
	struct metric_api host;
	struct pm_api {
#define FN(name, type) int (*name)(struct type * p);
#include "probe/cuda/pm_fn.tbl.h"
	} api;
	struct pm_device device[PM_DEVICES];
};
