/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml.c - NVIDIA's GPUs through NVML, which is loaded when the collector is opened.
 *
 * A function that this driver's NVML lacks, or a value that this GPU lacks, is skipped
 * individually. A lost GPU ends its series; NVML is initialized again until the GPU is back. PCIe
 * throughput and slowly changing values are read every SLOW_MS: NVML takes 20 ms to measure the
 * former.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/collect.h"
#include "collect/emit.h"
#include "collect/leased.h"
#include "collect/nvml_proc.h"
#include "abi/nvml_abi.h"
#include "model/telemetry.h"

#define GPUS    64u
#define LINKS   18u
#define MIGS    8u
#define MID_MS  10000u
#define SLOW_MS 10000u
#define BACK_MS 15000u /* until a GPU that was lost is looked for again */

enum group { FAST, MID, SLOW };
enum shape { UINT, UINT_OF, ULONG };

struct read {
	enum shape shape;
	const char *function;
	unsigned arg;
	const char *metric;
	double scale;
	enum group group;
};

struct field {
	unsigned number, scope;
	const char *metric;
	double scale;
	enum group group;
};

struct gpm {
	unsigned number;
	const char *metric;
	double scale;
};

static const struct read reads[] = {
#define READ(shape, function, arg, metric, scale, group) \
	{ shape, function, arg, metric, scale, group },
#include "collect/nvml.tbl.h"
};
static const struct field fields[] = {
#define FIELD(number, scope, metric, scale, group) { number, scope, metric, scale, group },
#include "collect/nvml.tbl.h"
};
static const struct gpm gpms[] = {
#define GPM(number, metric, scale) { number, metric, scale },
#include "collect/nvml.tbl.h"
};
#define READS  (sizeof(reads) / sizeof(reads[0]))
#define FIELDS (sizeof(fields) / sizeof(fields[0]))
#define GPMS   (sizeof(gpms) / sizeof(gpms[0]))

struct gpu {
	nvml_dev dev;
	bool lost;
	char device[16], labels[SERIES_LABELS_MAX + 1];
	uint32_t read[READS], field[FIELDS], gpm[GPMS];
	uint32_t util[2], codec[2], fb[4], ecc[4], violation[2], link[LINKS];
	uint32_t mig, xid, nvlink;
	bool has[READS]; /* not refused as unsupported */
	unsigned last_xid;
	unsigned long long share_us; /* of the processes' shares that were read */
	void *sample[2];             /* GPM's, owned; NULL: it has none */
	unsigned samples;
};

struct calls {
#define CALL(need, field, args, names) int(*field) args;
#include "collect/nvml.tbl.h"
};

struct nvml {
	void *lib; /* owned */
	struct calls c;
	void *read[READS];
	struct gpu *gpu; /* owned; GPUS */
	unsigned gpus, polls, mid_every, slow_every, back_every;
	void *events; /* owned; NULL: there are none */
	bool begun;
	bool counters; /* a GPU has GPM */
	const char *run_dir;
	enum leased leased;
	struct nvml_gpm gpm;
};

/* --- the library --- */

/* "a|b": the first that is there. */
static void *find(void *lib, const char *names)
{
	char name[80];
	void *f = NULL;

	while (!f && *names) {
		size_t n = strcspn(names, "|");

		snprintf(name, sizeof(name), "%.*s", (int)n, names);
		f = dlsym(lib, name);
		names += n + (names[n] == '|');
	}
	return f;
}

static int load(struct nvml *n, const char *path)
{
	static const struct {
		const char *names;
		size_t at;
		bool must;
	} need[] = {
#define MUST                           true
#define MAY                            false
#define CALL(need, field, args, names) { names, offsetof(struct calls, field), need },
#include "collect/nvml.tbl.h"
	};

	n->lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!n->lib)
		return -ENODEV;
	for (size_t i = 0; i < sizeof(need) / sizeof(need[0]); i++) {
		void *f = find(n->lib, need[i].names);

		if (!f && need[i].must)
			return -ENODEV;
		memcpy((char *)&n->c + need[i].at, &f, sizeof(f));
	}
	for (size_t i = 0; i < READS; i++)
		n->read[i] = find(n->lib, reads[i].function);
	return 0;
}

