/* SPDX-License-Identifier: Apache-2.0 */
/* nvmmh.c - see nvmmh.h. The types are those of nvMatmulHeuristics 0.1's header. */
#include "cli/model/nvmmh.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY    "libnvMatmulHeuristics.so.0"
#define IN_PACKAGE "nvidia/nvMatmulHeuristics/lib/" LIBRARY

enum { STATUS_SUCCESS = 1, TARGET_CUTLASS3 = 4, LAYOUT_TN_COL_MAJOR = 6, CONFIGS = 8 };

struct problem {
	uint32_t m, n, k, batch;
	uint8_t layout;
};

struct config {
	uint16_t cta[3], warp[3], instr[3], split_k;
	uint8_t stages, swizzle, order, cluster[2];
};

/* Never given back: where there is no driver its Destroy() closes the one it did not open, and
 * crashes. */
static struct second {
	void *handle, *hardware;
	char version[48];
	int (*create)(void **);
	int (*hardware_create)(void **);
	int (*hardware_set)(void *, unsigned);
	unsigned (*get_config)(void *, const char *, unsigned, int, const struct problem *,
			       struct config *, unsigned, void *);
	double (*estimate)(void *, const char *, int, const struct problem *, const struct config *,
			   void *);
	unsigned (*major)(void);
	unsigned (*minor)(void);
	unsigned (*patch)(void);
} lib;

static const struct {
	const char *name;
	size_t at;
} symbols[] = {
	{ "nvMatmulHeuristicsCreate", offsetof(struct second, create) },
	{ "nvMatmulHeuristicsHardwareDescriptorCreate", offsetof(struct second, hardware_create) },
	{ "nvMatmulHeuristicsHardwareDescriptorSetPredefinedGpu",
	  offsetof(struct second, hardware_set) },
	{ "nvMatmulHeuristicsGetGemmConfig", offsetof(struct second, get_config) },
	{ "nvMatmulHeuristicsEstimateRuntime", offsetof(struct second, estimate) },
	{ "nvMatmulHeuristicsGetVersionMajor", offsetof(struct second, major) },
	{ "nvMatmulHeuristicsGetVersionMinor", offsetof(struct second, minor) },
	{ "nvMatmulHeuristicsGetVersionPatch", offsetof(struct second, patch) },
};

/* Its numbers of devices, by our keys. */
static const struct {
	const char *key;
	unsigned gpu;
} devices[] = {
	{ "A100_SXM_80", 8000 }, { "A100_PCIE_80", 8001 }, { "A30", 8002 },
	{ "A10", 8003 },         { "L40S", 8902 },         { "L4", 8903 },
	{ "RTX_4090", 8904 },    { "H100_SXM", 9000 },     { "H800_SXM", 9000 },
	{ "H100_PCIE", 9001 },   { "H100_NVL", 9002 },     { "H200", 9003 },
	{ "H20", 9004 },         { "B200", 10000 },        { "GB200", 10001 },
	{ "GB300", 10300 },      { "RTX_5090", 12001 },
};

/* Letters of the operands, what is computed in, and the result. */
static const char *const precision[GPU_TYPES] = {
	[GPU_FP64] = "DDD", [GPU_FP32] = "SSS",  [GPU_TF32] = "SFS",  [GPU_FP16] = "HSH",
	[GPU_BF16] = "TST", [GPU_FP8] = "QQTST", [GPU_FP4] = "OOTST", [GPU_INT8] = "BII",
};

static void *load_matching(const char *pattern)
{
	void *found = NULL;
	glob_t g;

	if (!glob(pattern, 0, NULL, &g))
		for (size_t i = 0; i < g.gl_pathc && !found; i++)
			found = dlopen(g.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
	globfree(&g);
	return found;
}

static void *load(const char *path)
{
	static const char *const place[] = {
		"/usr/local/lib/python3*/*-packages/" IN_PACKAGE,
		"/usr/lib/python3*/*-packages/" IN_PACKAGE,
	};
	const char *given = path ? path : getenv("AON_NVMMH");
	const char *under[] = { getenv("VIRTUAL_ENV"), getenv("HOME") };
	static const char *const below[] = { "lib", ".local/lib" };
	char pattern[4096];
	void *found;

	if (given && *given)
		return dlopen(given, RTLD_NOW | RTLD_LOCAL);
	found = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; !found && i < 2; i++)
		if (under[i] && *under[i] &&
		    snprintf(pattern, sizeof(pattern), "%s/%s/python3*/site-packages/" IN_PACKAGE,
			     under[i], below[i]) < (int)sizeof(pattern))
			found = load_matching(pattern);
	for (size_t i = 0; !found && i < 2; i++)
		found = load_matching(place[i]);
	return found;
}

int nvmmh_open(const char *path)
{
	void *from, *symbol;

	if (*lib.version)
		return 0;
	from = load(path);
	if (!from)
		return -ENOENT;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		symbol = dlsym(from, symbols[i].name);
		if (!symbol)
			return -ELIBBAD;
		memcpy((char *)&lib + symbols[i].at, &symbol, sizeof(symbol));
	}
	if (lib.major() != 0 || lib.minor() != 1 || lib.create(&lib.handle) != STATUS_SUCCESS ||
	    lib.hardware_create(&lib.hardware) != STATUS_SUCCESS)
		return -ELIBBAD;
	snprintf(lib.version, sizeof(lib.version), "nvMatmulHeuristics %u.%u.%u", lib.major(),
		 lib.minor(), lib.patch());
	return 0;
}

const char *nvmmh_version(void)
{
	return lib.version;
}

static int choose_device(const struct gpu *g)
{
	for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++)
		if (!strcmp(devices[i].key, g->key))
			return lib.hardware_set(lib.hardware, devices[i].gpu) == STATUS_SUCCESS
				       ? 0
				       : -ENOTSUP;
	return -ENOTSUP;
}

int nvmmh_gemm(struct nvmmh_time *out, const struct gpu *g, const struct gemm *x)
{
	struct problem p = { (uint32_t)x->m, (uint32_t)x->n, (uint32_t)x->k, (uint32_t)x->batch,
			     LAYOUT_TN_COL_MAJOR };
	const char *word = precision[x->type];
	struct config c[CONFIGS] = { 0 };
	struct nvmmh_time best = { .ns = 0 };
	unsigned n;
	int err;

	if (x->m > UINT32_MAX || x->n > UINT32_MAX || x->k > UINT32_MAX || x->batch > UINT32_MAX)
		return -ERANGE;
	err = choose_device(g);
	if (err < 0)
		return err;
	n = lib.get_config(lib.handle, word, 0, TARGET_CUTLASS3, &p, c, CONFIGS, lib.hardware);
	for (unsigned i = 0; i < n && i < CONFIGS; i++) {
		double ns =
			lib.estimate(lib.handle, word, TARGET_CUTLASS3, &p, &c[i], lib.hardware) *
			1e9;

		if (ns > 0 && (best.ns <= 0 || ns < best.ns))
			best = (struct nvmmh_time){ ns, c[i].cta[0], c[i].cta[1], c[i].split_k };
	}
	if (best.ns <= 0)
		return -ENOTSUP;
	*out = best;
	return 0;
}
