/* SPDX-License-Identifier: Apache-2.0 */
/* gauge.c - see gauge.h. A device measured once stays in the table: the node has only so many. */
#include "daemon/stream/gauge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NOW, SUM };

static const struct {
	uint32_t metric;
	uint8_t have, kind;
	const char *label, *value;
} rows[] = {
#define GAUGE(field, HAVE, kind, metric, label, value) \
	{ metric, STEP_HAVE_##HAVE, kind, label, value },
#include "daemon/stream/gauge.tbl.h"
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static struct gauge_device *device_of(struct gauges *g, const struct series *s)
{
	struct gauge_device *d;

	for (uint32_t i = 0; i < g->n; i++)
		if (!strcmp(g->device[i].name, s->device))
			return &g->device[i];
	if (g->n == GAUGE_DEVICES || strlen(s->device) >= sizeof(d->name))
		return NULL;
	d = &g->device[g->n++];
	snprintf(d->name, sizeof(d->name), "%s", s->device);
	if (!series_label_get(s->labels, "UUID", d->uuid, sizeof(d->uuid)))
		d->uuid[0] = '\0';
	for (size_t i = 0; i < STEP_COUNTERS; i++)
		d->v[i] = NAN;
	return d;
}

double *gauge_of(struct gauges *g, const struct series *s, bool *sum)
{
	char value[64];

	for (size_t i = 0; i < ROWS; i++) {
		struct gauge_device *d;

		if (rows[i].metric != s->metric ||
		    (rows[i].label &&
		     (!series_label_get(s->labels, rows[i].label, value, sizeof(value)) ||
		      strcmp(value, rows[i].value))))
			continue;
		d = device_of(g, s);
		*sum = rows[i].kind == SUM;
		return d ? &d->v[rows[i].have] : NULL;
	}
	return NULL;
}

void gauge_take(double *to, bool sum, double was, double is)
{
	if (!sum)
		*to = is;
	else if (!isnan(is))
		*to = (isnan(*to) ? 0 : *to) + (is > was ? is - was : 0);
}

/* --- into a record --- */

/* The i-th UUID of a list; the one that there is, if it is one. */
static bool is_listed(const char *list, uint32_t i, const char *uuid)
{
	size_t len = strcspn(list, ",");

	for (; i && list[len]; i--) {
		list += len + 1;
		len = strcspn(list, ",");
	}
	return len && strlen(uuid) == len && !memcmp(list, uuid, len);
}

static const struct gauge_device *gpu_of(const struct gauges *g, const char *gpus, uint32_t index)
{
	char name[24];

	snprintf(name, sizeof(name), "nvidia%u", index);
	for (uint32_t i = 0; i < g->n; i++)
		if (*gpus ? is_listed(gpus, index, g->device[i].uuid)
			  : !strcmp(g->device[i].name, name))
			return &g->device[i];
	return NULL;
}

/* The card that was named; else the only one that there is. */
static const struct gauge_device *nic_of(const struct gauges *g, const char *nic)
{
	const struct gauge_device *only = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		const struct gauge_device *d = &g->device[i];

		if (isnan(d->v[STEP_HAVE_RETRANS]) && isnan(d->v[STEP_HAVE_CNP]))
			continue;
		if (*nic && !strcmp(d->name, nic))
			return d;
		only = d;
		n++;
	}
	return !*nic && n == 1 ? only : NULL;
}

static double added(struct gauge_said *said, uint32_t have, double v)
{
	double by = said->any[have] ? v - said->v[have] : 0;

	said->any[have] = true;
	said->v[have] = v;
	return by;
}

static bool is_nics(uint32_t have)
{
	return have == STEP_HAVE_RETRANS || have == STEP_HAVE_CNP;
}

void gauge_put(const struct gauges *g, const char *gpus, const char *nic, struct gauge_said *said,
	       struct step_rec *r)
{
	const struct gauge_device *gpu = gpu_of(g, gpus, r->gpu), *card = nic_of(g, nic);

#define GAUGE(field, HAVE, kind, metric, label, value)                                            \
	do {                                                                                      \
		const struct gauge_device *d = is_nics(STEP_HAVE_##HAVE) ? card : gpu;            \
		double v = d ? d->v[STEP_HAVE_##HAVE] : NAN;                                      \
                                                                                                  \
		if (r->have >> STEP_HAVE_##HAVE & 1 || isnan(v))                                  \
			break;                                                                    \
		v = kind == SUM ? added(said, STEP_HAVE_##HAVE, v) : v;                           \
		r->field = (__typeof__(r->field))(v > 0 ? fmin(v, (__typeof__(r->field))-1) : 0); \
		r->have |= 1u << STEP_HAVE_##HAVE;                                                \
	} while (0);
#include "daemon/stream/gauge.tbl.h"
}
