/* SPDX-License-Identifier: Apache-2.0 */
/* limit.h - the file of limits of aon check: "name op value" a line, '#' begins a comment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LIMITS_MAX   64u
#define LIMITS_BYTES 65536u /* of a file */

enum metric_id {
#define METRIC(name, people, unit, op, slack, base) METRIC_##name,
#include "cli/report/metric.tbl.h"
	METRICS,
};

struct limit {
	enum metric_id metric;
	bool least; /* >= */
	double value;
};

struct limits {
	struct limit limit[LIMITS_MAX];
	size_t n;
};

struct limits_why {
	size_t line;
	char text[400];
};

/* 0, or -EINVAL with the line and what is wrong there. */
int limits_parse(struct limits *out, const char *text, size_t len, struct limits_why *why);
