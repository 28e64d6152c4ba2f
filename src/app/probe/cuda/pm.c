/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pm.c - counters of whole devices by CUPTI's PM sampling, on request: AON_COUNTERS=pm.
 *
 * The device's own hardware reads its counters at a fixed period into a buffer; nothing runs at a
 * launch. The probe's thread decodes the buffer at each tick and emits one value per counter and sample,
 * at the sample's time. Counters belong to a device, not to a process: one tool holds them at a
 * time, and they include the work of other processes. Only devices with a context of the program
 * are read.
 *
 *	not requested -> nothing is looked up, nothing is loaded
 *	refused       -> a reason in `aon ps`; final, unless another tool holds them: then tried again
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "probe/cuda/cuda.h"
#include "probe/cuda/times.h"

#define INTERVAL_US    1000u
#define INTERVAL_MIN   100u
#define INTERVAL_MAX   1000000u
#define SAMPLES        8192u /* in an image: of more than one tick even at the shortest period */
#define HARDWARE_BYTES (16u << 20)
#define RETRY_NS       (CUDA_RETRY_MS * 1000000ull)
#define FAR_NS         10000000000ll /* a sample this far from now is of another clock */
#define ZERO           0.05          /* percent */
#define NO_STREAM      UINT64_MAX

static const char *const counter_name[PM_COUNTERS] = {
#define PM(ID, name, word, first, second) [PM_##ID] = name,
#include "base/pm.tbl.h"
};

static const struct metric_name counters[PM_COUNTERS] = {
#define PM(ID, name, word, first, second) [PM_##ID] = { { first, second } },
#include "base/pm.tbl.h"
};

/* --- setting --- */

/* pm, or pm:MICROSECONDS */
void pm_setup(struct pm *pm, const char *set)
{
	unsigned long us;

	if (!set || strncmp(set, "pm", 2) || (set[2] && set[2] != ':'))
		return;
	us = set[2] ? strtoul(set + 3, NULL, 10) : INTERVAL_US;
	pm->interval_us = us < INTERVAL_MIN   ? INTERVAL_MIN
			  : us > INTERVAL_MAX ? INTERVAL_MAX
					      : (uint32_t)us;
}

static bool load(struct pm *pm, void *lib)
{
	static const struct metric_fn fns[] = {
#define FN(name, type) { "cupti" #name, offsetof(struct pm_api, name) },
#include "probe/cuda/pm_fn.tbl.h"
	};

	return metric_load_host(lib, &pm->host) &&
	       metric_load(lib, &pm->api, fns, sizeof(fns) / sizeof(fns[0]));
}

/* --- telling --- */

static void tell(struct pm *pm, enum pm_state state, const char *why)
{
	static const char *const word[] = { "waiting", "on", "waiting", "off" };

	if (pm->state == state && pm->why == why)
		return;
	pm->state = state;
	pm->why = why;
	aon_note("counters", word[state], why);
}

static void refused(struct pm *pm, int err)
{
	pm->retry_ns = clock_mono_ns() + RETRY_NS;
	tell(pm, err == CUPTI_HARDWARE_BUSY ? PM_HELD : PM_OFF, counters_why(err));
}

/* --- a device --- */

static int available(struct pm *pm, struct pm_device *d)
{
	struct pm_avail p = { .size = PM_SIZE(pm_avail, image), .device = d->id };
	int err = pm->api.PmSamplingGetCounterAvailability(&p);

	err = err ? err : bytes_make(&d->set.avail, p.bytes);
	if (err)
		return err;
	p.image = d->set.avail.p;
	return pm->api.PmSamplingGetCounterAvailability(&p);
}

static int image_init(struct pm *pm, struct pm_device *d)
{
	struct pm_data p = { .size = PM_SIZE(pm_data, image),
			     .object = d->object,
			     .bytes = d->image.n,
			     .image = d->image.p };

	return pm->api.PmSamplingCounterDataImageInitialize(&p);
}

