/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range.c - counters of single kernels by CUPTI's range profiler, on request:
 * AON_COUNTERS=ranges[:N], and only during a capture (tier full). In each capture it reads the first N
 * kernels that one thread launches on one context.
 *
 * CUPTI runs these kernels one after the other, and waits for each. That stalls the program, so it is
 * opt-in. Only metrics that the hardware reads in one pass are requested: with more, CUPTI would save
 * the device's memory and run each kernel again.
 *
 * CUPTI numbers ranges, it does not name them. Profiling starts and ends inside launch calls, on their
 * own thread, so that the n-th range is the n-th of these calls. If other threads launched meanwhile,
 * or the numbers differ, nothing is reported.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "probe/cuda/cuda.h"

#define RANGES    32u
#define LONGEST   10000000000ull /* ns that it may take to come to the last of them */
#define RETRY_NS  (CUDA_RETRY_MS * 1000000ull)
#define NO_STREAM UINT64_MAX

static const char *const track_name[RANGE_COUNTERS] = {
#define PM(ID, name, word, first, second) [RANGE_PM_##ID] = RANGE_TRACK word,
#include "base/pm.tbl.h"
#define RANGE(ID, word, first, second) [RANGE_##ID] = RANGE_TRACK word,
#include "base/range.tbl.h"
};

static const struct metric_name metrics[RANGE_COUNTERS] = {
#define PM(ID, name, word, first, second) [RANGE_PM_##ID] = { { first, second } },
#include "base/pm.tbl.h"
#define RANGE(ID, word, first, second) [RANGE_##ID] = { { first, second } },
#include "base/range.tbl.h"
};

/* ranges, or ranges:N */
void range_setup(struct range *r, const char *set)
{
	unsigned long n;

	if (!set || strncmp(set, "ranges", 6) || (set[6] && set[6] != ':'))
		return;
	n = set[6] ? strtoul(set + 7, NULL, 10) : RANGES;
	r->most = n < 1 ? 1 : n > RANGES_MAX ? RANGES_MAX : (uint32_t)n;
	r->state = RANGE_IDLE;
}

static void set_state(struct range *r, enum range_state s)
{
	atomic_store_explicit(&r->state, s, memory_order_release); /* H */
}

static bool take(struct range *r, uint32_t from)
{
	/* G */
	return atomic_compare_exchange_strong_explicit(&r->state, &from, RANGE_BUSY,
						       memory_order_acq_rel, memory_order_relaxed);
}

/* --- on the thread that launches --- */

static int begin(struct range *r, void *context)
{
	struct rp_enable en = { .size = PM_SIZE(rp_enable, object), .context = context };
	int err = r->api.RangeProfilerEnable(&en);
	struct rp_data_size size = { .size = PM_SIZE(rp_data_size, bytes),
				     .object = en.object,
				     .metric = r->set.metric,
				     .metrics = r->set.metrics,
				     .ranges = r->most,
				     .nodes = r->most };
	struct pm_data data = { .size = PM_SIZE(pm_data, image), .object = en.object };
	struct rp_set set = { .size = PM_SIZE(rp_set, target),
			      .object = en.object,
			      .config_bytes = r->set.config.n,
			      .config = r->set.config.p,
			      .range = RP_AUTO_RANGE,
			      .replay = RP_KERNEL_REPLAY,
			      .ranges = r->most,
			      .levels = 1,
			      .level = 1 };
	struct pm_object start = { .size = sizeof(start), .object = en.object };

	r->object = err ? NULL : en.object;
	err = err ? err : r->api.RangeProfilerGetCounterDataSize(&size);
	err = err ? err : bytes_make(&r->image, size.bytes);
	data.bytes = set.bytes = r->image.n;
	data.image = set.image = r->image.p;
	err = err ? err : r->api.RangeProfilerCounterDataImageInitialize(&data);
	err = err ? err : r->api.RangeProfilerSetConfig(&set);
	return err ? err : r->api.RangeProfilerStart(&start);
}

