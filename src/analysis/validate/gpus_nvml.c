/* SPDX-License-Identifier: Apache-2.0 */
/* gpus_nvml.c - asks NVML in a process of its own: a driver that hangs is only a result. */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "abi/nvml_abi.h"
#include "validate/sandbox.h"
#include "validate/gpus.h"

#define P2P_NVLINK 2u /* of nvmlGpuP2PCapsIndex_t */

struct ask {
	void *lib;
	nvml_dev dev[GPUS_MAX];
	struct gpu_seen seen[GPUS_MAX];
	char remote[GPUS_MAX][GPUS_LINKS][32]; /* at the other end of each link that is up */
	unsigned n;
};

/* A function by its name, of any shape; what is not there is not supported. */
#define CALL(k, name, types, ...)                                                   \
	(dlsym((k)->lib, name) ? ((int(*) types)dlsym((k)->lib, name))(__VA_ARGS__) \
			       : (int)NVML_NOT_SUPPORTED)

static void take_text(struct sandbox *a, struct ask *k, unsigned i, const char *fn, char *out,
		      size_t cap)
{
	char text[128] = "";

	sandbox_at(a, "%s of GPU %u", fn, i);
	if (CALL(k, fn, (nvml_dev, char *, unsigned), k->dev[i], text, sizeof(text)) == NVML_OK)
		snprintf(out, cap, "%.*s", (int)cap - 1, text);
}

static void take_number(struct sandbox *a, struct ask *k, unsigned i, const char *fn, double scale,
			double *out)
{
	unsigned v = 0;

	sandbox_at(a, "%s of GPU %u", fn, i);
	if (CALL(k, fn, (nvml_dev, unsigned *), k->dev[i], &v) == NVML_OK && v != UINT32_MAX)
		*out = v * scale;
}

static void take_links(struct sandbox *a, struct ask *k, unsigned i)
{
	struct gpu_seen *g = &k->seen[i];

	for (unsigned l = 0; l < GPUS_LINKS; l++) {
		struct nvml_pci pci;
		unsigned up = 0;

		sandbox_at(a, "nvmlDeviceGetNvLinkState of GPU %u, link %u", i, l);
		if (CALL(k, "nvmlDeviceGetNvLinkState", (nvml_dev, unsigned, unsigned *), k->dev[i],
			 l, &up) != NVML_OK)
			continue;
		g->links = isfinite(g->links) ? g->links + 1 : 1;
		g->links_up = (isfinite(g->links_up) ? g->links_up : 0) + (up != 0);
		memset(&pci, 0, sizeof(pci));
		if (up &&
		    CALL(k, "nvmlDeviceGetNvLinkRemotePciInfo_v2",
			 (nvml_dev, unsigned, struct nvml_pci *), k->dev[i], l, &pci) == NVML_OK)
			memcpy(k->remote[i][l], pci.bus_id, sizeof(pci.bus_id) - 1);
	}
}

static void take_health(struct sandbox *a, struct ask *k, unsigned i)
{
	unsigned x[4] = { 0 }, now = 0, next = 0;
	struct gpu_seen *g = &k->seen[i];
	unsigned long long v = 0;
	struct nvml_memory m;

	sandbox_at(a, "ECC and memory of GPU %u", i);
	if (CALL(k, "nvmlDeviceGetEccMode", (nvml_dev, unsigned *, unsigned *), k->dev[i], &now,
		 &next) == NVML_OK) {
		g->ecc = now;
		g->ecc_next = next;
	}
	if (CALL(k, "nvmlDeviceGetRemappedRows",
		 (nvml_dev, unsigned *, unsigned *, unsigned *, unsigned *), k->dev[i], &x[0],
		 &x[1], &x[2], &x[3]) == NVML_OK) {
		g->pending = x[2];
		g->failed = x[3];
	}
	if (CALL(k, "nvmlDeviceGetTotalEccErrors",
		 (nvml_dev, unsigned, unsigned, unsigned long long *), k->dev[i], 1, 0,
		 &v) == NVML_OK)
		g->uncorrected = (double)v;
	if (CALL(k, "nvmlDeviceGetMemoryInfo", (nvml_dev, struct nvml_memory *), k->dev[i], &m) ==
	    NVML_OK)
		g->memory_mib = (double)(m.total >> 20);
	if (CALL(k, "nvmlDeviceGetMigMode", (nvml_dev, unsigned *, unsigned *), k->dev[i], &now,
		 &next) == NVML_OK)
		snprintf(g->mig, sizeof(g->mig), "%s", now ? "on" : "off");
	if (CALL(k, "nvmlDeviceGetPowerManagementLimitConstraints",
		 (nvml_dev, unsigned *, unsigned *), k->dev[i], &now, &next) == NVML_OK)
		g->most_W = next * 1e-3;
	if (CALL(k, "nvmlDeviceGetCurrentClocksThrottleReasons", (nvml_dev, unsigned long long *),
		 k->dev[i], &v) == NVML_OK)
		g->slowed = (v & GPUS_SLOWED) != 0;
}

