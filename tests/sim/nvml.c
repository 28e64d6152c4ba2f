/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml.c - a stand-in for libnvidia-ml.so.1 with the public ABI: answers are the lines of a file.
 *
 *	AON_NVML_STATE=FILE	lines "GPU KEY VALUE", read again when the file changes; * is every GPU,
 *				- the system
 *
 * Keys are those of the table below; one that is not there is answered with "not supported". Faults:
 * "0 lost 1" the GPU fell off the bus, "- driver 0" there is no driver, "0 hang S" the next call sleeps,
 * "0 xid N" an event (once for each N).
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/nvml_abi.h"

#define API   __attribute__((visibility("default")))
#define LINES 8192u

struct nvml_device {
	int index;
	unsigned seen_xid;
	unsigned long long asked; /* events */
};

static struct nvml_device device[64], part[64];
static struct {
	int gpu; /* -1: the system, -2: all */
	char key[32], value[96];
} line[LINES];
static unsigned lines;
static struct timespec stamp;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void load(void)
{
	const char *path = getenv("AON_NVML_STATE");
	char gpu[8], text[256];
	struct stat sb;
	FILE *f;

	if (!path || stat(path, &sb) < 0 ||
	    (sb.st_mtim.tv_sec == stamp.tv_sec && sb.st_mtim.tv_nsec == stamp.tv_nsec))
		return;
	f = fopen(path, "re");
	if (!f)
		return;
	stamp = sb.st_mtim;
	lines = 0;
	while (lines < LINES && fgets(text, sizeof(text), f))
		if (sscanf(text, "%7s %31s %95[^\n]", gpu, line[lines].key, line[lines].value) == 3)
			line[lines++].gpu = *gpu == '-' ? -1 : *gpu == '*' ? -2 : atoi(gpu);
	fclose(f);
}

static const char *get(int gpu, const char *key)
{
	const char *found = NULL;

	pthread_mutex_lock(&lock);
	load();
	for (unsigned i = 0; i < lines && !found; i++)
		if ((line[i].gpu == gpu || (line[i].gpu == -2 && gpu >= 0)) &&
		    !strcmp(line[i].key, key))
			found = line[i].value;
	pthread_mutex_unlock(&lock);
	return found;
}

static int no_driver(void)
{
	const char *v = get(-1, "driver");

	return v && !strcmp(v, "0");
}

/* What is wrong with a device, before it is asked. */
static int wrong(nvml_dev d)
{
	const char *v;

	if (no_driver())
		return NVML_UNINITIALIZED;
	v = get(d->index, "lost");
	if (v && atoi(v))
		return NVML_GPU_IS_LOST;
	v = get(d->index, "hang");
	if (v && atoi(v))
		sleep((unsigned)atoi(v));
	return NVML_OK;
}

static int number(nvml_dev d, const char *key, double *out)
{
	int rc = wrong(d);
	const char *v = rc ? NULL : get(d->index, key);

	if (v)
		*out = atof(v);
	return rc ? rc : v ? NVML_OK : NVML_NOT_SUPPORTED;
}

static int u32(nvml_dev d, const char *key, unsigned *out)
{
	double v = 0;
	int rc = number(d, key, &v);

	if (!rc)
		*out = (unsigned)v;
	return rc;
}

static int u32_of(nvml_dev d, const char *key, unsigned of, unsigned *out)
{
	char name[32];

	snprintf(name, sizeof(name), "%s.%u", key, of);
	return u32(d, name, out);
}

static int u64(nvml_dev d, const char *key, unsigned long long *out)
{
	double v = 0;
	int rc = number(d, key, &v);

	if (!rc)
		*out = (unsigned long long)v;
	return rc;
}

static int text(int gpu, const char *key, char *out, unsigned cap)
{
	const char *v = get(gpu, key);

	if (!v)
		return NVML_NOT_SUPPORTED;
	snprintf(out, cap, "%s", v);
	return NVML_OK;
}

#define UINT(name, key)                        \
	API int name(nvml_dev d, unsigned *v); \
	API int name(nvml_dev d, unsigned *v)  \
	{                                      \
		return u32(d, key, v);         \
	}
