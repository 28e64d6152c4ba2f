/* SPDX-License-Identifier: Apache-2.0 */
/* conf.c - the stand-in's settings (README.md lists them), its devices and its clock. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <errno.h>

#include "driver.h"

struct sim_device sim_devices[SIM_DEVICES];
uint32_t sim_ndevices;

static const struct sim_device_info types[] = {
#define DEVICE(key_, name_, maj, min, sms_, warps, smem, mhz, l2, gib, gbs, tflops, link, launch) \
	{ .key = key_,                                                                            \
	  .name = name_,                                                                          \
	  .major = maj,                                                                           \
	  .minor = min,                                                                           \
	  .sms = sms_,                                                                            \
	  .warps_per_sm = warps,                                                                  \
	  .regs_per_sm = 65536,                                                                   \
	  .smem_per_sm = smem,                                                                    \
	  .clock_khz = mhz * 1000,                                                                \
	  .l2_kib = l2 * 1024,                                                                    \
	  .memory_mib = gib * 1024ull,                                                            \
	  .memory_kbs = gbs * 1000000ull,                                                         \
	  .gflops = tflops * 1000,                                                                \
	  .link_mbs = link * 1000,                                                                \
	  .launch_ns = launch },
#include "device.tbl.h"
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

/* The i-th word of a list with commas, or its last one. */
static const struct sim_device_info *type_of(const char *list, uint32_t i)
{
	const char *comma;
	size_t len;

	while (i-- && (comma = strchr(list, ',')))
		list = comma + 1;
	len = strcspn(list, ",");
	for (size_t t = 0; t < ARRAY_LEN(types); t++)
		if (strlen(types[t].key) == len && !memcmp(types[t].key, list, len))
			return &types[t];
	return &types[2];
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
		d->info = *type_of(list ? list : "h100", i);
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
