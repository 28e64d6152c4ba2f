/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.c - GPUs as NVML or a log reports them, as facts of each and of all. */
#include "validate/gpus.h"

#include <math.h>
#include <string.h>

/* One row of what a GPU has: struct gpu_seen's field, the word of the fact, its digits. */
static const struct {
	size_t at;
	const char *word;
	bool on_off;
} numbers[] = {
#define N(field, word, on_off)                                 \
	{                                                      \
		offsetof(struct gpu_seen, field), word, on_off \
	}
	N(persistence, "persistence", true),
	N(ecc, "ecc", true),
	N(ecc_next, "ecc_after_reboot", true),
	N(limit_W, "power_limit_W", false),
	N(usual_W, "power_default_W", false),
	N(most_W, "power_max_W", false),
	N(gen_max, "pcie_gen_max", false),
	N(width, "pcie_width", false),
	N(width_max, "pcie_width_max", false),
	N(memory_mib, "memory_MiB", false),
	N(links, "nvlinks", false),
	N(links_up, "nvlinks_up", false),
#undef N
};

static const struct {
	size_t at;
	const char *word;
} texts[] = {
	{ offsetof(struct gpu_seen, name), "name" },
	{ offsetof(struct gpu_seen, vbios), "vbios" },
	{ offsetof(struct gpu_seen, inforom), "inforom" },
	{ offsetof(struct gpu_seen, bus), "bus" },
	{ offsetof(struct gpu_seen, mig), "mig" },
};

static double number(const struct gpu_seen *g, size_t at)
{
	double v;

	memcpy(&v, (const char *)g + at, sizeof(v));
	return v;
}

void gpu_seen_init(struct gpu_seen *g)
{
	static const double none = NAN;

	memset(g, 0, sizeof(*g));
	for (size_t at = offsetof(struct gpu_seen, persistence); at < sizeof(*g);
	     at += sizeof(none))
		memcpy((char *)g + at, &none, sizeof(none));
}

static void put_one(struct facts *f, const struct gpu_seen *g, unsigned i)
{
	char key[FACT_KEY];

	for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
		snprintf(key, sizeof(key), "gpu/%u/%s", i, texts[k].word);
		if (*((const char *)g + texts[k].at))
			facts_set(f, key, "%s", (const char *)g + texts[k].at);
	}
	for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
		double v = number(g, numbers[k].at);

		snprintf(key, sizeof(key), "gpu/%u/%s", i, numbers[k].word);
		if (isfinite(v) && numbers[k].on_off)
			facts_set(f, key, "%s", v != 0 ? "on" : "off");
		else if (isfinite(v))
			facts_set(f, key, "%.6g", v);
	}
}

/* How many are so, and which; nothing if of none it is known. */
static void put_sum(struct facts *f, const char *key, const double *is, unsigned n)
{
	char where[FACT_KEY], list[128] = "";
	unsigned known = 0;
	double sum = 0;

	for (unsigned i = 0; i < n; i++) {
		size_t used = strlen(list);

		if (!isfinite(is[i]))
			continue;
		known++;
		sum += is[i];
		if (is[i] > 0)
			snprintf(list + used, sizeof(list) - used, "%s%u", used ? " " : "", i);
	}
	if (!known)
		return;
	facts_set(f, key, "%.0f", sum);
	snprintf(where, sizeof(where), "%s_at", key);
	if (*list)
		facts_set(f, where, "GPU %s", list);
}

void gpus_put(struct facts *f, const struct gpu_seen *g, unsigned n)
{
	enum {
		LAZY,
		NO_ECC,
		LOWERED,
		NARROW,
		SLOW,
		PENDING,
		FAILED,
		UNCORRECTED,
		DOWN,
		SLOWED,
		SUMS
	};
	static const char *const key[SUMS] = { "gpu/persistence_off", "gpu/ecc_off",
					       "gpu/power_lowered",   "gpu/pcie_narrow",
					       "gpu/pcie_slow",       "gpu/remap_pending",
					       "gpu/remap_failed",    "gpu/uncorrected",
					       "gpu/nvlinks_down",    "gpu/slowed" };
	double is[SUMS][GPUS_MAX];

	n = n < GPUS_MAX ? n : GPUS_MAX;
	for (unsigned i = 0; i < n; i++) {
		const struct gpu_seen *x = &g[i];

		put_one(f, x, i);
		is[LAZY][i] = 1 - x->persistence;
		is[NO_ECC][i] = 1 - x->ecc;
		is[LOWERED][i] = isfinite(x->limit_W) && isfinite(x->usual_W)
					 ? x->limit_W < x->usual_W * 0.999
					 : NAN;
		is[NARROW][i] = isfinite(x->width) && isfinite(x->width_max)
					? x->width < x->width_max
					: NAN;
		/* What idles may lower its rate: only P0 counts. */
		is[SLOW][i] = isfinite(x->gen) && isfinite(x->gen_max) && x->pstate == 0
				      ? x->gen < x->gen_max
				      : NAN;
		is[PENDING][i] = x->pending;
		is[FAILED][i] = x->failed;
		is[UNCORRECTED][i] = x->uncorrected;
		is[DOWN][i] = x->links - x->links_up;
		is[SLOWED][i] = x->slowed;
	}
	facts_set(f, "gpu/count", "%u", n);
	for (unsigned k = 0; k < SUMS; k++)
		put_sum(f, key[k], is[k], n);
}
