/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dcgm.c - activity of GPUs before Hopper (SMs, tensor cores, memory, links), through DCGM's
 * profiling module.
 *
 * Later GPUs report it through NVML (GPM), which needs no exclusive access. On earlier ones a
 * single client of the driver owns these counters. If a hostengine already runs, it is asked, so
 * that its other users share the measurement; aon starts its own only if a setting says so. If
 * another tool owns the counters, or has paused them, nothing is measured, and aon asks again
 * later: it never takes them away.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "collect/collect.h"
#include "collect/dcgm_abi.h"
#include "collect/emit.h"
#include "collect/leased.h"
#include "model/telemetry.h"

#define FIRST      1001u /* DCGM_FI_PROF_GR_ENGINE_ACTIVE; fields are metrics of the same number */
#define FIELDS     12u
#define CONNECT_MS 2000u
#define OLD_US     30000000ll /* a value that is older is of before a pause */
#define AGAIN      30u        /* polls until counters that another has are asked for again */
#define HOPPER     9

/* Of a GPU, in this order. */
enum { OF_NAME, OF_INDEX, OF_UUID, OF_BUS, OF_CAPABILITY, OF_DRIVER, OFS };
static const unsigned short of_field[OFS] = { 50, 52, 54, 57, 63, 1 };

/* X(field, arguments, function, must it be there) */
/* clang-format off */
#define CALLS(X) \
	X(init, (void), dcgmInit, true) \
	X(shutdown, (void), dcgmShutdown, true) \
	X(connect, (const char *, struct dcgm_connect *, dcgm_handle *), dcgmConnect_v2, true) \
	X(disconnect, (dcgm_handle), dcgmDisconnect, true) \
	X(start, (struct dcgm_embedded *), dcgmStartEmbedded_v2, true) \
	X(stop, (dcgm_handle), dcgmStopEmbedded, true) \
	X(devices, (dcgm_handle, unsigned *, int *), dcgmGetAllSupportedDevices, true) \
	X(group, (dcgm_handle, int, const unsigned short *, const char *, dcgm_handle *), dcgmFieldGroupCreate, true) \
	X(group_free, (dcgm_handle, dcgm_handle), dcgmFieldGroupDestroy, true) \
	X(watch, (dcgm_handle, dcgm_handle, dcgm_handle, long long, double, int), dcgmWatchFields, true) \
	X(unwatch, (dcgm_handle, dcgm_handle, dcgm_handle), dcgmUnwatchFields, true) \
	X(latest, (dcgm_handle, struct dcgm_entity *, unsigned, const unsigned short *, unsigned, unsigned, struct dcgm_value *), dcgmEntitiesGetLatestValues, true) \
	X(prof, (dcgm_handle, struct dcgm_prof_groups *), dcgmProfGetSupportedMetricGroups, true) \
	X(pause, (dcgm_handle), dcgmProfPause, false) \
	X(resume, (dcgm_handle), dcgmProfResume, false)
/* clang-format on */

struct calls {
#define FIELD(field, args, name, must) int(*field) args;
	CALLS(FIELD)
};

struct gpu {
	unsigned id;
	uint32_t series[FIELDS];
};

struct dcgm {
	void *lib; /* owned */
	struct calls c;
	bool begun, connected, embedded, watches;
	bool paused; /* by us: DCGM's profiling, of all its clients */
	const char *run_dir;
	enum leased leased;
	dcgm_handle handle, fields;
	struct gpu gpu[DCGM_DEVICES];
	unsigned gpus;
	unsigned short field[FIELDS]; /* that these GPUs have at once */
	unsigned n;
	unsigned polls;
	uint32_t interval_ms;
	struct dcgm_value *value; /* owned; DCGM_DEVICES * FIELDS */
};

static int load(struct dcgm *d, const char *path)
{
	static const struct {
		const char *name;
		size_t at;
		bool must;
	} need[] = {
#define NEED(field, args, name, must) { #name, offsetof(struct calls, field), must },
		CALLS(NEED)
	};

	d->lib = dlopen(*path ? path : "libdcgm.so.4", RTLD_NOW | RTLD_LOCAL);
	if (!d->lib && !*path)
		d->lib = dlopen("libdcgm.so.3", RTLD_NOW | RTLD_LOCAL);
	if (!d->lib)
		return -ENODEV;
	for (size_t i = 0; i < sizeof(need) / sizeof(need[0]); i++) {
		void *f = dlsym(d->lib, need[i].name);

		if (!f && need[i].must)
			return -ENODEV;
		memcpy((char *)&d->c + need[i].at, &f, sizeof(f));
	}
	return 0;
}

/* --- the hostengine --- */

