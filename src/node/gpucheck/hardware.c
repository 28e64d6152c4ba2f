/* SPDX-License-Identifier: Apache-2.0 */
/* hardware.c - the checks nvml and counters: what the GPU tells of itself. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gpucheck/check.h"

#define SPIN_NS 1000000u
#define FOR_MS  2000u /* some ticks of the probe's thread */

/* --- counters: with the real probe; aon doctor looks into its store --- */

void check_counters(void)
{
	const char *probe = getenv("AON_GPU_PROBE");
	unsigned ms = scaled(FOR_MS, 1000);
	uint64_t end;

	if (!probe)
		unknown("no libaon-cuda.so or no aond beside aon");
	setenv("CUDA_INJECTION64_PATH", probe, 1);
	setenv("AON_COUNTERS", "pm", 1);
	driver_load();
	driver_init();
	driver_context();
	for (end = clock_mono_ms() + ms; clock_mono_ms() < end;) {
		driver_spin(SPIN_NS, NULL);
		driver_wait();
	}
	fact("wants_counters", "1");
	say("kernels ran for %u ms", ms);
}

/* --- nvml: a poll of the collector as it is --- */

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct number *)a)->name, ((const struct number *)b)->name);
}

/* Series of each GPU, and the metrics that there are, in lines that fit. */
static void list_metrics(struct again *a, unsigned *metrics)
{
	char text[200] = "", key[32];
	unsigned part = 0;

	qsort(a->got, a->n, sizeof(a->got[0]), by_key);
	for (unsigned i = 0; i < a->n; i++) {
		size_t at = strlen(text);

		(*metrics)++;
		snprintf(text + at, sizeof(text) - at, "%s%s", at ? " " : "", a->got[i].name);
		if (at < 150 && i + 1 < a->n)
			continue;
		snprintf(key, sizeof(key), "metrics.%u", part++);
		fact(key, "%s", text);
		text[0] = '\0';
	}
}

void check_nvml(void)
{
	static const char script[] = "\"$0\" --print --all --polls 1 nvml 2>/dev/null | sed -n "
				     "'s/^DCGM_FI_\\([A-Za-z_0-9]*\\){.*/\\1/p' | sort | uniq -c | "
				     "while read n name; do echo \"$name $n\"; done";
	const char *argv[] = { "/bin/sh", "-c", script, getenv("AON_GPU_COLLECT"), NULL };
	struct again a = { .argv = argv };
	unsigned metrics = 0;
	int64_t gpus = 0;

	if (!argv[3])
		unknown("no aon-collect beside aon");
	if (!dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL))
		unknown("no libnvidia-ml.so.1");
	if (!again(&a, "nvml"))
		unknown("aon-collect could not be started");
	list_metrics(&a, &metrics);
	for (unsigned i = 0; i < a.n; i++)
		gpus = a.got[i].value > gpus ? a.got[i].value : gpus;
	say("%u metrics of %lld GPUs", metrics, (long long)gpus);
	if (metrics)
		return;
	fix("run aon-collect without nvml: it tells nothing here");
	verdict(FAIL);
}