static void stop(struct range *r)
{
	struct rp_stop p = { .size = PM_SIZE(rp_stop, all), .object = r->object };

	r->err = r->api.RangeProfilerStop(&p);
}

static void add(struct range *r, const struct cupti_cb_data *d, uint32_t name)
{
	r->launch[r->n].name = d->symbol ? name : 0;
	r->launch[r->n++].ns = clock_mono_ns();
	r->inside = true;
	r->inside_corr = d->correlation;
}

void range_launching(struct cuda *c, const struct cupti_cb_data *d, uint32_t name)
{
	struct range *r = &c->counters;
	uint32_t s = atomic_load_explicit(&r->state, memory_order_acquire);

	if ((s != RANGE_ARMED && s != RANGE_ON) || d->context_uid != r->context)
		return;
	if (s == RANGE_ARMED && take(r, RANGE_ARMED)) {
		r->err = begin(r, d->context);
		r->owner = (uint32_t)gettid();
		r->n = 0;
		r->until_ns = clock_mono_ns() + LONGEST;
		atomic_store_explicit(&r->mixed, 0, memory_order_relaxed);
		if (!r->err)
			add(r, d, name);
		set_state(r, r->err ? RANGE_FULL : RANGE_ON);
	} else if (s == RANGE_ON && (uint32_t)gettid() != r->owner) {
		atomic_store_explicit(&r->mixed, 1, memory_order_relaxed);
	} else if (s == RANGE_ON && !r->inside && take(r, RANGE_ON)) {
		if (r->n < r->most)
			add(r, d, name);
		else
			stop(r);
		set_state(r, r->inside ? RANGE_ON : RANGE_FULL);
	} else {
		return;
	}
	if (atomic_load_explicit(&r->state, memory_order_relaxed) == RANGE_FULL)
		keep_doorbell(c);
}

void range_launched(struct cuda *c, const struct cupti_cb_data *d)
{
	struct range *r = &c->counters;

	if (atomic_load_explicit(&r->state, memory_order_acquire) != RANGE_ON ||
	    (uint32_t)gettid() != r->owner || d->correlation != r->inside_corr ||
	    !take(r, RANGE_ON))
		return;
	r->inside = false;
	set_state(r, RANGE_ON);
}

/* --- on ours --- */

static void refused(struct range *r, int err)
{
	bool held = err == CUPTI_HARDWARE_BUSY;

	metric_fini(&r->host, &r->set);
	r->until_ns = clock_mono_ns() + RETRY_NS;
	aon_note("counters", held ? "waiting" : "off", counters_why(err));
	set_state(r, held ? RANGE_IDLE : RANGE_OFF);
}

static bool load(struct range *r, void *lib)
{
	static const struct metric_fn fns[] = {
#define FN(name, type) { "cupti" #name, offsetof(struct range_api, name) },
#include "probe/cuda/range_fn.tbl.h"
	};

	if (!r->loaded)
		r->loaded = metric_load_host(lib, &r->host) &&
			    metric_load(lib, &r->api, fns, sizeof(fns) / sizeof(fns[0]));
	return r->loaded;
}

/* The first context whose record has come. */
static bool find_context(struct cuda *c, struct range *r)
{
	bool found = false;

	cuda_turn_take(&c->turn);
	for (unsigned i = 0; i < CUDA_CONTEXTS && !found; i++)
		if (c->context[i].device < PM_DEVICES) {
			r->context = c->context[i].context;
			r->device = c->context[i].device;
			found = true;
		}
	cuda_turn_give(&c->turn);
	return found;
}

static void arm(struct cuda *c, struct range *r)
{
	int err;

	r->told = false;
	if (r->ran || clock_mono_ns() < r->until_ns || !find_context(c, r))
		return;
	if (!c->heartbeat || !load(r, c->api.lib)) {
		aon_note("counters", "off",
			 c->heartbeat
				 ? "this libcupti has no range profiler: 12.6 or later is needed"
				 : "ranges need callbacks at launches, and AON_CUDA_PULSE=0");
		set_state(r, RANGE_OFF);
		return;
	}
	r->set.type = RP_PROFILER_TYPE;
	err = metric_chip(&r->host, &r->set, r->device);
	err = err ? err : metric_choose(&r->host, &r->set, metrics, RANGE_COUNTERS);
	if (err)
		refused(r, err);
	else
		set_state(r, RANGE_ARMED);
}