static int reach(struct dcgm *d, bool embedded)
{
	struct dcgm_connect how = { .version = DCGM_VERSION(struct dcgm_connect, 2),
				    .timeout_ms = CONNECT_MS };
	struct dcgm_embedded own = { .version = DCGM_VERSION(struct dcgm_embedded, 1), .mode = 1 };

	if (d->c.init() != DCGM_OK)
		return -ENODEV;
	d->begun = true;
	if (d->c.connect("127.0.0.1", &how, &d->handle) == DCGM_OK)
		return d->connected = true, 0;
	if (!embedded || d->c.start(&own) != DCGM_OK)
		return -ENODEV;
	d->handle = own.handle;
	d->embedded = true;
	return 0;
}

/* Of each major one minor, the one with most of our fields: these can be read together. */
static void choose_fields(struct dcgm *d, unsigned gpu)
{
	struct dcgm_prof_groups g = { .version = DCGM_VERSION(struct dcgm_prof_groups, 3),
				      .gpu = gpu };
	uint16_t mask[10] = { 0 }, all = 0;

	if (d->c.prof(d->handle, &g) != DCGM_OK)
		return;
	g.groups = g.groups < 10 ? g.groups : 10;
	for (unsigned i = 0; i < g.groups; i++)
		for (unsigned k = 0; k < g.group[i].fields && k < 64; k++)
			if (g.group[i].field[k] - FIRST < FIELDS)
				mask[i] |= (uint16_t)(1u << (g.group[i].field[k] - FIRST));
	for (unsigned i = 0; i < g.groups; i++) {
		unsigned best = i;

		for (unsigned k = 0; k < g.groups; k++)
			if (g.group[k].major == g.group[i].major &&
			    __builtin_popcount(mask[k]) > __builtin_popcount(mask[best]))
				best = k;
		all |= mask[best];
	}
	d->n = 0;
	for (unsigned i = 0; i < FIELDS; i++)
		if (all >> i & 1)
			d->field[d->n++] = (unsigned short)(FIRST + i);
}

static const char *text_of(const struct dcgm_value *v)
{
	return v->status == DCGM_OK && v->type == 's' && memchr(v->value.text, 0, 256)
		       ? v->value.text
		       : "";
}

/* Under the names that the nvml collector gives it. False: it is Hopper or later. */
static bool name_gpu(struct dcgm *d, unsigned id, struct emit *e)
{
	struct dcgm_entity who = { DCGM_ENTITY_GPU, id };
	char device[24], labels[SERIES_LABELS_MAX + 1] = "", index[16];
	struct dcgm_value *v = d->value;
	struct gpu *g = &d->gpu[d->gpus];

	if (d->c.latest(d->handle, &who, 1, of_field, OFS, DCGM_LIVE, v) != DCGM_OK ||
	    v[OF_CAPABILITY].status != DCGM_OK || v[OF_CAPABILITY].value.i >> 16 >= HOPPER)
		return false;
	snprintf(index, sizeof(index), "%u",
		 v[OF_INDEX].status == DCGM_OK ? (unsigned)v[OF_INDEX].value.i % 1000 : id);
	snprintf(device, sizeof(device), "nvidia%s", index);
	series_label(labels, "gpu", index);
	if (*text_of(&v[OF_UUID]))
		series_label(labels, "UUID", text_of(&v[OF_UUID]));
	if (*text_of(&v[OF_BUS]))
		series_label(labels, "pci_bus_id", text_of(&v[OF_BUS]));
	if (*text_of(&v[OF_NAME]))
		series_label(labels, "modelName", text_of(&v[OF_NAME]));
	if (*text_of(&v[OF_DRIVER]))
		series_label(labels, "DCGM_FI_DRIVER_VERSION", text_of(&v[OF_DRIVER]));
	g->id = id;
	for (unsigned i = 0; i < FIELDS; i++)
		g->series[i] = emit_series(e, metric_get(FIRST + i)->name, device, labels);
	d->gpus++;
	return true;
}

static int find_gpus(struct dcgm *d, struct emit *e)
{
	unsigned id[DCGM_DEVICES];
	int n = 0;

	if (d->c.devices(d->handle, id, &n) != DCGM_OK)
		return -EIO;
	for (int i = 0; i < n && i < (int)DCGM_DEVICES; i++)
		if (name_gpu(d, id[i], e) && !d->n)
			choose_fields(d, id[i]);
	return d->gpus && d->n ? 0 : -ENODEV;
}

static void watch(struct dcgm *d)
{
	int rc =
		d->fields ? DCGM_OK : d->c.group(d->handle, (int)d->n, d->field, "aon", &d->fields);

	if (rc == DCGM_OK)
		rc = d->c.watch(d->handle, DCGM_ALL_GPUS, d->fields, d->interval_ms * 1000ll, 60,
				0);
	d->watches = rc == DCGM_OK;
	if (rc != DCGM_OK)
		log_info("dcgm: profiling counters are not available (DCGM error %d%s); asking "
			 "again",
			 rc, rc == DCGM_IN_USE ? ": another has them" : "");
}

