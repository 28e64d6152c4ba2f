/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pm.c - CUPTI's PM sampling: what the counters of a device would say of the kernels that ran.
 *
 * A sample is the mean of its interval: of each kernel, the part of it in which it ran times what it
 * takes of the device by the model (model.c). Calls out of their order are refused. The interfaces
 * are those of the probe's cupti_pm.h, which is checked against NVIDIA's headers.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cupti.h"
#include "cupti_calls.h"
#include "image.h"

#define METRICS   SIM_PM_METRICS
#define KERNELS   32768u /* remembered of a device */
#define E_METRIC  17
#define E_BUSY    26
#define RAW_BYTES 64u /* of the hardware's buffer, a sample */
#define OTHER_NS  77000000000000ull
#define GA100     80u

static const struct {
	const char *name;
	uint32_t not_on; /* the compute capability of what has it under another name */
} metrics[] = {
	[0] = { "sm__cycles_active.avg.pct_of_peak_sustained_elapsed", 0 },
	[1] = { "sm__throughput.avg.pct_of_peak_sustained_elapsed", 0 },
	[2] = { "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", 0 },
	[3] = { "dram__throughput.avg.pct_of_peak_sustained_elapsed", GA100 },
	[4] = { "dramc__throughput.avg.pct_of_peak_sustained_elapsed", 0 }, /* as [3] */
	[5] = { "dram__bytes.sum", GA100 },
	[6] = { "dramc__bytes.sum", 0 },
	[7] = { "gpu__time_duration.sum", 0 },
};

struct ran {
	uint64_t start, end;
	float pct[METRICS];
};

struct device {
	pthread_mutex_t lock; /* guards the kernels */
	struct ran *kernel;
	uint64_t kernels;
	bool enabled, set, started;
	uint64_t interval, next; /* where the next sample begins, on the model's time line */
	size_t hardware_samples;
};

struct host {
	uint32_t device_type; /* index of the device that the image of availability is of */
	size_t n;
};

static struct device devices[SIM_DEVICES];
static bool begun;
static _Atomic uint32_t sampling;

static uint32_t cc_of(uint32_t device)
{
	return sim_drv->device(device)->major * 10 + sim_drv->device(device)->minor;
}

uint64_t sim_pm_kinds(void)
{
	return sampling ? 1ull << SIM_KERNEL : 0;
}

void sim_pm_saw(const struct sim_op *op)
{
	struct device *d = &devices[op->device % SIM_DEVICES];
	struct ran *r;

	if (op->kind != SIM_KERNEL || !sampling)
		return;
	pthread_mutex_lock(&d->lock);
	if (d->kernel) {
		r = &d->kernel[d->kernels++ % KERNELS];
		r->start = op->start;
		r->end = op->end;
		memcpy(r->pct, op->kernel.pct, sizeof(r->pct));
	}
	pthread_mutex_unlock(&d->lock);
}

int cuptiProfilerInitialize(struct pm_init *p)
{
	int err = sim_cupti_start();

	if (err || p->size < sizeof(*p))
		return err ? err : E_PARAMETER;
	for (uint32_t i = 0; i < SIM_DEVICES && !begun; i++)
		pthread_mutex_init(&devices[i].lock, NULL);
	begun = true;
	return OK;
}

static int ready(size_t size, size_t want, size_t device)
{
	return !begun                         ? E_NOT_INITIALIZED
	       : size < want                  ? E_PARAMETER
	       : device >= sim_drv->devices() ? E_DEVICE
					      : OK;
}

int cuptiDeviceGetChipName(struct pm_chip *p)
{
	int err = ready(p->size, sizeof(*p), p->device);

	if (!err)
		p->chip = sim_drv->device((uint32_t)p->device)->name;
	return err;
}

int cuptiPmSamplingGetCounterAvailability(struct pm_avail *p)
{
	int err = ready(p->size, sizeof(*p), p->device);

	if (err)
		return err;
	if (p->image && p->bytes < sizeof(uint64_t))
		return E_SIZE;
	if (p->image)
		memset(p->image, 0xa5, sizeof(uint64_t));
	p->bytes = sizeof(uint64_t);
	return OK;
}

/* --- the host's half: metrics by name --- */

