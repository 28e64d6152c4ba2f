/* SPDX-License-Identifier: Apache-2.0 */
/* conf.c - the stand-in's settings (README.md lists them), its devices and its clock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <errno.h>

#include "driver.h"
#include "theory/gpu.h"

struct sim_device sim_devices[SIM_DEVICES];
uint32_t sim_ndevices;

#define LAUNCH_NS 4000 /* of those that the table has no word for */

static const struct {
	const char *word, *key;
	uint32_t launch_ns;
} types[] = {
#define DEVICE(word, key, launch) { word, key, launch },
#include "device.tbl.h"
};

static const struct sm {
	uint32_t cc, warps, kib;
} sms[] = {
#define SM(cc, warps, blocks, kib, ...) { cc, warps, kib },
#include "theory/sm.tbl.h"
};

const char *sim_env(const char *name)
{
	const char *s = getenv(name);

	return s && *s ? s : NULL;
}

long long sim_env_int(const char *name, long long unset)
{
	const char *s = sim_env(name);

	return s ? strtoll(s, NULL, 0) : unset;
}

static const struct sm *sm_of(const struct gpu *g)
{
	for (size_t i = 0; g && i < ARRAY_LEN(sms); i++)
		if (sms[i].cc == g->cc)
			return &sms[i];
	return NULL;
}

static void be(struct sim_device *d, const struct gpu *g, uint32_t launch_ns)
{
	const struct sm *sm = sm_of(g);

	d->gpu = g;
	d->info = (struct sim_device_info){
		.name = g->name,
		.major = g->cc / 10,
		.minor = g->cc % 10,
		.sms = g->sms,
		.warps_per_sm = sm->warps,
		.regs_per_sm = 65536,
		.smem_per_sm = sm->kib << 10,
		.clock_khz = g->clock_mhz * 1000,
		.l2_kib = (uint32_t)(g->l2_bytes >> 10),
		.memory_mib = g->memory_bytes >> 20,
		.memory_kbs = (uint64_t)(g->memory_Bps / 1e3),
		.launch_ns = launch_ns,
	};
}

/* The i-th word of a list with commas, or its last one; of what is not known, an H100. */
static void become(struct sim_device *d, const char *list, uint32_t i)
{
	char word[32] = "";
	const char *comma;

	while (i-- && (comma = strchr(list, ',')))
		list = comma + 1;
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(list, ","), list);
	for (size_t t = 0; t < ARRAY_LEN(types); t++)
		if (!strcmp(types[t].word, word)) {
			be(d, gpu_find(types[t].key), types[t].launch_ns);
			return;
		}
	be(d, sm_of(gpu_find(word)) ? gpu_find(word) : gpu_find("H100_SXM"), LAUNCH_NS);
}

void sim_conf_devices(void)
{
	const char *list = sim_env("SIM_DEVICE_TYPE"), *lost = sim_env("SIM_LOST"), *at;
	long long n = sim_env_int("SIM_DEVICES", 1), launch = sim_env_int("SIM_LAUNCH_NS", -1);

	sim_ndevices = n < 0 ? 0 : n > SIM_DEVICES ? SIM_DEVICES : (uint32_t)n;
	for (uint32_t i = 0; i < sim_ndevices; i++) {
		struct sim_device *d = &sim_devices[i];

		pthread_mutex_init(&d->lock, NULL);
		d->id = i;
		become(d, list ? list : "h100", i);
		if (launch >= 0)
			d->info.launch_ns = (uint32_t)launch;
	}
	at = lost ? strchr(lost, '@') : NULL;
	if (at && strtoul(lost, NULL, 0) < sim_ndevices)
		sim_devices[strtoul(lost, NULL, 0)].lost_at = strtoull(at + 1, NULL, 0);
}

uint64_t sim_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

void sim_wait(uint64_t until)
{
	struct timespec t = { .tv_sec = (time_t)(until / 1000000000ull),
			      .tv_nsec = (long)(until % 1000000000ull) };

	while (sim_now() < until)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}
