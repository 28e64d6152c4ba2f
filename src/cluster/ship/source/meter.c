/* SPDX-License-Identifier: Apache-2.0 */
/* meter.c - collects points, and writes them in two formats. */
#include "ship/source/meter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

void meter_fini(struct meter *m)
{
	free(m->point);
	m->point = NULL;
	m->points = 0;
	m->cap = 0;
}

int meter_add(struct meter *m, const char *name, const char *unit, unsigned kind, double value,
	      const char *const *labels)
{
	struct meter_point *p;

	if (m->points == METER_POINTS) {
		m->dropped++;
		return 0;
	}
	if (vec_room(&m->point, &m->cap, m->points + 1, sizeof(*m->point)) < 0)
		return -ENOMEM;
	p = &m->point[m->points++];
	memset(p, 0, sizeof(*p));
	snprintf(p->name, sizeof(p->name), "%s", name);
	p->unit = unit;
	p->kind = kind & METER_KINDS;
	p->otlp = kind & METER_OTLP;
	p->value = value;
	for (; labels && labels[0] && p->labels < METER_LABELS; labels += 2) {
		if (!*labels[1])
			continue;
		snprintf(p->label[p->labels].name, sizeof(p->label[0].name), "%s", labels[0]);
		snprintf(p->label[p->labels++].value, METER_TEXT, "%s", labels[1]);
	}
	return 0;
}

/* Points of one name follow each other. */
static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct meter_point *)a)->name, ((const struct meter_point *)b)->name);
}

/* --- OTLP --- */

/* Field numbers of opentelemetry/proto/metrics/v1/metrics.proto. */
enum {
	RESOURCE_METRICS = 1,
	RM_RESOURCE = 1,
	RM_SCOPE_METRICS = 2,
	RESOURCE_ATTRIBUTES = 1,
	SM_SCOPE = 1,
	SM_METRICS = 2,
	SCOPE_NAME = 1,
	SCOPE_VERSION = 2,
	METRIC_NAME = 1,
	METRIC_UNIT = 3,
	METRIC_GAUGE = 5,
	METRIC_SUM = 7,
	DATA_POINTS = 1,
	SUM_TEMPORALITY = 2,
	SUM_MONOTONIC = 3,
	POINT_START = 2,
	POINT_TIME = 3,
	POINT_DOUBLE = 4,
	POINT_ATTRIBUTES = 7,
	KEY = 1,
	VALUE = 2,
	STRING = 1,
	CUMULATIVE = 2,
};

static void attribute(struct pb_out *b, uint32_t field, const char *key, const char *value)
{
	size_t kv = pb_open(b, field), v;

	pb_put_str(b, KEY, key);
	v = pb_open(b, VALUE);
	pb_put_str(b, STRING, value);
	pb_close(b, v);
	pb_close(b, kv);
}

static void data_point(struct pb_out *b, const struct meter *m, const struct meter_point *p)
{
	size_t at = pb_open(b, DATA_POINTS);

	if (p->kind != METER_GAUGE)
		pb_put_fixed64(b, POINT_START, m->start_ns);
	pb_put_fixed64(b, POINT_TIME, m->now_ns);
	pb_put_double(b, POINT_DOUBLE, p->value);
	for (uint32_t i = 0; i < p->labels; i++)
		attribute(b, POINT_ATTRIBUTES, p->label[i].name, p->label[i].value);
	pb_close(b, at);
}

/* The points of one name; where the next begin. */
static uint32_t metric(struct pb_out *b, const struct meter *m, uint32_t i)
{
	const struct meter_point *first = &m->point[i];
	size_t at = pb_open(b, SM_METRICS), data;

	pb_put_str(b, METRIC_NAME, first->name);
	pb_put_str(b, METRIC_UNIT, first->unit);
	data = pb_open(b, first->kind == METER_GAUGE ? METRIC_GAUGE : METRIC_SUM);
	for (; i < m->points && !strcmp(m->point[i].name, first->name); i++)
		data_point(b, m, &m->point[i]);
	if (first->kind != METER_GAUGE)
		pb_put_u64(b, SUM_TEMPORALITY, CUMULATIVE);
	if (first->kind == METER_COUNTER)
		pb_put_u64(b, SUM_MONOTONIC, 1);
	pb_close(b, data);
	pb_close(b, at);
	return i;
}