/* --- GPUs --- */

static void name_gpu(struct nvml *n, struct gpu *g, unsigned index)
{
	char text[96] = "";
	struct nvml_pci pci;

	snprintf(g->device, sizeof(g->device), "nvidia%u", index);
	*g->labels = '\0';
	snprintf(text, sizeof(text), "%u", index);
	series_label(g->labels, "gpu", text);
	if (n->c.uuid(g->dev, text, sizeof(text)) == NVML_OK)
		series_label(g->labels, "UUID", text);
	memset(&pci, 0, sizeof(pci));
	if (n->c.pci && n->c.pci(g->dev, &pci) == NVML_OK) {
		snprintf(text, sizeof(text), "%.31s", pci.bus_id);
		series_label(g->labels, "pci_bus_id", text);
	}
	if (n->c.name(g->dev, text, sizeof(text)) == NVML_OK)
		series_label(g->labels, "modelName", text);
	if (n->c.driver && n->c.driver(text, sizeof(text)) == NVML_OK)
		series_label(g->labels, "DCGM_FI_DRIVER_VERSION", text);
}

static uint32_t series(struct emit *e, const struct gpu *g, const char *metric)
{
	return emit_series(e, metric, g->device, g->labels);
}

static uint32_t series_of(struct emit *e, const struct gpu *g, const char *metric, const char *key,
			  const char *value)
{
	char labels[SERIES_LABELS_MAX + 1];

	memcpy(labels, g->labels, sizeof(labels));
	series_label(labels, key, value);
	return emit_series(e, metric, g->device, labels);
}

static void declare(struct emit *e, struct gpu *g)
{
	static const char *const util[] = { "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_MEM_COPY_UTIL" };
	static const char *const codec[] = { "DCGM_FI_DEV_ENC_UTIL", "DCGM_FI_DEV_DEC_UTIL" };
	static const char *const fb[] = { "DCGM_FI_DEV_FB_TOTAL", "DCGM_FI_DEV_FB_FREE",
					  "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_RESERVED" };
	static const char *const ecc[] = { "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
					   "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL",
					   "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
					   "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL" };

	emit_group(e, FAST);
	for (unsigned i = 0; i < 2; i++)
		g->util[i] = series(e, g, util[i]);
	for (unsigned i = 0; i < 4; i++)
		g->fb[i] = series(e, g, fb[i]);
	emit_group(e, MID);
	g->violation[0] = series(e, g, "DCGM_FI_DEV_POWER_VIOLATION");
	g->violation[1] = series(e, g, "DCGM_FI_DEV_THERMAL_VIOLATION");
	for (size_t i = 0; i < GPMS; i++)
		g->gpm[i] = series(e, g, gpms[i].metric);
	emit_group(e, FAST);
	g->xid = series(e, g, "DCGM_FI_DEV_XID_ERRORS");
	for (size_t i = 0; i < READS; i++) {
		emit_group(e, reads[i].group);
		g->read[i] = series(e, g, reads[i].metric);
		g->has[i] = true;
	}
	for (size_t i = 0; i < FIELDS; i++) {
		emit_group(e, fields[i].group);
		g->field[i] = series(e, g, fields[i].metric);
	}
	emit_group(e, SLOW);
	for (unsigned i = 0; i < 2; i++)
		g->codec[i] = series(e, g, codec[i]);
	for (unsigned i = 0; i < 4; i++)
		g->ecc[i] = series(e, g, ecc[i]);
	g->mig = series(e, g, "aon_gpu_mig_mode");
	g->nvlink = series(e, g, "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL");
	for (unsigned i = 0; i < LINKS; i++) {
		char text[8];

		snprintf(text, sizeof(text), "%u", i);
		g->link[i] = series_of(e, g, "aon_gpu_nvlink_up", "link", text);
	}
	emit_group(e, FAST);
}