#define UINT_OF(name, key)                                  \
	API int name(nvml_dev d, unsigned of, unsigned *v); \
	API int name(nvml_dev d, unsigned of, unsigned *v)  \
	{                                                   \
		return u32_of(d, key, of, v);               \
	}
#define ULONG(name, key)                                 \
	API int name(nvml_dev d, unsigned long long *v); \
	API int name(nvml_dev d, unsigned long long *v)  \
	{                                                \
		return u64(d, key, v);                   \
	}

UINT_OF(nvmlDeviceGetClockInfo, "clock")
UINT_OF(nvmlDeviceGetMaxClockInfo, "maxclock")

API int nvmlDeviceGetTemperature(nvml_dev d, unsigned sensor, unsigned *v);
API int nvmlDeviceGetTemperature(nvml_dev d, unsigned sensor, unsigned *v)
{
	return sensor ? NVML_INVALID_ARGUMENT : u32_of(d, "temp", sensor, v);
}

UINT_OF(nvmlDeviceGetTemperatureThreshold, "threshold")
UINT_OF(nvmlDeviceGetPcieThroughput, "pcie")
UINT_OF(nvmlDeviceGetNvLinkState, "link")
UINT(nvmlDeviceGetPowerUsage, "power")
UINT(nvmlDeviceGetPowerManagementLimit, "limit")
UINT(nvmlDeviceGetPowerManagementDefaultLimit, "limit_def")
UINT(nvmlDeviceGetEnforcedPowerLimit, "limit_enf")
UINT(nvmlDeviceGetPerformanceState, "pstate")
UINT(nvmlDeviceGetFanSpeed, "fan")
UINT(nvmlDeviceGetPcieReplayCounter, "replay")
UINT(nvmlDeviceGetCurrPcieLinkGeneration, "gen")
UINT(nvmlDeviceGetCurrPcieLinkWidth, "width")
UINT(nvmlDeviceGetMaxPcieLinkGeneration, "maxgen")
UINT(nvmlDeviceGetMaxPcieLinkWidth, "maxwidth")
UINT(nvmlDeviceGetPersistenceMode, "persistence")
ULONG(nvmlDeviceGetTotalEnergyConsumption, "energy")
ULONG(nvmlDeviceGetCurrentClocksEventReasons, "reasons")

API int nvmlInit_v2(void);
API int nvmlInit_v2(void)
{
	return no_driver() ? NVML_DRIVER_NOT_LOADED : NVML_OK;
}

API int nvmlShutdown(void);
API int nvmlShutdown(void)
{
	return NVML_OK;
}

API int nvmlDeviceGetCount_v2(unsigned *n);
API int nvmlDeviceGetCount_v2(unsigned *n)
{
	const char *v = get(-1, "gpus");

	*n = v ? (unsigned)atoi(v) : 1;
	return no_driver() ? NVML_UNINITIALIZED : NVML_OK;
}

API int nvmlDeviceGetHandleByIndex_v2(unsigned i, nvml_dev *d);
API int nvmlDeviceGetHandleByIndex_v2(unsigned i, nvml_dev *d)
{
	device[i].index = (int)i;
	*d = &device[i];
	return wrong(*d);
}

API int nvmlDeviceGetName(nvml_dev d, char *out, unsigned cap);
API int nvmlDeviceGetName(nvml_dev d, char *out, unsigned cap)
{
	return text(d->index, "name", out, cap);
}

API int nvmlDeviceGetUUID(nvml_dev d, char *out, unsigned cap);
API int nvmlDeviceGetUUID(nvml_dev d, char *out, unsigned cap)
{
	return text(d->index, "uuid", out, cap);
}

API int nvmlSystemGetDriverVersion(char *out, unsigned cap);
API int nvmlSystemGetDriverVersion(char *out, unsigned cap)
{
	return text(-1, "version", out, cap);
}

API int nvmlDeviceGetPciInfo_v3(nvml_dev d, struct nvml_pci *p);
API int nvmlDeviceGetPciInfo_v3(nvml_dev d, struct nvml_pci *p)
{
	return text(d->index, "bus", p->bus_id, sizeof(p->bus_id));
}

API int nvmlDeviceGetUtilizationRates(nvml_dev d, struct nvml_utilization *u);
API int nvmlDeviceGetUtilizationRates(nvml_dev d, struct nvml_utilization *u)
{
	int rc = u32(d, "util", &u->gpu);

	return rc ? rc : u32(d, "memutil", &u->memory);
}

