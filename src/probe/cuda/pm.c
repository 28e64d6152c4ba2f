/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pm.c - counters of whole devices by CUPTI's PM sampling, for who asks for them: AON_COUNTERS=pm.
 *
 * The device's own hardware reads its counters at a fixed period into a buffer; nothing runs at a
 * launch. Our thread decodes the buffer at each tick and emits a value a counter and sample, at the
 * sample's time. Counters are a device's, not a process's: one tool has them at a time, and what
 * other processes do on it is in them. Only devices on which the program has a context are asked.
 *
 *	not asked for -> nothing is looked up, nothing is loaded
 *	refused       -> a reason in `aon ps`; for good, but another tool may go: asked again
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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

static const struct {
	const char *name, *metric[2];
} counters[PM_COUNTERS] = {
#define PM(ID, name, word, first, second) [PM_##ID] = { name, { first, second } },
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
	static const struct {
		const char *name;
		size_t at;
	} fns[] = {
#define FN(name, type) { "cupti" #name, offsetof(struct pm_api, name) },
#include "probe/cuda/pm_fn.tbl.h"
	};

	for (size_t i = 0; i < sizeof(fns) / sizeof(fns[0]); i++) {
		void *fn = dlsym(lib, fns[i].name);

		if (!fn)
			return false;
		memcpy((char *)&pm->api + fns[i].at, &fn, sizeof(fn));
	}
	return true;
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

static const char *reason(int err)
{
	if (err == CUPTI_NOT_INITIALIZED)
		return "CUPTI cannot load libnvperf_host.so and libnvperf_target.so";
	if (err == CUPTI_INVALID_METRIC)
		return "this device has none of the counters";
	return session_why(err);
}

static void refused(struct pm *pm, int err)
{
	pm->retry_ns = cuda_now() + RETRY_NS;
	tell(pm, err == CUPTI_HARDWARE_BUSY ? PM_HELD : PM_OFF, reason(err));
}

/* --- a device --- */

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void unmap(struct pm_bytes *b)
{
	if (b->p)
		munmap(b->p, b->n);
	b->p = NULL;
}

static int make(struct pm_bytes *b, size_t n)
{
	unmap(b);
	b->n = n;
	b->p = n ? map(n) : NULL;
	return b->p ? 0 : CUPTI_OUT_OF_MEMORY;
}

static int available(struct pm *pm, struct pm_device *d)
{
	struct pm_avail p = { .size = PM_SIZE(pm_avail, image), .device = d->id };
	int err = pm->api.PmSamplingGetCounterAvailability(&p);

	if (!err)
		err = make(&d->avail, p.bytes);
	if (err)
		return err;
	p.image = d->avail.p;
	return pm->api.PmSamplingGetCounterAvailability(&p);
}

static void host_end(struct pm *pm, struct pm_device *d)
{
	struct pm_host_end p = { .size = sizeof(p), .host = d->host };

	if (d->host)
		pm->api.ProfilerHostDeinitialize(&p);
	d->host = NULL;
}

static int config(struct pm *pm, struct pm_device *d, size_t *passes)
{
	struct pm_add add = { .size = PM_SIZE(pm_add, metrics),
			      .host = d->host,
			      .metric = d->metric,
			      .metrics = d->metrics };
	struct pm_config_size n = { .size = PM_SIZE(pm_config_size, bytes), .host = d->host };
	struct pm_config image = { .size = PM_SIZE(pm_config, image), .host = d->host };
	struct pm_passes p = { .size = PM_SIZE(pm_passes, passes) };
	int err = pm->api.ProfilerHostConfigAddMetrics(&add);

	if (!err)
		err = pm->api.ProfilerHostGetConfigImageSize(&n);
	if (!err)
		err = make(&d->config, n.bytes);
	if (err)
		return err;
	image.bytes = p.bytes = n.bytes;
	image.image = p.image = d->config.p;
	err = pm->api.ProfilerHostGetConfigImage(&image);
	if (!err)
		err = pm->api.ProfilerHostGetNumOfPasses(&p);
	*passes = p.passes;
	return err;
}

/* A host object and a config for the metrics that are listed; samples allow of one pass only. */
static int schedule(struct pm *pm, struct pm_device *d)
{
	struct pm_host p = { .size = PM_SIZE(pm_host, host),
			     .type = PM_PROFILER_TYPE,
			     .chip = d->chip,
			     .avail = d->avail.p };
	size_t passes = 0;
	int err;

	host_end(pm, d);
	err = pm->api.ProfilerHostInitialize(&p);
	if (err)
		return err;
	d->host = p.host;
	err = config(pm, d, &passes);
	return err ? err : passes == 1 ? 0 : CUPTI_INVALID_METRIC;
}

/* Names differ by chip: of each counter the first metric that fits beside the others. */
static int choose(struct pm *pm, struct pm_device *d)
{
	int err = 0;

	d->metrics = 0;
	for (uint32_t c = 0; c < PM_COUNTERS; c++) {
		for (int i = 0; i < 2 && counters[c].metric[i][0]; i++) {
			d->metric[d->metrics] = counters[c].metric[i];
			d->counter[d->metrics++] = (uint8_t)c;
			err = schedule(pm, d);
			if (!err)
				break;
			d->metrics--;
			if (err != CUPTI_INVALID_METRIC && err != CUPTI_INVALID_PARAMETER)
				return err;
		}
	}
	if (!d->metrics)
		return err;
	return err ? schedule(pm, d) : 0; /* the last one did not fit: without it */
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
				  .metric = d->metric,
				  .metrics = d->metrics,
				  .samples = SAMPLES };
	int err = pm->api.PmSamplingGetCounterDataSize(&p);

	if (!err)
		err = make(&d->image, p.bytes);
	return err ? err : image_init(pm, d);
}

