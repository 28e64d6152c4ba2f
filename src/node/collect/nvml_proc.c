/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_proc.c - see nvml_proc.h. */
#include "collect/nvml_proc.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "collect/emit.h"
#include "model/telemetry.h"

#define PROCS  64u
#define SHARES 4096u /* samples since the last poll: six a second for each process */

enum { SM, MEMORY, ENCODER, DECODER, PARTS };

static void put(const struct nvml_proc_gpu *g, struct emit *e, const char *metric, unsigned pid,
		const char *engine, double v)
{
	char labels[SERIES_LABELS_MAX + 1], text[16];

	snprintf(labels, sizeof(labels), "%s", g->labels);
	snprintf(text, sizeof(text), "%u", pid);
	series_label(labels, "pid", text);
	if (engine)
		series_label(labels, "engine", engine);
	emit_group(e, g->group);
	emit_count(e, emit_series(e, metric, g->device, labels), v);
}

static void put_shares(const struct nvml_proc_gpu *g, struct emit *e, unsigned pid,
		       const double sum[PARTS], unsigned n)
{
	static const char *const engine[PARTS] = { "sm", NULL, "encoder", "decoder" };

	for (unsigned i = 0; i < PARTS; i++)
		if (i == SM || (engine[i] && sum[i] > 0))
			put(g, e, "aon_gpu_process_engine_ratio", pid, engine[i], sum[i] / n / 100);
	put(g, e, "aon_gpu_process_memory_ratio", pid, NULL, sum[MEMORY] / n / 100);
}

/* Samples come for each process that worked, some a second; of each process the mean. */
static void poll_shares(const struct nvml_proc_calls *c, const struct nvml_proc_gpu *g,
			struct emit *e)
{
	static struct nvml_share s[SHARES];
	unsigned count = SHARES;
	unsigned long long newest = *g->seen_us;

	if (!c->share || c->share(g->dev, s, &count, *g->seen_us) != NVML_OK || count > SHARES)
		return;
	for (unsigned i = 0; i < count; i++) {
		double sum[PARTS] = { 0 };
		unsigned n = 0, pid = s[i].pid;

		if (!pid || s[i].time_us <= *g->seen_us)
			continue;
		for (unsigned k = i; k < count; k++) {
			if (s[k].pid != pid || s[k].time_us <= *g->seen_us)
				continue;
			newest = s[k].time_us > newest ? s[k].time_us : newest;
			sum[SM] += s[k].sm;
			sum[MEMORY] += s[k].memory;
			sum[ENCODER] += s[k].encoder;
			sum[DECODER] += s[k].decoder;
			n++;
			if (k != i)
				s[k].pid = 0; /* counted */
		}
		put_shares(g, e, pid, sum, n);
	}
	*g->seen_us = newest;
}

void nvml_proc_poll(const struct nvml_proc_calls *c, const struct nvml_proc_gpu *g, struct emit *e)
{
	static struct nvml_process p[PROCS];
	unsigned count = PROCS, on = 0;
	struct nvml_account a;
	int rc;

	poll_shares(c, g, e);
	emit_group(e, g->group);
	if (c->accounting && c->accounting(g->dev, &on) == NVML_OK)
		emit_count(e, emit_series(e, "aon_gpu_accounting_mode", g->device, g->labels), on);
	if (!c->running)
		return;
	rc = c->running(g->dev, &count, p);
	if (rc != NVML_OK && rc != NVML_INSUFFICIENT_SIZE)
		return;
	emit_count(e, emit_series(e, "aon_gpu_processes", g->device, g->labels), count);
	for (unsigned i = 0; i < count && i < PROCS && rc == NVML_OK; i++) {
		if (p[i].memory != UINT64_MAX)
			put(g, e, "aon_gpu_process_memory_bytes", p[i].pid, NULL,
			    (double)p[i].memory);
		memset(&a, 0, sizeof(a));
		if (on == 1 && c->account && c->account(g->dev, p[i].pid, &a) == NVML_OK &&
		    a.peak_bytes != UINT64_MAX)
			put(g, e, "aon_gpu_process_memory_peak_bytes", p[i].pid, NULL,
			    (double)a.peak_bytes);
	}
}