int cuptiProfilerHostInitialize(struct pm_host *p)
{
	struct host *h;

	if (!begun)
		return E_NOT_INITIALIZED;
	if (p->size < PM_SIZE(pm_host, host) || !p->chip ||
	    !(p->type == RP_PROFILER_TYPE || (p->type == PM_PROFILER_TYPE && p->avail)))
		return E_PARAMETER;
	h = calloc(1, sizeof(*h));
	if (!h)
		return E_UNKNOWN;
	for (uint32_t i = 0; i < sim_drv->devices(); i++)
		if (!strcmp(sim_drv->device(i)->name, p->chip))
			h->device_type = i;
	p->host = h;
	return OK;
}

int cuptiProfilerHostDeinitialize(struct pm_host_end *p)
{
	if (!p->host)
		return E_PARAMETER;
	free(p->host);
	return OK;
}

/* Which of the values a metric is; -1: this chip has none of that name. */
static int metric_of(const struct host *h, const char *name)
{
	static const int value[] = {
		0, 1, 2, 3, 3, SIM_VALUE_BYTES, SIM_VALUE_BYTES, SIM_VALUE_NS
	};
	uint32_t cc = cc_of(h->device_type);

	for (int i = 0; i < (int)(sizeof(metrics) / sizeof(metrics[0])); i++)
		if (!strcmp(metrics[i].name, name))
			return metrics[i].not_on == cc ? -1 : value[i];
	return -1;
}

int cuptiProfilerHostConfigAddMetrics(struct pm_add *p)
{
	struct host *h = p->host;

	if (p->size < PM_SIZE(pm_add, metrics) || !h || !p->metrics)
		return E_PARAMETER;
	for (size_t i = 0; i < p->metrics; i++)
		if (metric_of(h, p->metric[i]) < 0)
			return E_METRIC;
	h->n += p->metrics;
	return OK;
}

int cuptiProfilerHostGetConfigImageSize(struct pm_config_size *p)
{
	p->bytes = sizeof(uint64_t);
	return p->host && ((struct host *)p->host)->n ? OK : E_OPERATION;
}

int cuptiProfilerHostGetConfigImage(struct pm_config *p)
{
	uint64_t n = ((struct host *)p->host)->n;

	if (p->bytes < sizeof(n))
		return E_SIZE;
	memcpy(p->image, &n, sizeof(n));
	return OK;
}

/* SIM_PM_PER_PASS: that many metrics at a time. */
int cuptiProfilerHostGetNumOfPasses(struct pm_passes *p)
{
	uint64_t n, each = (uint64_t)sim_fault_int("SIM_PM_PER_PASS", SIM_VALUES);

	memcpy(&n, p->image, sizeof(n));
	p->passes = (n + each - 1) / each;
	return OK;
}

int cuptiProfilerHostEvaluateToGpuValues(struct pm_values *p)
{
	const struct sim_image *im = (const void *)p->image;

	if (im->magic != SIM_IMAGE_MAGIC || p->sample >= im->n)
		return E_PARAMETER;
	for (size_t i = 0; i < p->metrics; i++) {
		int m = metric_of(p->host, p->metric[i]);

		if (m < 0)
			return E_METRIC;
		p->value[i] = im->sample[p->sample].v[m];
	}
	return OK;
}

/* --- the device's half --- */

/* SIM_PM_ERROR=n: as without permission (35); SIM_PM_HELD=FILE: busy as long as that file is there. */
int cuptiPmSamplingEnable(struct pm_enable *p)
{
	int err = ready(p->size, sizeof(*p), p->device);
	const char *held = sim_fault("SIM_PM_HELD");
	struct device *d = &devices[p->device % SIM_DEVICES];

	if (err || sim_fault_int("SIM_PM_ERROR", 0))
		return err ? err : (int)sim_fault_int("SIM_PM_ERROR", 0);
	if (d->enabled || (held && !access(held, F_OK)))
		return E_BUSY;
	pthread_mutex_lock(&d->lock);
	if (!d->kernel)
		d->kernel = calloc(KERNELS, sizeof(*d->kernel));
	d->kernels = 0;
	pthread_mutex_unlock(&d->lock);
	d->enabled = d->kernel != NULL;
	p->object = d;
	sampling++;
	sim_cupti_wishes();
	return d->enabled ? OK : E_UNKNOWN;
}

int cuptiPmSamplingDisable(struct pm_object *p)
{
	struct device *d = p->object;

	if (!d || !d->enabled || d->started)
		return E_OPERATION;
	d->enabled = d->set = false;
	sampling--;
	sim_cupti_wishes();
	return OK;
}

