/* SPDX-License-Identifier: Apache-2.0 */
/*
 * telemetry.h - measurements of a node and its devices: series, and values over time.
 *
 * A series is a metric (a row of metric.tbl.h: name, type, unit) of a device, with further labels.
 * Values are doubles: counters are exact up to 2^53. A missing value is NAN.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERIES_DEVICE_MAX 95u  /* bytes */
#define SERIES_LABELS_MAX 383u /* bytes */

enum metric_type { METRIC_GAUGE, METRIC_COUNTER, METRIC_UNTYPED };

struct metric {
	uint32_t number;  /* its id, on disk too: DCGM's where it has one */
	const char *name; /* as Prometheus knows it */
	enum metric_type type;
	const char *unit;   /* "" a plain number, or a state */
	int8_t digits;      /* decimal ones that are kept; negative: zeros before the point */
	const char *device; /* the label that the device's name goes under; "": it has no device */
	const char *help;
};

extern const struct metric metrics[];
extern const size_t metrics_n;

/* The row of that number, or NULL. */
const struct metric *metric_get(uint32_t number);
const struct metric *metric_by_name(const char *name);

/* To the digits that the metric keeps. */
double metric_round(const struct metric *m, double v);

struct series {
	uint32_t id;
	uint32_t metric; /* number */
	char device[SERIES_DEVICE_MAX + 1];
	char labels[SERIES_LABELS_MAX +
		    1]; /* key="value",key="value"; \\ \" \n as Prometheus has them */
};

/* Whether these are valid labels: untrusted text is checked before it is kept. */
bool series_labels_ok(const char *labels);
/* Whether this can be a device's name: not empty unless the metric has none, and printable. */
bool series_device_ok(const struct metric *m, const char *device);
/* Adds key="value", escaped; what does not fit is left out whole. */
void series_label(char labels[SERIES_LABELS_MAX + 1], const char *key, const char *value);
/* The value of a label, unescaped; false: there is none of that key. */
bool series_label_get(const char *labels, const char *key, char *out, size_t cap);

/*
 * Values by which libraries and BMCs mark a missing one: not a number, infinite, all ones of 32 and
 * 64 bits, DCGM's blanks, and the denormal-like 1.5e-254 of NVIDIA's BMCs. Whether a 0 means the
 * same depends on the metric: the reader decides.
 */
bool telemetry_is_none(double v);

/* Values of a series that changed: at `tick` of a block it became `value`; NAN: it is not there any more. */
struct change {
	uint32_t series;
	uint32_t tick;
	double value;
};

/*
 * The changes of some series between two moments, in order of ticks; a series without a change at
 * the first tick begins with its first change.
 */
struct telemetry_block {
	uint32_t source; /* the source: one connection of a collector */
	uint32_t ticks, changes;
	int64_t wall_offset_ns; /* CLOCK_REALTIME minus CLOCK_MONOTONIC, to the millisecond */
	uint64_t *tick_ns;      /* CLOCK_MONOTONIC, rising by a millisecond at least */
	struct change *change;
};

#define TELEMETRY_TICKS_MAX   1024u
#define TELEMETRY_CHANGES_MAX (1u << 18)