static int image_make(struct pm *pm, struct pm_device *d)
{
	struct pm_data_size p = { .size = PM_SIZE(pm_data_size, bytes),
				  .object = d->object,
				  .metric = d->set.metric,
				  .metrics = d->set.metrics,
				  .samples = SAMPLES };
	int err = pm->api.PmSamplingGetCounterDataSize(&p);

	err = err ? err : bytes_make(&d->image, p.bytes);
	return err ? err : image_init(pm, d);
}

/* By the clock; GA100 knows no such trigger, and counts cycles of about a nanosecond. */
static int set_config(struct pm *pm, struct pm_device *d)
{
	struct pm_set p = { .size = PM_SIZE(pm_set, append),
			    .object = d->object,
			    .bytes = d->set.config.n,
			    .image = d->set.config.p,
			    .hardware_bytes = HARDWARE_BYTES,
			    .interval = pm->interval_us * 1000ull,
			    .trigger = PM_TRIGGER_NS,
			    .append = PM_KEEP_OLDEST };
	int err = pm->api.PmSamplingSetConfig(&p);

	if (!err)
		return 0;
	p.trigger = PM_TRIGGER_CLOCKS;
	return pm->api.PmSamplingSetConfig(&p) ? err : 0;
}

static int call_object(int (*fn)(struct pm_object *), const struct pm_device *d)
{
	struct pm_object p = { .size = sizeof(p), .object = d->object };

	return fn(&p);
}

/* --- samples --- */

/*
 * CUPTI's clock as a rule, which the records of kernels have, too. A device whose samples are of
 * another one is taken to have read its latest just now.
 */
static uint64_t host_ns(const struct pm *pm, struct pm_device *d, uint64_t ns, uint64_t latest)
{
	int64_t late = (int64_t)(pm->now_ns - dev_clock_host(&pm->clock, latest));

	if (!d->samples && (late > FAR_NS || late < -FAR_NS))
		d->shift = late;
	else if (d->shift && late < d->shift) /* read sooner after it was taken than any before */
		d->shift = late;
	return dev_clock_host(&pm->clock, ns) + (uint64_t)d->shift;
}

static bool sample_at(struct pm *pm, const struct pm_device *d, size_t i, struct pm_sample *out)
{
	*out = (struct pm_sample){ .size = PM_SIZE(pm_sample, end),
				   .object = d->object,
				   .image = d->image.p,
				   .bytes = d->image.n,
				   .sample = i };
	return !pm->api.PmSamplingCounterDataGetSampleInfo(out) && out->end > out->start;
}

static void emit(struct pm *pm, struct pm_device *d, const double *value, uint64_t ns)
{
	bool zero = true;

	for (size_t i = 0; i < d->set.metrics; i++)
		zero &= value[i] < ZERO;
	if (zero && d->zero)
		return;
	d->zero = zero;
	for (size_t i = 0; i < d->set.metrics; i++) {
		uint32_t *name = &pm->name[d->set.which[i]];

		if (!*name)
			*name = aon_name(counter_name[d->set.which[i]]);
		aon_counter_at(*name, d->track, value[i], ns);
	}
}

static void samples(struct pm *pm, struct pm_device *d, size_t n)
{
	double value[METRICS_MAX] = { 0 };
	struct pm_sample last, s;

	if (!n || !sample_at(pm, d, n - 1, &last))
		return;
	for (size_t i = 0; i < n; i++, d->samples++) {
		if (!sample_at(pm, d, i, &s) ||
		    metric_values(&pm->host, &d->set, &d->image, i, value)) {
			aon_lost(AON_LOST_SOURCE, d->set.metrics);
			continue;
		}
		s.start = host_ns(pm, d, s.start, last.end);
		if (d->samples) /* the first one of all began before it was asked for */
			emit(pm, d, value, s.start);
	}
}

static int device_read(struct pm *pm, struct pm_device *d)
{
	struct pm_decode p = { .size = PM_SIZE(pm_decode, overflow),
			       .object = d->object,
			       .image = d->image.p,
			       .bytes = d->image.n };
	struct pm_info info = { .size = PM_SIZE(pm_info, completed),
				.image = d->image.p,
				.bytes = d->image.n };
	int err = pm->api.PmSamplingDecodeData(&p);

	if (p.overflow)
		aon_lost(AON_LOST_SOURCE, d->set.metrics); /* how many, nobody says */
	err = err ? err : pm->api.PmSamplingGetCounterDataInfo(&info);
	if (err)
		return err;
	samples(pm, d, info.completed < SAMPLES ? info.completed : SAMPLES);
	return image_init(pm, d);
}