/* The `index`th of NVML's, as the next of ours. */
static int take_gpu(struct sandbox *a, struct ask *k, unsigned index)
{
	unsigned i = k->n;
	struct gpu_seen *g = &k->seen[i];
	struct nvml_pci pci;
	int rc;

	gpu_seen_init(g);
	sandbox_at(a, "nvmlDeviceGetHandleByIndex of GPU %u", index);
	rc = CALL(k, "nvmlDeviceGetHandleByIndex_v2", (unsigned, nvml_dev *), index, &k->dev[i]);
	if (rc != NVML_OK)
		return rc;
#define TEXT(fn, field)          take_text(a, k, i, fn, g->field, sizeof(g->field));
#define NUMBER(fn, field, scale) take_number(a, k, i, fn, scale, &g->field);
#include "validate/gpus.tbl.h"
	memset(&pci, 0, sizeof(pci));
	if (CALL(k, "nvmlDeviceGetPciInfo_v3", (nvml_dev, struct nvml_pci *), k->dev[i], &pci) ==
	    NVML_OK)
		snprintf(g->bus, sizeof(g->bus), "%.31s", pci.bus_id);
	take_health(a, k, i);
	take_links(a, k, i);
	k->n++;
	return NVML_OK;
}

/* As `nvidia-smi topo -m` has it: links between the two, else where their ways over PCIe meet. */
static void put_way(struct sandbox *a, const struct ask *k, unsigned i, unsigned j)
{
	static const char *const meet[] = { "INT", "PIX", "PXB", "PHB", "NODE", "SYS" };
	unsigned direct = 0, status = 1, level = 99;
	char key[48];

	sandbox_at(a, "the way from GPU %u to GPU %u", i, j);
	snprintf(key, sizeof(key), "gpu/topology/%u-%u", i, j);
	for (unsigned l = 0; l < GPUS_LINKS; l++)
		direct += *k->remote[i][l] && !strcasecmp(k->remote[i][l], k->seen[j].bus);
	if (!direct &&
	    CALL(k, "nvmlDeviceGetP2PStatus", (nvml_dev, nvml_dev, unsigned, unsigned *), k->dev[i],
		 k->dev[j], P2P_NVLINK, &status) == NVML_OK &&
	    status == 0 && k->seen[i].links_up > 0)
		direct = (unsigned)k->seen[i].links_up; /* through switches */
	if (direct)
		facts_set(&a->f, key, "NV%u", direct);
	else if (CALL(k, "nvmlDeviceGetTopologyCommonAncestor", (nvml_dev, nvml_dev, unsigned *),
		      k->dev[i], k->dev[j], &level) == NVML_OK &&
		 level <= 50)
		facts_set(&a->f, key, "%s", meet[level / 10]);
}

static void put_versions(struct sandbox *a, const struct ask *k)
{
	char text[96] = "";
	int cuda = 0;

	if (CALL(k, "nvmlSystemGetDriverVersion", (char *, unsigned), text, sizeof(text)) ==
	    NVML_OK)
		facts_set(&a->f, "gpu/driver", "%.90s", text);
	if (CALL(k, "nvmlSystemGetCudaDriverVersion_v2", (int *), &cuda) == NVML_OK && cuda > 0)
		facts_set(&a->f, "gpu/cuda", "%d.%d", cuda / 1000, cuda % 1000 / 10);
}

static void ask(struct sandbox *a, void *arg)
{
	struct ask *k = calloc(1, sizeof(*k));
	unsigned count = 0;
	int rc;

	if (!k)
		return;
	sandbox_at(a, "loading NVML");
	k->lib = dlopen(arg ? arg : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!k->lib) {
		a->err = -ENOENT;
		return;
	}
	sandbox_at(a, "nvmlInit");
	rc = CALL(k, "nvmlInit_v2", (void), );
	if (rc == NVML_OK)
		rc = CALL(k, "nvmlDeviceGetCount_v2", (unsigned *), &count);
	if (rc != NVML_OK) {
		facts_set(&a->f, "gpu/nvml", "error %d: %s", rc,
			  rc == NVML_DRIVER_NOT_LOADED ? "the driver is not loaded"
			  : rc == NVML_VERSION_MISMATCH
				  ? "library and driver are of different versions"
				  : "NVML cannot be begun");
		return;
	}
	put_versions(a, k);
	for (unsigned i = 0; i < count && i < GPUS_MAX; i++) {
		rc = take_gpu(a, k, i);
		if (rc != NVML_OK)
			facts_set(&a->f, "gpu/nvml", "error %d of GPU %u%s", rc, i,
				  rc == NVML_GPU_IS_LOST ? ": it is lost" : "");
	}
	gpus_put(&a->f, k->seen, k->n);
	for (unsigned i = 0; i < k->n; i++)
		for (unsigned j = i + 1; j < k->n; j++)
			put_way(a, k, i, j);
	if (!facts_get(&a->f, "gpu/nvml"))
		facts_set(&a->f, "gpu/nvml", "ok");
}

void gpus_ask(struct facts *f, const char *library, unsigned limit_ms)
{
	char at[SANDBOX_AT] = "";
	double on_bus = 0, answer;
	int err = sandbox_run(f, limit_ms, ask, (void *)library, at);

	facts_number(f, "gpu/on_bus", &on_bus);
	if (err == -ETIMEDOUT)
		facts_set(f, "gpu/nvml", "no answer in %u ms: %.100s", limit_ms, at);
	else if (err && err != -ENOENT)
		facts_set(f, "gpu/nvml", "crashed: %.100s", at);
	else if (err && on_bus > 0)
		facts_set(f, "gpu/nvml", "no library: the driver is not installed");
	if (on_bus > 0 && facts_number(f, "gpu/count", &answer))
		facts_set(f, "gpu/lost", "%.0f", on_bus > answer ? on_bus - answer : 0);
}
