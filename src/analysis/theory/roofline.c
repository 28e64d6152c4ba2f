/* SPDX-License-Identifier: Apache-2.0 */
/* roofline.c - see roofline.h. */
#include "theory/roofline.h"

#include <errno.h>
#include <math.h>

const char *const roof_limit_word[ROOF_LIMITS] = {
	[ROOF_UNKNOWN] = "unknown", [ROOF_COMPUTE] = "compute", [ROOF_MEMORY] = "memory",
	[ROOF_CACHE] = "cache",     [ROOF_LATENCY] = "latency", [ROOF_LAUNCH] = "launch",
	[ROOF_LINK] = "link",
};

const char *const work_how_word[WORK_HOWS] = {
	[WORK_NONE] = "none",     [WORK_SHAPES] = "shapes",   [WORK_NAME] = "name",
	[WORK_SOURCE] = "source", [WORK_COUNTER] = "counter", [WORK_RECORD] = "record",
	[WORK_HLO] = "hlo",       [WORK_SEEN] = "seen",
};

enum roof_limit roof_limit(double compute, double memory, double cache)
{
	if (!(compute >= ROOF_NEAR || memory >= ROOF_NEAR || cache >= ROOF_NEAR))
		return ROOF_LATENCY;
	if (cache > compute && cache > memory)
		return ROOF_CACHE;
	return memory > compute ? ROOF_MEMORY : ROOF_COMPUTE;
}

double roof_peak(const struct gpu *g, enum gpu_type type, bool tensor)
{
	double peak;

	if (!g || type >= GPU_TYPES)
		return 0;
	peak = tensor ? g->tensor_flops[type] : g->vector_flops[type];
	if (peak > 0)
		return peak;
	/* A type without units of its own is computed as a wider one. */
	return tensor ? gpu_peak(g, type) : g->vector_flops[GPU_FP32];
}

static double share(double work, double rate, double ns)
{
	return rate > 0 ? work / rate * 1e9 / ns : 0;
}

static double greatest(double a, double b, double c)
{
	double m = a > b ? a : b;

	return m > c ? m : c;
}

#define CACHED 4 /* times the cache: a part of that much is still there from the kernel before */

/* What fits the cache need not come from memory: who is faster than memory did not use it alone. */
static bool is_cached(const struct roof *r, const struct gpu *g, const struct roof_work *w)
{
	return r->memory > 1 && w->bytes <= CACHED * (double)g->l2_bytes;
}

static void judge(struct roof *r, const struct gpu *g, const struct roof_work *w, double ns)
{
	bool cached;

	r->peak_flops = roof_peak(g, w->type, w->tensor);
	r->compute = share(w->flops, r->peak_flops, ns);
	r->memory = share(w->bytes, g->memory_Bps, ns);
	r->cache = share(w->l2_bytes, g->l2_Bps, ns);
	cached = is_cached(r, g, w);
	if (cached) {
		r->cache = greatest(r->cache, share(w->bytes, g->l2_Bps, ns), 0);
		r->memory = 0;
	}
	r->fraction = greatest(r->compute, r->memory, r->cache);
	r->least_ns = r->fraction * ns;
	r->limit = roof_limit(r->compute, r->memory, r->cache);
	if ((w->how == WORK_NAME || w->how == WORK_SOURCE) &&
	    r->fraction > 1) { /* faster than possible: the work or the device is wrong */
		r->limit = ROOF_UNKNOWN;
		r->fraction = r->least_ns = 0;
		return;
	}
	if (r->limit != ROOF_LATENCY)
		return;
	if (cached && !(g->l2_Bps > 0)) {
		r->limit = ROOF_CACHE; /* of a rate that nobody says */
		r->fraction = 0;
	} else if (g->launch_ns > r->least_ns && r->least_ns + g->launch_ns >= ROOF_NEAR * ns) {
		r->limit = ROOF_LAUNCH;
	} else if (!(w->bytes > 0)) {
		r->limit = ROOF_UNKNOWN; /* memory may well be what it waits for */
	}
}

int roof_of(struct roof *out, const struct gpu *g, const struct roof_work *w, double ns)
{
	struct roof r = { .limit = ROOF_UNKNOWN };

	if (!(ns > 0) || !isfinite(ns) || !(w->flops >= 0) || !(w->bytes >= 0) ||
	    !(w->l2_bytes >= 0) || !isfinite(w->flops + w->bytes + w->l2_bytes))
		return -EINVAL;
	if (g && (w->flops > 0 || w->bytes > 0))
		judge(&r, g, w, ns);
	*out = r;
	return 0;
}
