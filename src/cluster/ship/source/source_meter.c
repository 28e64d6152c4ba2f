/* SPDX-License-Identifier: Apache-2.0 */
/* source_meter.c - a source's counters as metrics. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/event.h"
#include "model/telemetry.h"
#include "ship/metrics/hw.h"
#include "ship/source/source_priv.h"

void source_count(struct known *k, const struct fold_row *r)
{
	switch (r->kind) {
	case EVENT_KERNEL:
		k->seen.kernels += r->count;
		k->seen.kernel_ns += r->total_ns;
		break;
	case EVENT_COLLECTIVE:
		k->seen.collective_ns += r->total_ns;
		break;
	case EVENT_COPY:
		k->seen.copy_bytes += r->bytes;
		break;
	case EVENT_STEP:
		k->seen.steps += r->count;
		k->seen.step_ns += r->total_ns;
		break;
	}
}

static int of_process(struct meter *m, const struct known *k)
{
	char rank[16];
	const char *labels[] = { "job", k->job, "rank", rank, NULL };
	const struct metric_sums *x = &k->seen;
	int err = 0;

	snprintf(rank, sizeof(rank), "%d", k->rank);
	if (k->rank < 0)
		rank[0] = '\0';
	if (x->kernels) {
		err |= meter_add(m, "aon_kernels_total", "1", true, (double)x->kernels, labels);
		err |= meter_add(m, "aon_kernel_seconds_total", "s", true,
				 (double)x->kernel_ns / 1e9, labels);
	}
	if (x->collective_ns)
		err |= meter_add(m, "aon_collective_seconds_total", "s", true,
				 (double)x->collective_ns / 1e9, labels);
	if (x->copy_bytes)
		err |= meter_add(m, "aon_copy_bytes_total", "By", true, (double)x->copy_bytes,
				 labels);
	if (x->steps) {
		err |= meter_add(m, "aon_steps_total", "1", true, (double)x->steps, labels);
		err |= meter_add(m, "aon_step_seconds_total", "s", true, (double)x->step_ns / 1e9,
				 labels);
	}
	return err;
}

/* Under the names that collectors gave them: labels are Prometheus', key="value" with commas. */
static int of_series(struct meter *m, const struct told_series *t)
{
	static const char *const keys[] = { "GPU_I_ID", "UUID",     "block", "bmc",  "cpu", "csrow",
					    "instance", "kind",     "link",  "mode", "pid", "port",
					    "sensor",   "severity", "state", "type", "what" };
	const struct metric *x = metric_get(t->s.metric);
	const char *labels[2 * METER_LABELS + 1];
	char value[METER_LABELS][METER_TEXT];
	size_t n = 0;
	bool device = false;

	if (!x || !t->s.id || isnan(t->now))
		return 0;
	/* In order of names, the device's own among them. */
	for (size_t i = 0; i <= sizeof(keys) / sizeof(keys[0]) && n < METER_LABELS - 1; i++) {
		const char *key = i < sizeof(keys) / sizeof(keys[0]) ? keys[i] : "~";

		if (!device && *x->device && strcmp(x->device, key) <= 0) {
			labels[2 * n] = x->device;
			labels[2 * n++ + 1] = t->s.device;
			device = true;
		}
		if (*key == '~' || !strcmp(key, x->device) ||
		    !series_label_get(t->s.labels, key, value[n], METER_TEXT))
			continue;
		labels[2 * n] = key;
		labels[2 * n + 1] = value[n];
		n++;
	}
	labels[2 * n] = NULL;
	if (meter_add(m, x->name, hw_unit(x->unit), x->type == METRIC_COUNTER, t->now, labels))
		return -ENOMEM;
	return hw_add(m, &t->s, t->now);
}

int source_meter(const struct ship_source *s, struct meter *m)
{
	int err = 0;

	snprintf(m->cluster, sizeof(m->cluster), "%s", s->o.cluster);
	snprintf(m->host, sizeof(m->host), "%s", s->o.host);
	err |= meter_add(m, "aon_processes", "1", false, (double)s->live, NULL);
	err |= meter_add(m, "aon_records_stored_total", "1", true, (double)s->stored, NULL);
	err |= meter_add(m, "aon_records_lost_total", "1", true, (double)s->lost, NULL);
	for (size_t i = 0; i < s->knowns && !err; i++)
		err = of_process(m, &s->known[i]);
	for (uint32_t i = 0; i < s->seriess && !err; i++)
		err = of_series(m, &s->series[i]);
	return err;
}
