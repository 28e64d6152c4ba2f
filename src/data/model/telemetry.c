/* SPDX-License-Identifier: Apache-2.0 */
/* telemetry.c - the table of metrics, labels, and missing values. */
#include "model/telemetry.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/order.h"

const struct metric metrics[] = {
#define METRIC(number, name, type, unit, digits, device, help) \
	{ number, name, METRIC_##type, unit, digits, device, help },
#include "model/metric.tbl.h"
};
const size_t metrics_n = sizeof(metrics) / sizeof(metrics[0]);

/* The table is sorted by number: a test says so. */
const struct metric *metric_get(uint32_t number)
{
	size_t at = first_where(i, 0, metrics_n, metrics[i].number >= number);

	return at < metrics_n && metrics[at].number == number ? &metrics[at] : NULL;
}

const struct metric *metric_by_name(const char *name)
{
	for (size_t i = 0; i < metrics_n; i++)
		if (!strcmp(metrics[i].name, name))
			return &metrics[i];
	return NULL;
}

double metric_round(const struct metric *m, double v)
{
	static const double ten[] = { 1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };
	int digits = m->digits;

	if (digits >= 0 && digits <= 9)
		return fabs(v) < 1e15 / ten[digits] ? round(v * ten[digits]) / ten[digits] : v;
	if (digits < 0 && digits >= -9)
		return round(v / ten[-digits]) * ten[-digits];
	return v;
}

/* --- labels --- */

/* One pair at *at; moves on behind it. */
static bool pair_ok(const char **at)
{
	const unsigned char *p = (const unsigned char *)*at;

	if (!isalpha(*p) && *p != '_')
		return false;
	while (isalnum(*p) || *p == '_')
		p++;
	if (p[0] != '=' || p[1] != '"')
		return false;
	for (p += 2; *p != '"'; p++) {
		if (*p == '\\' && (p[1] == '\\' || p[1] == '"' || p[1] == 'n'))
			p++;
		else if (*p < 0x20 || *p >= 0x7f || *p == '\\')
			return false;
	}
	*at = (const char *)p + 1;
	return true;
}

bool series_labels_ok(const char *labels)
{
	if (!*labels)
		return true;
	while (pair_ok(&labels)) {
		if (!*labels)
			return true;
		if (*labels++ != ',')
			return false;
	}
	return false;
}

bool series_device_ok(const struct metric *m, const char *device)
{
	if (!*m->device)
		return !*device;
	for (const unsigned char *p = (const unsigned char *)device; *p; p++)
		if (*p < 0x20 || *p >= 0x7f)
			return false;
	return *device != '\0';
}

void series_label(char labels[SERIES_LABELS_MAX + 1], const char *key, const char *value)
{
	size_t at = strlen(labels), room = SERIES_LABELS_MAX + 1 - at;
	int n = snprintf(labels + at, room, "%s%s=\"", at ? "," : "", key);
	size_t end = at + (size_t)n;

	for (const unsigned char *p = (const unsigned char *)value;
	     *p && end + 4 < SERIES_LABELS_MAX; p++) {
		if (*p == '\\' || *p == '"')
			labels[end++] = '\\';
		labels[end++] = *p < 0x20 || *p >= 0x7f ? '?' : (char)*p;
	}
	if (end + 2 > SERIES_LABELS_MAX) {
		labels[at] = '\0';
		return;
	}
	labels[end++] = '"';
	labels[end] = '\0';
}

bool series_label_get(const char *labels, const char *key, char *out, size_t cap)
{
	size_t len = strlen(key), n = 0;

	for (const char *p = labels; *p;) {
		const char *value = strchr(p, '"');
		bool is = !strncmp(p, key, len) && p[len] == '=';

		if (!value)
			return false;
		for (p = value + 1; *p && *p != '"'; p++) {
			p += *p == '\\' && p[1];
			if (is && n + 1 < cap)
				out[n++] = *p;
		}
		if (is && cap) {
			out[n] = '\0';
			return true;
		}
		p += *p == '"';
		p += *p == ',';
	}
	return false;
}

/* --- values that are none --- */

bool telemetry_is_none(double v)
{
	static const double none[] = {
		4294967295.0,           /* all ones */
		18446744073709551615.0, /* all ones, 64 bits */
		2147483632.0,           /* DCGM_INT32_BLANK and its kin */
		2147483633.0,           2147483634.0,      2147483635.0,
		9223372036854775792.0, /* DCGM_INT64_BLANK and its kin, all the same double */
		140737488355328.0,     /* DCGM_FP64_BLANK and its kin */
		140737488355329.0,      140737488355330.0, 140737488355331.0,
	};

	if (!isfinite(v) || (v != 0 && fabs(v) < 1e-200))
		return true;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (v == none[i])
			return true;
	return false;
}