/* --- beginning and end --- */

/* With the last samples, unless there was an error. */
static void device_close(struct pm *pm, struct pm_device *d, bool failed)
{
	if (d->on && !call_object(pm->api.PmSamplingStop, d) && !failed)
		device_read(pm, d);
	if (d->object)
		call_object(pm->api.PmSamplingDisable, d);
	metric_fini(&pm->host, &d->set);
	d->object = NULL;
	d->on = false;
	bytes_fini(&d->image);
}

static int device_open(struct pm *pm, struct pm_device *d)
{
	struct pm_enable en = { .size = PM_SIZE(pm_enable, object), .device = d->id };
	int err = metric_chip(&pm->host, &d->set, d->id);

	d->set.type = PM_PROFILER_TYPE;
	err = err ? err : available(pm, d);
	err = err ? err : metric_choose(&pm->host, &d->set, counters, PM_COUNTERS);
	err = err ? err : pm->api.PmSamplingEnable(&en);
	d->object = en.object;
	err = err ? err : set_config(pm, d);
	err = err ? err : image_make(pm, d);
	err = err ? err : call_object(pm->api.PmSamplingStart, d);
	d->on = !err;
	if (err)
		device_close(pm, d, true);
	d->samples = 0;
	d->shift = 0;
	d->zero = false;
	d->track = aon_track(d->id, 0, NO_STREAM, NULL);
	return err;
}

/* --- a tick --- */

/* The devices of contexts, as far as their records have come. The turn is held. */
static uint32_t devices(const struct cuda *c)
{
	uint32_t mask = 0;

	for (unsigned i = 0; i < CUDA_CONTEXTS; i++)
		if (c->context[i].device < PM_DEVICES)
			mask |= 1u << c->context[i].device;
	return mask;
}

static void close_all(struct pm *pm, bool failed)
{
	for (uint32_t i = 0; i < PM_DEVICES; i++)
		if (pm->device[i].object)
			device_close(pm, &pm->device[i], failed);
}

static void read_all(struct pm *pm, uint32_t mask)
{
	int err = 0;

	for (uint32_t i = 0; i < PM_DEVICES && !err; i++) {
		struct pm_device *d = &pm->device[i];

		if (!(mask >> i & 1))
			continue;
		d->id = i;
		err = d->on ? device_read(pm, d) : device_open(pm, d);
	}
	if (err) {
		close_all(pm, true);
		refused(pm, err);
	} else if (mask) {
		tell(pm, PM_ON, "PM sampling");
	}
}

/* CUPTI's calls may take long: the turn, for which its own thread waits, is not held over them. */
static uint32_t look(struct cuda *c)
{
	uint32_t mask;

	cuda_turn_take(&c->turn);
	clock_look(c);
	c->pm.clock = c->clock;
	c->pm.now_ns = c->now_ns;
	mask = devices(c);
	cuda_turn_give(&c->turn);
	return mask;
}

void pm_tick(struct cuda *c)
{
	struct pm *pm = &c->pm;

	if (!pm->interval_us || pm->state == PM_OFF ||
	    (pm->state == PM_HELD && clock_mono_ns() < pm->retry_ns))
		return;
	if (aon_counters_leased()) {
		pm_close(c);
		pm->retry_ns = 0;
		tell(pm, PM_HELD, "externally profiled: aon lease");
	} else if (!aon_wants_tier(AON_WANT_COUNTER))
		pm_close(c);
	else if (!pm->api.PmSamplingEnable && !load(pm, c->api.lib))
		tell(pm, PM_OFF, "this libcupti has no PM sampling: 12.6 or later is needed");
	else
		read_all(pm, look(c));
}

void pm_close(struct cuda *c)
{
	if (c->pm.interval_us)
		close_all(&c->pm, false);
}