static void unwatch(struct dcgm *d)
{
	d->c.unwatch(d->handle, DCGM_ALL_GPUS, d->fields);
	d->watches = false;
}

/* --- leases --- */

static void go_on(struct dcgm *d)
{
	int rc = d->paused ? d->c.resume(d->handle) : DCGM_OK;

	d->paused = false;
	if (rc != DCGM_OK)
		log_warn("dcgm: profiling stays paused (DCGM says %d): dcgmi profile --resume", rc);
}

/* Who needs the counters, and is not DCGM, needs DCGM to let go of them: for all its clients. */
static void make_room(struct dcgm *d)
{
	int rc = DCGM_NOT_SUPPORTED;

	if (d->watches)
		unwatch(d);
	if (d->leased == LEASED_DCGM) {
		go_on(d);
		return;
	}
	if (d->c.pause && d->c.resume)
		rc = d->c.pause(d->handle);
	d->paused = rc == DCGM_OK;
	if (!d->paused)
		log_warn("dcgm: profiling could not be paused (DCGM says %d)", rc);
}

static void look_at_lease(struct dcgm *d, struct emit *e)
{
	if (!leased_look(&d->leased, d->run_dir, "dcgm", e))
		return;
	if (d->leased != LEASED_NO) {
		make_room(d);
		return;
	}
	go_on(d);
	watch(d);
}

/* --- the collector --- */

static void dcgm_close(void *self)
{
	struct dcgm *d = self;

	if (d->watches)
		unwatch(d);
	go_on(d);
	if (d->fields)
		d->c.group_free(d->handle, d->fields);
	if (d->connected)
		d->c.disconnect(d->handle);
	if (d->embedded)
		d->c.stop(d->handle);
	if (d->begun)
		d->c.shutdown();
	if (d->lib)
		dlclose(d->lib);
	free(d->value);
	free(d);
}

/* LIBRARY, embedded, or both with a comma between. */
static int dcgm_open(void **self, const struct collect_env *env, struct emit *e)
{
	const char *arg = env->arg ? env->arg : "", *comma = strchr(arg, ','),
		   *last = comma ? comma + 1 : arg;
	bool embedded = !strcmp(last, "embedded");
	struct dcgm *d = calloc(1, sizeof(*d));
	char path[4096];
	int err = -ENOMEM;

	if (!d)
		return -ENOMEM;
	snprintf(path, sizeof(path), "%.*s",
		 (int)(comma      ? comma - arg
		       : embedded ? 0
				  : (long)strlen(arg)),
		 arg);
	d->interval_ms = env->interval_ms;
	d->run_dir = env->run_dir;
	d->value = calloc(DCGM_DEVICES * FIELDS, sizeof(*d->value));
	err = d->value ? load(d, path) : -ENOMEM;
	err = err ? err : reach(d, embedded);
	err = err ? err : find_gpus(d, e);
	if (err) {
		dcgm_close(d);
		return err;
	}
	look_at_lease(d, e);
	if (d->leased == LEASED_NO && !d->watches)
		watch(d);
	*self = d;
	return 0;
}

static void put(struct dcgm *d, const struct dcgm_value *v, int64_t now_us, struct emit *e)
{
	double x = v->type == 'd' ? v->value.d : (double)v->value.i;

	if (v->status != DCGM_OK || (v->type != 'd' && v->type != 'i') ||
	    v->field - FIRST >= FIELDS || now_us - v->t_us > OLD_US + 2000ll * d->interval_ms)
		return;
	for (unsigned i = 0; i < d->gpus; i++)
		if (v->group == DCGM_ENTITY_GPU && d->gpu[i].id == v->id)
			emit_set(e, d->gpu[i].series[v->field - FIRST], x);
}

static int dcgm_poll(void *self, struct emit *e)
{
	struct dcgm_entity who[DCGM_DEVICES];
	struct dcgm *d = self;
	int64_t now_us;
	int rc;

	look_at_lease(d, e);
	if (d->leased != LEASED_NO)
		return 0;
	if (!d->watches && d->polls++ % AGAIN == AGAIN - 1)
		watch(d);
	if (!d->watches)
		return 0;
	for (unsigned i = 0; i < d->gpus; i++)
		who[i] = (struct dcgm_entity){ DCGM_ENTITY_GPU, d->gpu[i].id };
	memset(d->value, 0, d->gpus * d->n * sizeof(*d->value));
	rc = d->c.latest(d->handle, who, d->gpus, d->field, d->n, 0, d->value);
	if (rc == DCGM_CONNECTION_NOT_VALID)
		return -EIO;
	now_us = (int64_t)(clock_wall_ns() / 1000u);
	for (unsigned i = 0; rc == DCGM_OK && i < d->gpus * d->n; i++)
		put(d, &d->value[i], now_us, e);
	return 0;
}

const struct collector_ops dcgm_collector = { dcgm_open, dcgm_poll, dcgm_close };