static void begin_gpm(struct nvml *n, struct gpu *g)
{
	struct nvml_gpm_support s = { .version = 1 };

	if (!n->c.gpm_support || !n->c.gpm_alloc || !n->c.gpm_sample || !n->c.gpm_get ||
	    n->c.gpm_support(g->dev, &s) != NVML_OK || !s.supported)
		return;
	if (n->c.gpm_alloc(&g->sample[0]) != NVML_OK || n->c.gpm_alloc(&g->sample[1]) != NVML_OK)
		g->sample[1] = NULL;
}

static void finish(struct nvml *n)
{
	for (unsigned i = 0; i < n->gpus; i++)
		for (unsigned k = 0; k < 2; k++)
			if (n->gpu[i].sample[k] && n->c.gpm_free)
				n->c.gpm_free(n->gpu[i].sample[k]);
	if (n->events && n->c.events_free)
		n->c.events_free(n->events);
	n->events = NULL;
	if (n->begun)
		n->c.shutdown();
	n->begun = false;
	n->gpus = 0;
}

static bool is_gone(int rc)
{
	return rc == NVML_UNINITIALIZED || rc == NVML_DRIVER_NOT_LOADED ||
	       rc == NVML_VERSION_MISMATCH;
}

/* One kind of event that the GPU does not have makes NVML refuse them all. */
static void ask_events(struct nvml *n, const struct gpu *g)
{
	unsigned long long types = NVML_EVENT_XID;

	if (n->c.events_types && n->c.events_types(g->dev, &types) != NVML_OK)
		types = NVML_EVENT_XID;
	types &= NVML_EVENT_XID | NVML_EVENT_DBE;
	if (types)
		n->c.events_ask(g->dev, types, n->events);
}

/* NVML, begun anew: all GPUs that are there. */
static int begin(struct nvml *n, struct emit *e)
{
	unsigned count = 0;
	int rc = n->c.init();

	if (rc != NVML_OK)
		return is_gone(rc) ? -ENODEV : -EIO;
	n->begun = true;
	if (n->c.count(&count) != NVML_OK)
		return -EIO;
	memset(n->gpu, 0, GPUS * sizeof(*n->gpu));
	if (n->c.events_new && n->c.events_ask && n->c.events_wait &&
	    n->c.events_new(&n->events) != NVML_OK)
		n->events = NULL;
	for (unsigned i = 0; i < count && i < GPUS; i++) {
		struct gpu *g = &n->gpu[n->gpus++];

		rc = n->c.handle(i, &g->dev);
		g->lost = rc != NVML_OK;
		if (g->lost)
			continue;
		name_gpu(n, g, i);
		declare(e, g);
		begin_gpm(n, g);
		n->counters |= g->sample[1] != NULL;
		if (n->events)
			ask_events(n, g);
	}
	return n->gpus ? 0 : -ENODEV;
}

/* --- reading --- */

/* False: the GPU is lost. */
static bool still(struct gpu *g, struct emit *e, int rc)
{
	if (rc != NVML_GPU_IS_LOST && rc != NVML_RESET_REQUIRED && !is_gone(rc))
		return true;
	if (!g->lost)
		emit_event(e, "gpu", "%s is lost (NVML says %d)", g->device, rc);
	g->lost = true;
	return false;
}