int meter_otlp(struct meter *m, struct pb_out *out)
{
	size_t all = pb_open(out, RESOURCE_METRICS), at = pb_open(out, RM_RESOURCE);

	if (m->points > 1)
		qsort(m->point, m->points, sizeof(*m->point), by_name);
	attribute(out, RESOURCE_ATTRIBUTES, "service.name", "aon");
	attribute(out, RESOURCE_ATTRIBUTES, "host.name", m->host);
	attribute(out, RESOURCE_ATTRIBUTES, "aon.cluster", m->cluster);
	pb_close(out, at);
	at = pb_open(out, RM_SCOPE_METRICS);
	{
		size_t scope = pb_open(out, SM_SCOPE);

		pb_put_str(out, SCOPE_NAME, "aon");
		pb_put_str(out, SCOPE_VERSION, AON_VERSION);
		pb_close(out, scope);
	}
	for (uint32_t i = 0; i < m->points;)
		i = metric(out, m, i);
	pb_close(out, at);
	pb_close(out, all);
	return out->err;
}

/* --- remote write --- */

enum { TIMESERIES = 1, LABELS = 1, SAMPLES = 2, LABEL_NAME = 1, LABEL_VALUE = 2 };
enum { SAMPLE_VALUE = 1, SAMPLE_TIME = 2 };

static void label(struct pb_out *b, const char *name, const char *value)
{
	size_t at = pb_open(b, LABELS);

	pb_put_str(b, LABEL_NAME, name);
	pb_put_str(b, LABEL_VALUE, value);
	pb_close(b, at);
}

/* In order of their names, of which __name__ is the first. */
static void labels(struct pb_out *b, const struct meter *m, const struct meter_point *p)
{
	const char *const own[][2] = { { "cluster", m->cluster }, { "host", m->host } };
	uint32_t i = 0;

	label(b, "__name__", p->name);
	for (size_t k = 0; k < sizeof(own) / sizeof(own[0]); k++) {
		for (; i < p->labels && strcmp(p->label[i].name, own[k][0]) < 0; i++)
			label(b, p->label[i].name, p->label[i].value);
		label(b, own[k][0], own[k][1]);
	}
	for (; i < p->labels; i++)
		label(b, p->label[i].name, p->label[i].value);
}

int meter_remote_write(struct meter *m, struct pb_out *out)
{
	for (uint32_t i = 0; i < m->points; i++) {
		size_t at, sample;

		if (m->point[i].otlp)
			continue;
		at = pb_open(out, TIMESERIES);
		labels(out, m, &m->point[i]);
		sample = pb_open(out, SAMPLES);
		pb_put_double(out, SAMPLE_VALUE, m->point[i].value);
		pb_put_u64(out, SAMPLE_TIME, m->now_ns / 1000000);
		pb_close(out, sample);
		pb_close(out, at);
	}
	return out->err;
}

/* --- snappy --- */

#define HASH_BITS 12u

static void literal(struct pb_out *out, const uint8_t *data, size_t len)
{
	while (len) {
		size_t n = len < 65536 ? len : 65536;
		uint8_t head[3] = { (uint8_t)((n - 1) << 2) };

		if (n <= 60) {
			pb_put_raw(out, head, 1);
		} else { /* its length less one in two bytes */
			head[0] = 61 << 2;
			head[1] = (uint8_t)(n - 1);
			head[2] = (uint8_t)((n - 1) >> 8);
			pb_put_raw(out, head, 3);
		}
		pb_put_raw(out, data, n);
		data += n;
		len -= n;
	}
}

static void copy(struct pb_out *out, size_t offset, size_t len)
{
	while (len) {
		size_t n = len > 64 ? 60 : len; /* what is left is never too short: 4 and more */
		uint8_t e[3] = { (uint8_t)((n - 1) << 2 | 2), (uint8_t)offset,
				 (uint8_t)(offset >> 8) };

		pb_put_raw(out, e, 3);
		len -= n;
	}
}

static uint32_t four(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

int snappy(struct pb_out *out, const uint8_t *data, size_t len)
{
	uint32_t last[1u << HASH_BITS] = { 0 }; /* where such four bytes were, + 1 */
	size_t at = 0, from = 0;

	pb_put_varint(out, len);
	while (at + 4 <= len) {
		uint32_t *slot = &last[four(data + at) * 2654435761u >> (32 - HASH_BITS)];
		size_t was = *slot, n = 4;

		*slot = (uint32_t)at + 1;
		if (!was-- || at - was > 65535 || four(data + was) != four(data + at)) {
			at++;
			continue;
		}
		while (at + n < len && data[was + n] == data[at + n])
			n++;
		literal(out, data + from, at - from);
		copy(out, at - was, n);
		at += n;
		from = at;
	}
	literal(out, data + from, len - from);
	return out->err;
}
