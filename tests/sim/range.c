/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range.c - CUPTI's range profiler: each kernel of a context between start and stop is a range, a graph
 * is one as a whole. One context at a time; calls out of their order are refused. The interfaces are
 * those of the probe's cupti_range.h, which is checked against NVIDIA's headers.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cupti.h"
#include "cupti_calls.h"
#include "image.h"

#define RANGES 4096u
#define E_BUSY 26

static struct profiler {
	pthread_mutex_t lock;
	bool enabled, set, stopped;
	_Atomic bool started;
	uint32_t context, graph_corr;
	struct sim_image *image;
	size_t most, n, dropped;
	double v[RANGES][SIM_VALUES];
} profiler = { .lock = PTHREAD_MUTEX_INITIALIZER };

uint64_t sim_range_kinds(void)
{
	return profiler.enabled ? 1ull << SIM_KERNEL : 0;
}

void sim_range_saw(const struct sim_op *op)
{
	struct profiler *p = &profiler;
	double ns = (double)(op->end - op->start);

	if (!p->started || op->kind != SIM_KERNEL || op->context != p->context)
		return;
	pthread_mutex_lock(&p->lock);
	if (op->graph && op->corr == p->graph_corr) {
		pthread_mutex_unlock(&p->lock);
		return;
	}
	p->graph_corr = op->graph ? op->corr : 0;
	/* SIM_RANGE_TWICE: as if CUPTI saw launches that nobody was called back for. */
	for (int i = 0; i < 1 + sim_fault_int("SIM_RANGE_TWICE", 0); i++) {
		double *v = p->v[p->n];

		if (p->n >= p->most) {
			p->dropped++;
			break;
		}
		for (int m = 0; m < SIM_PM_METRICS; m++)
			v[m] = op->kernel.pct[m];
		v[SIM_VALUE_BYTES] =
			v[3] / 100 * ns * (double)sim_drv->device(op->device)->memory_kbs / 1e6;
		v[SIM_VALUE_NS] = ns;
		p->n++;
	}
	pthread_mutex_unlock(&p->lock);
}

int cuptiRangeProfilerEnable(struct rp_enable *p)
{
	const char *held = sim_fault("SIM_PM_HELD");
	uint32_t id;

	if (p->size < PM_SIZE(rp_enable, object))
		return E_PARAMETER;
	if (sim_fault_int("SIM_PM_ERROR", 0))
		return (int)sim_fault_int("SIM_PM_ERROR", 0);
	if (profiler.enabled || (held && !access(held, F_OK)))
		return E_BUSY;
	id = sim_drv->context_id(p->context, NULL);
	if (!id)
		return E_CONTEXT;
	profiler.context = id;
	profiler.enabled = true;
	profiler.set = profiler.stopped = false;
	p->object = &profiler;
	sim_cupti_wishes();
	return OK;
}

int cuptiRangeProfilerDisable(struct pm_object *p)
{
	if (p->object != &profiler || !profiler.enabled || profiler.started)
		return E_OPERATION;
	profiler.enabled = false;
	sim_cupti_wishes();
	return OK;
}

int cuptiRangeProfilerGetCounterDataSize(struct rp_data_size *p)
{
	struct sim_image *im;

	if (p->size < PM_SIZE(rp_data_size, bytes) || p->object != &profiler || !p->metrics ||
	    !p->ranges || p->nodes < p->ranges)
		return E_PARAMETER;
	p->bytes = sizeof(*im) + p->ranges * sizeof(im->sample[0]);
	return OK;
}

int cuptiRangeProfilerCounterDataImageInitialize(struct pm_data *p)
{
	struct sim_image *im = (void *)p->image;

	if (p->bytes < sizeof(*im))
		return E_SIZE;
	im->magic = SIM_IMAGE_MAGIC;
	im->max = (uint32_t)((p->bytes - sizeof(*im)) / sizeof(im->sample[0]));
	im->n = 0;
	return OK;
}

int cuptiRangeProfilerSetConfig(struct rp_set *p)
{
	struct sim_image *im = (void *)p->image;

	if (p->object != &profiler || !profiler.enabled || profiler.started)
		return E_OPERATION;
	if (p->size < PM_SIZE(rp_set, target) || p->range != RP_AUTO_RANGE ||
	    p->replay != RP_KERNEL_REPLAY || !p->ranges || p->ranges > RANGES || p->levels != 1 ||
	    p->level != 1 || !p->config || im->magic != SIM_IMAGE_MAGIC || im->max < p->ranges)
		return E_PARAMETER;
	profiler.image = im;
	profiler.most = p->ranges;
	profiler.set = true;
	return OK;
}

int cuptiRangeProfilerStart(struct pm_object *p)
{
	if (p->object != &profiler || !profiler.set || profiler.started)
		return E_OPERATION;
	profiler.n = profiler.dropped = 0;
	profiler.graph_corr = 0;
	profiler.started = true;
	return OK;
}

int cuptiRangeProfilerStop(struct rp_stop *p)
{
	if (p->size < PM_SIZE(rp_stop, all) || p->object != &profiler || !profiler.started)
		return E_OPERATION;
	profiler.started = false;
	profiler.stopped = true;
	p->pass = p->level = 0;
	p->all = 1;
	return OK;
}

int cuptiRangeProfilerDecodeData(struct rp_decode *p)
{
	struct profiler *r = &profiler;

	if (p->object != r || !r->stopped)
		return E_OPERATION;
	pthread_mutex_lock(&r->lock);
	r->image->n = (uint32_t)r->n;
	for (size_t i = 0; i < r->n; i++)
		memcpy(r->image->sample[i].v, r->v[i], sizeof(r->v[i]));
	p->dropped = r->dropped;
	pthread_mutex_unlock(&r->lock);
	return OK;
}

int cuptiRangeProfilerGetCounterDataInfo(struct rp_info *p)
{
	const struct sim_image *im = (const void *)p->image;

	if (im->magic != SIM_IMAGE_MAGIC)
		return E_PARAMETER;
	p->ranges = im->n;
	return OK;
}