int cuptiPmSamplingSetConfig(struct pm_set *p)
{
	struct device *d = p->object;
	bool clocks = d && cc_of((uint32_t)(d - devices)) == GA100;

	if (!d || !d->enabled || d->started)
		return E_OPERATION;
	/* Its kind of device has no trigger by the clock. */
	if (p->size < PM_SIZE(pm_set, append) || !p->interval ||
	    (clocks && p->trigger == PM_TRIGGER_NS))
		return E_PARAMETER;
	d->interval = p->interval;
	d->hardware_samples = p->hardware_bytes / RAW_BYTES;
	d->set = true;
	return OK;
}

int cuptiPmSamplingStart(struct pm_object *p)
{
	struct device *d = p->object;

	if (!d || !d->set || d->started)
		return E_OPERATION;
	d->started = true;
	d->next = sim_drv->now();
	return OK;
}

int cuptiPmSamplingStop(struct pm_object *p)
{
	struct device *d = p->object;

	if (!d || !d->started)
		return E_OPERATION;
	d->started = false;
	return OK;
}

int cuptiPmSamplingGetCounterDataSize(struct pm_data_size *p)
{
	p->bytes =
		sizeof(struct sim_image) + p->samples * sizeof(((struct sim_image *)0)->sample[0]);
	return p->object && p->metrics ? OK : E_PARAMETER;
}

int cuptiPmSamplingCounterDataImageInitialize(struct pm_data *p)
{
	struct sim_image *im = (void *)p->image;

	if (p->bytes < sizeof(*im))
		return E_SIZE;
	im->magic = SIM_IMAGE_MAGIC;
	im->max = (uint32_t)((p->bytes - sizeof(*im)) / sizeof(im->sample[0]));
	im->n = 0;
	return OK;
}

static void fill(struct device *d, uint64_t from, uint64_t to, double v[METRICS])
{
	uint64_t first = d->kernels > KERNELS ? d->kernels - KERNELS : 0;

	memset(v, 0, METRICS * sizeof(*v));
	for (uint64_t i = d->kernels; i-- > first;) {
		const struct ran *r = &d->kernel[i % KERNELS];
		uint64_t start = r->start > from ? r->start : from, end = r->end < to ? r->end : to;

		for (int m = 0; m < METRICS && start < end; m++)
			v[m] += (double)r->pct[m] * (double)(end - start) / (double)(to - from);
	}
	for (int m = 0; m < METRICS; m++)
		v[m] = v[m] > 100 ? 100 : v[m];
}

int cuptiPmSamplingDecodeData(struct pm_decode *p)
{
	struct device *d = p->object;
	struct sim_image *im = (void *)p->image;
	int64_t shift = sim_gpu_shift();
	uint64_t now = sim_drv->now();

	if (!d || !d->set || im->magic != SIM_IMAGE_MAGIC)
		return E_OPERATION;
	if (sim_fault_int("SIM_PM_CLOCK", 0))
		shift += (int64_t)OTHER_NS;
	p->overflow = (now - d->next) / d->interval > d->hardware_samples;
	pthread_mutex_lock(&d->lock);
	for (; d->next + d->interval <= now && im->n < im->max; d->next += d->interval, im->n++) {
		im->sample[im->n].start = d->next + (uint64_t)shift;
		im->sample[im->n].end = d->next + d->interval + (uint64_t)shift;
		fill(d, d->next, d->next + d->interval, im->sample[im->n].v);
	}
	pthread_mutex_unlock(&d->lock);
	p->stopped = im->n == im->max ? 1 : 2;
	return OK;
}

int cuptiPmSamplingGetCounterDataInfo(struct pm_info *p)
{
	const struct sim_image *im = (const void *)p->image;

	if (im->magic != SIM_IMAGE_MAGIC)
		return E_PARAMETER;
	p->total = im->max;
	p->populated = p->completed = im->n;
	return OK;
}

int cuptiPmSamplingCounterDataGetSampleInfo(struct pm_sample *p)
{
	const struct sim_image *im = (const void *)p->image;

	if (im->magic != SIM_IMAGE_MAGIC || p->sample >= im->n)
		return E_PARAMETER;
	p->start = im->sample[p->sample].start;
	p->end = im->sample[p->sample].end;
	return OK;
}
