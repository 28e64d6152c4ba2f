/* SPDX-License-Identifier: Apache-2.0 */
/* metric.h - metrics of CUPTI by name: those that a device reads in one pass, their values. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "probe/cuda/cupti_pm.h"

#define METRICS_MAX 8u

struct metric_fn {
	const char *name;
	size_t at; /* in the struct of functions */
};

struct metric_api {
#define FN(name, type) int (*name)(struct type * p);
#include "probe/cuda/metric_fn.tbl.h"
};

struct metric_name {
	const char *metric[2]; /* the second, if the chip does not know the first; "": none */
};

struct pm_bytes {
	uint8_t *p; /* a mapping of our own */
	size_t n;
};

struct metric_set {
	int32_t type; /* of the host object: enum profiler_type */
	const char *chip;
	void *host;
	struct pm_bytes avail, config;
	const char *metric[METRICS_MAX]; /* that fit into one pass, */
	uint8_t which[METRICS_MAX];      /* and what they are */
	size_t metrics;
};

/* Each returns 0 or CUPTI's error. */
int bytes_make(struct pm_bytes *b, size_t n);
void bytes_fini(struct pm_bytes *b);

bool metric_load(void *lib, void *api, const struct metric_fn *fn, size_t fns);
bool metric_load_host(void *lib, struct metric_api *api);
int metric_chip(const struct metric_api *api, struct metric_set *s, uint32_t device);
/* Of `n` the ones that the device reads beside each other in one pass. */
int metric_choose(const struct metric_api *api, struct metric_set *s,
		  const struct metric_name *name, size_t n);
int metric_values(const struct metric_api *api, const struct metric_set *s,
		  const struct pm_bytes *image, size_t at, double *value);
void metric_fini(const struct metric_api *api, struct metric_set *s);