static void emit(struct range *r, size_t i)
{
	double value[METRICS_MAX] = { 0 };

	if (!r->launch[i].name)
		return;
	if (metric_values(&r->host, &r->set, &r->image, i, value)) {
		aon_lost(AON_LOST_SOURCE, r->set.metrics);
		return;
	}
	for (size_t k = 0; k < r->set.metrics; k++) {
		uint8_t which = r->set.which[k];

		if (!r->track[which])
			r->track[which] =
				aon_track(r->device, 0, NO_STREAM - 1 - which, track_name[which]);
		aon_counter_at(r->launch[i].name, r->track[which], value[k], r->launch[i].ns);
	}
}

/* 0, or CUPTI's error; *why: the reason if there is no result. */
static int read_all(struct range *r, const char **why)
{
	struct rp_decode decode = { .size = PM_SIZE(rp_decode, dropped), .object = r->object };
	struct rp_info info = { .size = PM_SIZE(rp_info, ranges) };
	int err = r->api.RangeProfilerDecodeData(&decode);

	info.image = r->image.p;
	info.bytes = r->image.n;
	err = err ? err : r->api.RangeProfilerGetCounterDataInfo(&info);
	if (err)
		return err;
	if (atomic_load_explicit(&r->mixed, memory_order_relaxed))
		*why = "several threads launched: whose ranges they are is not known";
	else if (decode.dropped || info.ranges != r->n)
		*why = "ranges and launches differ: whose they are is not known";
	for (size_t i = 0; i < r->n && !*why; i++)
		emit(r, i);
	return 0;
}

static void let_go(struct range *r)
{
	struct pm_object p = { .size = sizeof(p), .object = r->object };

	if (r->object)
		r->api.RangeProfilerDisable(&p);
	r->object = NULL;
	r->inside = false;
	bytes_fini(&r->image);
}

/* Reports what was read, then nothing more until the next capture. */
static void finish(struct range *r)
{
	const char *why = NULL;

	if (!r->err && r->object)
		r->err = read_all(r, &why);
	let_go(r);
	if (r->err) {
		refused(r, r->err);
		return;
	}
	metric_fini(&r->host, &r->set);
	r->ran = true;
	aon_note("counters", why ? "off" : "on",
		 why ? why : "ranges: kernels of a capture were read");
	set_state(r, why ? RANGE_OFF : RANGE_IDLE);
}

static void give_up(struct range *r)
{
	if (take(r, RANGE_ON)) {
		stop(r);
		set_state(r, RANGE_FULL);
	}
}

static void rest(struct range *r)
{
	r->ran = false;
	if (!r->told)
		aon_note("counters", "waiting", "for a capture");
	r->told = true;
}

void range_tick(struct cuda *c)
{
	struct range *r = &c->counters;
	bool full;

	if (!r->most || r->state == RANGE_OFF)
		return;
	full = aon_wants_tier(AON_WANT_API);
	if (r->state == RANGE_ON && (!full || clock_mono_ns() > r->until_ns))
		give_up(r);
	if (r->state == RANGE_FULL)
		finish(r);
	else if (r->state == RANGE_ARMED && !full && take(r, RANGE_ARMED))
		metric_fini(&r->host, &r->set), set_state(r, RANGE_IDLE);
	else if (r->state == RANGE_IDLE && !full)
		rest(r);
	else if (r->state == RANGE_IDLE)
		arm(c, r);
}

/* Of a session that ends: what was read so far goes. */
void range_close(struct cuda *c)
{
	struct range *r = &c->counters;

	if (!r->most || !(take(r, RANGE_ON) || take(r, RANGE_ARMED) || take(r, RANGE_FULL)))
		return;
	if (r->object && !r->err)
		stop(r);
	let_go(r);
	metric_fini(&r->host, &r->set);
	set_state(r, RANGE_IDLE);
}