static int call(const struct nvml *n, const struct gpu *g, size_t i, double *v)
{
	unsigned long long ul = 0;
	unsigned u = 0;
	int rc;

	switch (reads[i].shape) {
	case UINT:
		rc = ((int (*)(nvml_dev, unsigned *))n->read[i])(g->dev, &u);
		*v = u;
		/* All ones are none. */
		return rc == NVML_OK && u == UINT32_MAX ? NVML_NOT_SUPPORTED : rc;
	case UINT_OF:
		rc = ((int (*)(nvml_dev, unsigned, unsigned *))n->read[i])(g->dev, reads[i].arg,
									   &u);
		*v = u;
		return rc == NVML_OK && u == UINT32_MAX ? NVML_NOT_SUPPORTED : rc;
	case ULONG:
		rc = ((int (*)(nvml_dev, unsigned long long *))n->read[i])(g->dev, &ul);
		*v = (double)ul;
		return rc == NVML_OK && ul == UINT64_MAX ? NVML_NOT_SUPPORTED : rc;
	}
	return NVML_NOT_SUPPORTED;
}

static bool poll_reads(struct nvml *n, struct gpu *g, struct emit *e, unsigned due)
{
	for (size_t i = 0; i < READS; i++) {
		double v;
		int rc;

		if (!n->read[i] || !g->has[i] || !(due >> reads[i].group & 1) ||
		    (g->sample[1] && strstr(reads[i].function, "PcieThroughput")))
			continue; /* GPM has the latter, for nothing */
		rc = call(n, g, i, &v);
		if (rc == NVML_OK)
			emit_count(e, g->read[i], v * reads[i].scale);
		else if (!still(g, e, rc))
			return false;
		else if (rc == NVML_NOT_SUPPORTED)
			g->has[i] = false;
	}
	return true;
}

static double value_of(const struct nvml_field *f)
{
	switch (f->type) {
	case 0:
		return f->value.d;
	case 1:
		return f->value.u;
	case 2:
		return (double)f->value.ul;
	case 3:
		return (double)f->value.ull;
	case 4:
		return (double)f->value.ll;
	default:
		return f->value.i;
	}
}

static void poll_fields(struct nvml *n, struct gpu *g, struct emit *e, bool slow)
{
	struct nvml_field v[FIELDS + 2];
	size_t index[FIELDS], k = 0;

	if (!n->c.fields)
		return;
	for (size_t i = 0; i < FIELDS; i++) {
		if (fields[i].group == SLOW && !slow)
			continue;
		v[k] = (struct nvml_field){ .field = fields[i].number, .scope = fields[i].scope };
		index[k++] = i;
	}
	if (slow) { /* NVLink's data of all links, both ways */
		v[k] = (struct nvml_field){ .field = 138, .scope = UINT32_MAX };
		v[k + 1] = (struct nvml_field){ .field = 139, .scope = UINT32_MAX };
	}
	if (n->c.fields(g->dev, (int)(slow ? k + 2 : k), v) != NVML_OK)
		return;
	for (size_t i = 0; i < k; i++)
		if (v[i].result == NVML_OK)
			emit_set(e, g->field[index[i]], value_of(&v[i]) * fields[index[i]].scale);
	if (slow && v[k].result == NVML_OK && v[k + 1].result == NVML_OK)
		emit_count(e, g->nvlink, value_of(&v[k]) + value_of(&v[k + 1]));
}

static void put_memory(struct nvml *n, nvml_dev dev, const uint32_t fb[4], struct emit *e)
{
	struct nvml_memory_v2 m2 = { .version = NVML_MEMORY_V2 };
	struct nvml_memory m;
	const double mib = 1048576;

	if (n->c.memory_v2 && n->c.memory_v2(dev, &m2) == NVML_OK) {
		emit_count(e, fb[0], (double)(m2.total >> 20));
		emit_count(e, fb[1], (double)(m2.free >> 20));
		emit_count(e, fb[2], (double)(m2.used >> 20));
		emit_count(e, fb[3], (double)(m2.reserved >> 20));
	} else if (n->c.memory && n->c.memory(dev, &m) == NVML_OK) {
		emit_count(e, fb[0], (double)m.total / mib);
		emit_count(e, fb[1], (double)m.free / mib);
		emit_count(e, fb[2], (double)m.used / mib);
	}
}

