/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range.h - counters of single kernels by CUPTI's range profiler: what range.c keeps.
 *
 *	IDLE -> ARMED -> BUSY -> ON -> BUSY -> FULL -> IDLE
 *
 * The probe's thread arms, reads and gives up; the launching thread begins and ends. The thread that
 * sets the state to BUSY (G) owns everything else until it stores another (H); release and acquire pair.
 */
#pragma once

#include <stdatomic.h>

#include "probe/cuda/cupti_range.h"
#include "probe/cuda/metric.h"

#define RANGES_MAX 512u

enum range_counter {
#define PM(ID, name, word, first, second) RANGE_PM_##ID,
#include "base/pm.tbl.h"
#define RANGE(ID, word, first, second) RANGE_##ID,
#include "base/range.tbl.h"
	RANGE_COUNTERS
};

enum range_state { RANGE_OFF, RANGE_IDLE, RANGE_ARMED, RANGE_BUSY, RANGE_ON, RANGE_FULL };

struct range {
	uint32_t most; /* kernels of a capture; 0: not asked for */
	_Atomic uint32_t state;
	bool ran, loaded, told;
	uint64_t until_ns;        /* held by another tool: not before; on: not longer */
	_Atomic uint32_t context; /* and `owner`: others look whether they are meant */
	uint32_t device;
	void *object;
	int err;
	_Atomic uint32_t owner; /* the thread that launches, */
	bool inside;            /* in a call that launches */
	uint32_t inside_corr;
	_Atomic uint32_t mixed; /* another one did, too */
	uint32_t n;
	struct {
		uint32_t name; /* 0: a graph, which is one range */
		uint64_t ns;
	} launch[RANGES_MAX];
	struct metric_set set;
	struct pm_bytes image;
	uint32_t track[RANGE_COUNTERS];
	struct metric_api host;
	struct range_api {
#define FN(name, type) int (*name)(struct type * p);
#include "probe/cuda/range_fn.tbl.h"
	} api;
};
