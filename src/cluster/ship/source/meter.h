/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meter.h - a node's state as metrics, as OTLP and as Prometheus' remote write. Points are current
 * values; counters count since the start of aon ship. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/pb.h"

#define METER_LABELS 9u
#define METER_TEXT   128u
#define METER_POINTS 20000u

struct meter_label {
	char name[32], value[METER_TEXT];
};

/* A gauge, a sum that rises, a sum that does not; and whether it is for OTLP alone. */
enum { METER_GAUGE, METER_COUNTER, METER_LEVEL, METER_KINDS, METER_OTLP = 4 };

struct meter_point {
	char name[64];    /* as Prometheus has it, or, for OTLP alone, OpenTelemetry */
	const char *unit; /* as UCUM has it: "s", "By", "1" */
	uint8_t kind;
	bool otlp; /* nobody else gets it */
	double value;
	uint32_t labels;
	struct meter_label label[METER_LABELS]; /* by name, without cluster and host */
};

struct meter {
	struct meter_point *point; /* owned */
	uint32_t points;
	size_t cap;
	uint64_t start_ns, now_ns; /* wall time: of counters' zero; of the values */
	char cluster[64], host[64];
	uint64_t dropped; /* points over METER_POINTS */
};

void meter_fini(struct meter *m);

/* One value. `labels` ends with NULL: name, value, name, value, NULL; names in order. 0 or -ENOMEM. */
int meter_add(struct meter *m, const char *name, const char *unit, unsigned kind, double value,
	      const char *const *labels);

/* opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest */
int meter_otlp(struct meter *m, struct pb_out *out);
/* prometheus.WriteRequest; snappy() is what it then is packed by. */
int meter_remote_write(struct meter *m, struct pb_out *out);
/* Snappy's block format. */
int snappy(struct pb_out *out, const uint8_t *data, size_t len);