static void poll_gpm(struct nvml *n, struct gpu *g, struct emit *e)
{
	if (n->leased != LEASED_NO) {
		g->samples = 0; /* the next two are of a time that is not broken */
		return;
	}
	if (!g->sample[1] || n->c.gpm_sample(g->dev, g->sample[g->samples & 1]) != NVML_OK)
		return;
	if (g->samples++ == 0)
		return;
	n->gpm.version = 1;
	n->gpm.metrics = GPMS;
	n->gpm.before = g->sample[g->samples & 1];
	n->gpm.after = g->sample[(g->samples - 1) & 1];
	for (size_t i = 0; i < GPMS; i++)
		n->gpm.metric[i] = (struct nvml_gpm_metric){ .id = gpms[i].number };
	if (n->c.gpm_get(&n->gpm) != NVML_OK)
		return;
	for (size_t i = 0; i < GPMS; i++)
		if (n->gpm.metric[i].result == NVML_OK)
			emit_set(e, g->gpm[i], n->gpm.metric[i].value * gpms[i].scale);
}

static void poll_mid(struct nvml *n, struct gpu *g, struct emit *e)
{
	struct nvml_violation w;

	for (unsigned i = 0; i < 2 && n->c.violation; i++)
		if (n->c.violation(g->dev, i, &w) == NVML_OK)
			emit_count(e, g->violation[i], (double)w.violation_ns);
	poll_gpm(n, g, e);
}

static void poll_fast(struct nvml *n, struct gpu *g, struct emit *e)
{
	struct nvml_utilization u;

	if (n->c.utilization && n->c.utilization(g->dev, &u) == NVML_OK) {
		emit_set(e, g->util[0], u.gpu);
		emit_set(e, g->util[1], u.memory);
	}
	put_memory(n, g->dev, g->fb, e);
	emit_set(e, g->xid, g->last_xid);
}

static void poll_processes(struct nvml *n, struct gpu *g, struct emit *e)
{
	const struct nvml_proc_calls c = { n->c.processes, n->c.proc_share, n->c.accounting,
					   n->c.account };
	const struct nvml_proc_gpu of = { g->dev, g->device, g->labels, &g->share_us, SLOW };

	nvml_proc_poll(&c, &of, e);
}

/* Parts of a divided GPU have memory of their own. */
static void poll_mig(struct nvml *n, struct gpu *g, struct emit *e)
{
	static const char *const fb[] = { "DCGM_FI_DEV_FB_TOTAL", "DCGM_FI_DEV_FB_FREE",
					  "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_RESERVED" };
	unsigned now = 0, pending = 0;

	if (!n->c.mig_mode || n->c.mig_mode(g->dev, &now, &pending) != NVML_OK)
		return;
	emit_count(e, g->mig, now);
	for (unsigned i = 0; now && n->c.mig_device && n->c.gpu_instance && i < MIGS; i++) {
		unsigned instance;
		uint32_t id[4];
		nvml_dev part;
		char text[16];

		if (n->c.mig_device(g->dev, i, &part) != NVML_OK ||
		    n->c.gpu_instance(part, &instance) != NVML_OK)
			continue;
		snprintf(text, sizeof(text), "%u", instance);
		for (unsigned k = 0; k < 4; k++)
			id[k] = series_of(e, g, fb[k], "GPU_I_ID", text);
		put_memory(n, part, id, e);
	}
}

static void poll_slow(struct nvml *n, struct gpu *g, struct emit *e)
{
	unsigned long long v;
	unsigned u, period;

	for (unsigned i = 0; i < 4 && n->c.ecc; i++)
		if (n->c.ecc(g->dev, i / 2, i % 2, &v) == NVML_OK)
			emit_count(e, g->ecc[i], (double)v);
	if (n->c.encoder && n->c.encoder(g->dev, &u, &period) == NVML_OK)
		emit_set(e, g->codec[0], u);
	if (n->c.decoder && n->c.decoder(g->dev, &u, &period) == NVML_OK)
		emit_set(e, g->codec[1], u);
	for (unsigned i = 0; i < LINKS && n->c.link_state; i++)
		if (n->c.link_state(g->dev, i, &u) == NVML_OK)
			emit_count(e, g->link[i], u);
	poll_processes(n, g, e);
	emit_group(e, SLOW);
	poll_mig(n, g, e);
}