API int nvmlDeviceGetEncoderUtilization(nvml_dev d, unsigned *v, unsigned *period);
API int nvmlDeviceGetEncoderUtilization(nvml_dev d, unsigned *v, unsigned *period)
{
	*period = 100000;
	return u32(d, "enc", v);
}

API int nvmlDeviceGetDecoderUtilization(nvml_dev d, unsigned *v, unsigned *period);
API int nvmlDeviceGetDecoderUtilization(nvml_dev d, unsigned *v, unsigned *period)
{
	*period = 100000;
	return u32(d, "dec", v);
}

API int nvmlDeviceGetMemoryInfo_v2(nvml_dev d, struct nvml_memory_v2 *m);
API int nvmlDeviceGetMemoryInfo_v2(nvml_dev d, struct nvml_memory_v2 *m)
{
	int rc;

	if (m->version != NVML_MEMORY_V2)
		return 25;
	rc = u64(d, "mem.total", &m->total);
	rc = rc ? rc : u64(d, "mem.free", &m->free);
	rc = rc ? rc : u64(d, "mem.used", &m->used);
	return rc ? rc : u64(d, "mem.reserved", &m->reserved);
}

API int nvmlDeviceGetViolationStatus(nvml_dev d, unsigned policy, struct nvml_violation *v);
API int nvmlDeviceGetViolationStatus(nvml_dev d, unsigned policy, struct nvml_violation *v)
{
	char key[32];

	snprintf(key, sizeof(key), "violation.%u", policy);
	return u64(d, key, &v->violation_ns);
}

API int nvmlDeviceGetTotalEccErrors(nvml_dev d, unsigned type, unsigned of, unsigned long long *v);
API int nvmlDeviceGetTotalEccErrors(nvml_dev d, unsigned type, unsigned of, unsigned long long *v)
{
	char key[32];

	snprintf(key, sizeof(key), "ecc.%u.%u", type, of);
	return u64(d, key, v);
}

API int nvmlDeviceGetMigMode(nvml_dev d, unsigned *now, unsigned *pending);
API int nvmlDeviceGetMigMode(nvml_dev d, unsigned *now, unsigned *pending)
{
	*pending = 0;
	return u32(d, "mig", now);
}

/* Parts are GPUs of their own from 32 on: of GPU g the part i is 32 + 4 g + i. */
API int nvmlDeviceGetMigDeviceHandleByIndex(nvml_dev d, unsigned i, nvml_dev *out);
API int nvmlDeviceGetMigDeviceHandleByIndex(nvml_dev d, unsigned i, nvml_dev *out)
{
	int index = 32 + 4 * d->index + (int)i;

	if (index >= 64 || i >= 4 || !get(index, "mem.total"))
		return 6;
	part[index].index = index;
	*out = &part[index];
	return NVML_OK;
}

API int nvmlDeviceGetGpuInstanceId(nvml_dev d, unsigned *id);
API int nvmlDeviceGetGpuInstanceId(nvml_dev d, unsigned *id)
{
	return u32(d, "instance", id);
}

API int nvmlDeviceGetComputeRunningProcesses_v3(nvml_dev d, unsigned *n, struct nvml_process *p);
API int nvmlDeviceGetComputeRunningProcesses_v3(nvml_dev d, unsigned *n, struct nvml_process *p)
{
	unsigned cap = *n, k = 0;
	char key[32];
	int rc = wrong(d);

	for (; !rc && k < cap; k++) {
		const char *v;

		snprintf(key, sizeof(key), "proc.%u", k);
		v = get(d->index, key);
		if (!v || sscanf(v, "%u %llu", &p[k].pid, &p[k].memory) != 2)
			break;
	}
	*n = k;
	return rc;
}

/* "0 share.K PID TIME_US SM MEMORY ENCODER DECODER": those after `since`. */
API int nvmlDeviceGetProcessUtilization(nvml_dev d, struct nvml_share *s, unsigned *n,
					unsigned long long since);
