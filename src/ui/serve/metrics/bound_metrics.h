/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bound_metrics.h - how long GPUs were limited by what, from the verdicts of windows, for
 * metrics.c: by class of kernel and by limit. The classes are a fixed few, because Prometheus'
 * series must be few and must not change their meaning.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/rollup.h"
#include "theory/roofline.h"

struct store;
struct names;

#define LIMIT_CLASSES 9u

extern const char *const limit_class[LIMIT_CLASSES];

/* Of a GPU. */
struct bound_limits {
	double s[LIMIT_CLASSES][ROOF_LIMITS];      /* that work took */
	double roof_s[LIMIT_CLASSES][ROOF_LIMITS]; /* at its roofline bound, where that is known */
	int judged;                                /* there was a verdict */
};

/* Of the names of a store, found when first asked for. */
struct limit_names {
	uint8_t *of; /* owned: class + 1; 0: not asked for yet */
	size_t n;
};

void limit_names_fini(struct limit_names *n);

void limits_add(struct bound_limits *l, struct limit_names *known, const struct names *names,
		struct store *st, const struct rollup *r);