static void poll_events(struct nvml *n, struct emit *e)
{
	struct nvml_event ev;

	for (unsigned k = 0; n->events && k < 16; k++) {
		memset(&ev, 0, sizeof(ev));
		if (n->c.events_wait(n->events, &ev, 0) != NVML_OK)
			return;
		for (unsigned i = 0; i < n->gpus; i++) {
			struct gpu *g = &n->gpu[i];

			if (g->lost || g->dev != ev.device)
				continue;
			if (ev.type == NVML_EVENT_XID)
				g->last_xid = (unsigned)ev.data;
			emit_event(e, ev.type == NVML_EVENT_XID ? "xid" : "ecc",
				   ev.type == NVML_EVENT_XID ? "%s: Xid %llu"
							     : "%s: double-bit ECC error (%llu)",
				   g->device, ev.data);
		}
	}
}

/* --- the collector --- */

static void nvml_close(void *self)
{
	struct nvml *n = self;

	finish(n);
	if (n->lib)
		dlclose(n->lib);
	free(n->gpu);
	free(n);
}

static uint32_t every(uint32_t ms, const struct collect_env *env)
{
	return env->all || env->interval_ms >= ms ? 1 : ms / env->interval_ms;
}

static int nvml_open(void **self, const struct collect_env *env, struct emit *e)
{
	static bool was; /* there, in this process: a driver that is loaded anew comes back */
	struct nvml *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return -ENOMEM;
	n->run_dir = env->run_dir;
	n->mid_every = every(MID_MS, env);
	n->slow_every = every(SLOW_MS, env);
	n->back_every = every(BACK_MS, env);
	n->gpu = calloc(GPUS, sizeof(*n->gpu));
	err = n->gpu ? load(n, env->arg ? env->arg : "libnvidia-ml.so.1") : -ENOMEM;
	err = err ? err : begin(n, e);
	if (err) {
		nvml_close(n);
		return err == -ENODEV && was ? -EIO : err;
	}
	was = true;
	*self = n;
	return 0;
}

static int nvml_poll(void *self, struct emit *e)
{
	struct nvml *n = self;
	bool slow = n->polls % n->slow_every == 0, mid = n->polls % n->mid_every == 0;
	bool lost = false, any = false;
	unsigned count = n->gpus;

	if (n->counters)
		leased_look(&n->leased, n->run_dir, "GPM", e);
	for (unsigned i = 0; i < n->gpus; i++)
		lost |= n->gpu[i].lost;
	/* A GPU that was lost, or one more: NVML shows it after a new start. */
	if (slow && n->c.count(&count) != NVML_OK)
		return -EIO;
	if ((lost && n->polls % n->back_every == 0) || (slow && count != n->gpus)) {
		finish(n);
		if (begin(n, e))
			return -EIO;
		slow = true;
	}
	n->polls++;
	if (slow)
		emit_group(e, SLOW);
	if (mid)
		emit_group(e, MID);
	emit_group(e, FAST);
	poll_events(n, e);
	for (unsigned i = 0; i < n->gpus; i++) {
		struct gpu *g = &n->gpu[i];

		if (g->lost ||
		    !poll_reads(n, g, e,
				1u << FAST | (unsigned)mid << MID | (unsigned)slow << SLOW))
			continue;
		any = true;
		poll_fast(n, g, e);
		if (mid)
			poll_mid(n, g, e);
		poll_fields(n, g, e, slow);
		if (slow)
			poll_slow(n, g, e);
		emit_group(e, FAST);
	}
	return any || lost ? 0 : -EIO;
}

const struct collector_ops nvml_collector = { nvml_open, nvml_poll, nvml_close };