API int nvmlDeviceGetProcessUtilization(nvml_dev d, struct nvml_share *s, unsigned *n,
					unsigned long long since)
{
	unsigned cap = *n, k = 0;
	char key[32];
	int rc = wrong(d);

	for (unsigned i = 0; !rc && k < cap; i++) {
		const char *v;

		snprintf(key, sizeof(key), "share.%u", i);
		v = get(d->index, key);
		if (!v || sscanf(v, "%u %llu %u %u %u %u", &s[k].pid, &s[k].time_us, &s[k].sm,
				 &s[k].memory, &s[k].encoder, &s[k].decoder) != 6)
			break;
		k += s[k].time_us > since;
	}
	*n = k;
	return rc ? rc : k ? NVML_OK : 6;
}

UINT(nvmlDeviceGetAccountingMode, "accounting")

/* "0 account.PID BYTES": the most memory that it had. */
API int nvmlDeviceGetAccountingStats(nvml_dev d, unsigned pid, struct nvml_account *a);
API int nvmlDeviceGetAccountingStats(nvml_dev d, unsigned pid, struct nvml_account *a)
{
	char key[32];

	snprintf(key, sizeof(key), "account.%u", pid);
	return u64(d, key, &a->peak_bytes);
}

API int nvmlDeviceGetFieldValues(nvml_dev d, int n, struct nvml_field *f);
API int nvmlDeviceGetFieldValues(nvml_dev d, int n, struct nvml_field *f)
{
	char key[32];

	for (int i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "field.%u", f[i].field);
		f[i].type = 3;
		f[i].result = u64(d, key, &f[i].value.ull);
	}
	return wrong(d);
}

API int nvmlEventSetCreate(void **set);
API int nvmlEventSetCreate(void **set)
{
	*set = device;
	return NVML_OK;
}

API int nvmlEventSetFree(void *set);
API int nvmlEventSetFree(void *set)
{
	(void)set;
	return NVML_OK;
}

/* "0 events N": the mask of a GPU that lacks some, such as double-bit errors without ECC. */
API int nvmlDeviceGetSupportedEventTypes(nvml_dev d, unsigned long long *types);
API int nvmlDeviceGetSupportedEventTypes(nvml_dev d, unsigned long long *types)
{
	const char *v = get(d->index, "events");

	*types = v ? strtoull(v, NULL, 0) : NVML_EVENT_XID | NVML_EVENT_DBE;
	return NVML_OK;
}

API int nvmlDeviceRegisterEvents(nvml_dev d, unsigned long long mask, void *set);
API int nvmlDeviceRegisterEvents(nvml_dev d, unsigned long long mask, void *set)
{
	unsigned long long types;

	(void)set;
	nvmlDeviceGetSupportedEventTypes(d, &types);
	if (mask & ~types)
		return NVML_NOT_SUPPORTED; /* and none of them is registered */
	d->asked = mask;
	return NVML_OK;
}

API int nvmlEventSetWait_v2(void *set, struct nvml_event *e, unsigned ms);
API int nvmlEventSetWait_v2(void *set, struct nvml_event *e, unsigned ms)
{
	(void)set, (void)ms;
	for (int i = 0; i < 32; i++) {
		const char *v = get(i, "xid");
		unsigned xid = v ? (unsigned)atoi(v) : 0;

		if (!xid || xid == device[i].seen_xid || !(device[i].asked & NVML_EVENT_XID))
			continue;
		device[i].seen_xid = xid;
		*e = (struct nvml_event){ &device[i], NVML_EVENT_XID, xid, UINT32_MAX, UINT32_MAX };
		return NVML_OK;
	}
	return NVML_TIMEOUT;
}

API int nvmlGpmQueryDeviceSupport(nvml_dev d, struct nvml_gpm_support *s);
API int nvmlGpmQueryDeviceSupport(nvml_dev d, struct nvml_gpm_support *s)
{
	s->supported = get(d->index, "gpm.1") != NULL;
	return s->version == 1 ? NVML_OK : 25;
}

API int nvmlGpmSampleAlloc(void **s);
API int nvmlGpmSampleAlloc(void **s)
{
	*s = calloc(1, sizeof(int));
	return *s ? NVML_OK : 20;
}

API int nvmlGpmSampleFree(void *s);
API int nvmlGpmSampleFree(void *s)
{
	free(s);
	return NVML_OK;
}

API int nvmlGpmSampleGet(nvml_dev d, void *s);
API int nvmlGpmSampleGet(nvml_dev d, void *s)
{
	*(int *)s = d->index;
	return wrong(d);
}

