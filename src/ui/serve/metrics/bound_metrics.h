/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bound_metrics.h - how long each GPU was limited by what, from the verdicts of windows, for
 * metrics.c: by class of kernel and by limit. The classes are few and fixed, because Prometheus
 * series must be few and keep their meaning.
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

/* The sums of one GPU. */
struct bound_limits {
	double s[LIMIT_CLASSES][ROOF_LIMITS]; /* seconds of work */
	/* seconds it would take at its roofline bound, where that is known */
	double roof_s[LIMIT_CLASSES][ROOF_LIMITS];
	int judged; /* whether there was any verdict */
};

/* The classes of the names of a store, looked up on first use. */
struct limit_names {
	uint8_t *of; /* owned: class + 1; 0: not looked up yet */
	size_t n;
};

void limit_names_fini(struct limit_names *n);

void limits_add(struct bound_limits *l, struct limit_names *known, const struct names *names,
		struct store *st, const struct rollup *r);