/* By the clock; GA100 knows no such trigger, and counts cycles of about a nanosecond. */
static int set_config(struct pm *pm, struct pm_device *d)
{
	struct pm_set p = { .size = PM_SIZE(pm_set, append),
			    .object = d->object,
			    .bytes = d->config.n,
			    .image = d->config.p,
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

	for (size_t i = 0; i < d->metrics; i++)
		zero &= value[i] < ZERO;
	if (zero && d->zero)
		return;
	d->zero = zero;
	for (size_t i = 0; i < d->metrics; i++) {
		uint32_t *name = &pm->name[d->counter[i]];

		if (!*name)
			*name = aon_name(counters[d->counter[i]].name);
		aon_counter_at(*name, d->lane, value[i], ns);
	}
}

static void samples(struct pm *pm, struct pm_device *d, size_t n)
{
	double value[PM_COUNTERS] = { 0 };
	struct pm_values v = { .size = PM_SIZE(pm_values, value),
			       .host = d->host,
			       .image = d->image.p,
			       .bytes = d->image.n,
			       .metric = d->metric,
			       .metrics = d->metrics,
			       .value = value };
	struct pm_sample last, s;

	if (!n || !sample_at(pm, d, n - 1, &last))
		return;
	for (size_t i = 0; i < n; i++, d->samples++) {
		v.sample = i;
		if (!sample_at(pm, d, i, &s) || pm->api.ProfilerHostEvaluateToGpuValues(&v)) {
			aon_lost(AON_LOST_SOURCE, d->metrics);
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
		aon_lost(AON_LOST_SOURCE, d->metrics); /* how many, nobody says */
	if (!err)
		err = pm->api.PmSamplingGetCounterDataInfo(&info);
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
	host_end(pm, d);
	d->object = NULL;
	d->on = false;
	unmap(&d->avail);
	unmap(&d->config);
	unmap(&d->image);
}

static int device_open(struct pm *pm, struct pm_device *d)
{
	struct pm_init init = { .size = sizeof(init) };
	struct pm_chip chip = { .size = PM_SIZE(pm_chip, chip), .device = d->id };
	struct pm_enable en = { .size = PM_SIZE(pm_enable, object), .device = d->id };
	int err = pm->api.ProfilerInitialize(&init);

	if (!err)
		err = pm->api.DeviceGetChipName(&chip);
	d->chip = chip.chip;
	if (!err)
		err = available(pm, d);
	if (!err)
		err = choose(pm, d);
	if (!err)
		err = pm->api.PmSamplingEnable(&en);
	d->object = en.object;
	if (!err)
		err = set_config(pm, d);
	if (!err)
		err = image_make(pm, d);
	if (!err)
		err = call_object(pm->api.PmSamplingStart, d);
	d->on = !err;
	if (err)
		device_close(pm, d, true);
	d->samples = 0;
	d->shift = 0;
	d->zero = false;
	d->lane = aon_lane(d->id, 0, NO_STREAM, NULL);
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
	    (pm->state == PM_HELD && cuda_now() < pm->retry_ns))
		return;
	if (!aon_wants_tier(AON_WANT_COUNTER))
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