API int nvmlGpmMetricsGet(struct nvml_gpm *g);
API int nvmlGpmMetricsGet(struct nvml_gpm *g)
{
	char key[32];

	if (g->version != 1 || !g->before || !g->after || g->before == g->after)
		return 2;
	for (unsigned i = 0; i < g->metrics; i++) {
		snprintf(key, sizeof(key), "gpm.%u", g->metric[i].id);
		g->metric[i].result = number(&device[*(int *)g->after], key, &g->metric[i].value);
	}
	return NVML_OK;
}

/* --- what `aon validate` asks for besides --- */

API int nvmlDeviceGetVbiosVersion(nvml_dev d, char *out, unsigned cap);
API int nvmlDeviceGetVbiosVersion(nvml_dev d, char *out, unsigned cap)
{
	int rc = wrong(d);

	return rc ? rc : text(d->index, "vbios", out, cap);
}

API int nvmlDeviceGetInforomImageVersion(nvml_dev d, char *out, unsigned cap);
API int nvmlDeviceGetInforomImageVersion(nvml_dev d, char *out, unsigned cap)
{
	return text(d->index, "inforom", out, cap);
}

API int nvmlSystemGetCudaDriverVersion_v2(int *v);
API int nvmlSystemGetCudaDriverVersion_v2(int *v)
{
	const char *said = get(-1, "cuda");

	*v = said ? atoi(said) : 0;
	return said ? NVML_OK : NVML_NOT_SUPPORTED;
}

API int nvmlDeviceGetEccMode(nvml_dev d, unsigned *now, unsigned *next);
API int nvmlDeviceGetEccMode(nvml_dev d, unsigned *now, unsigned *next)
{
	int rc = u32(d, "eccmode", now);

	*next = *now;
	u32(d, "eccnext", next);
	return rc;
}

API int nvmlDeviceGetPowerManagementLimitConstraints(nvml_dev d, unsigned *least, unsigned *most);
API int nvmlDeviceGetPowerManagementLimitConstraints(nvml_dev d, unsigned *least, unsigned *most)
{
	*least = 0;
	return u32(d, "limit_max", most);
}

API int nvmlDeviceGetRemappedRows(nvml_dev d, unsigned *corrected, unsigned *uncorrected,
				  unsigned *pending, unsigned *failed);
API int nvmlDeviceGetRemappedRows(nvml_dev d, unsigned *corrected, unsigned *uncorrected,
				  unsigned *pending, unsigned *failed)
{
	*corrected = *uncorrected = *failed = 0;
	u32(d, "remap_failed", failed);
	return u32(d, "remap_pending", pending);
}

API int nvmlDeviceGetMemoryInfo(nvml_dev d, struct nvml_memory *m);
API int nvmlDeviceGetMemoryInfo(nvml_dev d, struct nvml_memory *m)
{
	m->free = m->used = 0;
	return u64(d, "mem.total", &m->total);
}

API int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_dev d, unsigned long long *v);
API int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_dev d, unsigned long long *v)
{
	return u64(d, "reasons", v);
}

/* "0 meet.3 50": the ways of GPUs 0 and 3 meet at the system; "0 linkto.7 BUS"; "0 p2p.3 0" is well. */
API int nvmlDeviceGetTopologyCommonAncestor(nvml_dev a, nvml_dev b, unsigned *level);
API int nvmlDeviceGetTopologyCommonAncestor(nvml_dev a, nvml_dev b, unsigned *level)
{
	return u32_of(a, "meet", (unsigned)b->index, level);
}

API int nvmlDeviceGetP2PStatus(nvml_dev a, nvml_dev b, unsigned what, unsigned *status);
API int nvmlDeviceGetP2PStatus(nvml_dev a, nvml_dev b, unsigned what, unsigned *status)
{
	(void)what;
	return u32_of(a, "p2p", (unsigned)b->index, status);
}

API int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_dev d, unsigned link, struct nvml_pci *p);
API int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_dev d, unsigned link, struct nvml_pci *p)
{
	char key[32];

	snprintf(key, sizeof(key), "linkto.%u", link);
	return text(d->index, key, p->bus_id, sizeof(p->bus_id));
}
