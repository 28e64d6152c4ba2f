/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.c - when work starts and ends.
 *
 * A piece of work starts when what is before it in its stream is done, when a launch needs no
 * longer to reach the device, and when there is room: a copy waits for its engine, a kernel for
 * the share of the device that it fills. What it takes then is the simulator's roofline
 * (src/analysis/sim/cost.h), of the share that a kernel fills.
 */
#include <stdatomic.h>
#include <string.h>

#include "driver.h"
#include "sim/cost.h"

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint64_t sim_cost(const struct sim_device *dev, const struct sim_func *f, const uint32_t grid[3],
		  const uint32_t block[3], double *share)
{
	static _Atomic long long fixed = -2;
	double blocks = (double)grid[0] * grid[1] * grid[2];
	double threads = blocks * block[0] * block[1] * block[2];
	double room = (double)dev->info.sms * dev->info.warps_per_sm * 32;

	*share = threads < room ? threads / room : 1;
	if (fixed == -2)
		fixed = sim_env_int("SIM_KERNEL_NS", -1);
	if (f->ns)
		return f->ns;
	if (fixed >= 0)
		return (uint64_t)fixed;
	return (uint64_t)sim_cost_kernel(dev->gpu, GPU_FP16, threads * f->flops, threads * f->bytes,
					 *share)
		.ns;
}

/* The first moment from `from` on at which `share` of the device is free. */
static uint64_t find_room(struct sim_device *dev, uint64_t from, double share)
{
	for (;;) {
		double busy = 0;
		uint64_t first = SIM_NEVER;
		uint32_t kept = 0;

		for (uint32_t i = 0; i < dev->residents; i++) {
			if (dev->resident[i].end <= from)
				continue;
			busy += dev->resident[i].share;
			if (dev->resident[i].end < first)
				first = dev->resident[i].end;
			kept++;
		}
		if (!kept || (kept < RESIDENT && busy + share <= 1.0001) || first == SIM_NEVER)
			return from;
		from = first;
	}
}

/* Forgets what ended before `now`: later work starts later still. */
static void sweep(struct sim_device *dev, uint64_t now)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < dev->residents; i++)
		if (dev->resident[i].end > now)
			dev->resident[n++] = dev->resident[i];
	dev->residents = n;
}

/* SIM_JITTER: kernels take up to so many percent more or less, the n-th of a device always alike. */
static uint64_t jittered(struct sim_device *dev, uint64_t ns)
{
	static _Atomic int known = -1; /* threads of two devices may be here at once */
	uint64_t h = ++dev->kernels * 0x9e3779b97f4a7c15ull;
	int percent = atomic_load_explicit(&known, memory_order_relaxed);

	if (percent < 0) {
		percent = (int)sim_env_int("SIM_JITTER", 0);
		atomic_store_explicit(&known, percent, memory_order_relaxed);
	}
	if (!percent || ns >= SIM_NEVER)
		return ns;
	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull >> 40; /* 24 bits */
	return ns - ns * (uint64_t)percent / 100 +
	       (uint64_t)((double)ns * percent / 50 * (double)h / (1 << 24));
}

/* What it takes of the device while it runs, in percent of what that can. */
static void set_pct(const struct sim_device *dev, struct work *w, double share, double ns)
{
	const uint32_t *g = w->op.kernel.grid, *b = w->op.kernel.block;
	double threads = (double)g[0] * g[1] * g[2] * b[0] * b[1] * b[2];
	float *pct = w->op.kernel.pct;

	pct[0] = (float)(100 * share);
	pct[1] =
		(float)(100 * threads * w->func->flops / (gpu_peak(dev->gpu, GPU_FP16) * ns / 1e9));
	pct[2] = w->func->tensor ? pct[1] : 0;
	pct[3] = (float)(100 * threads * w->func->bytes / (dev->gpu->memory_Bps * ns / 1e9));
}

static uint64_t place_kernel(struct sim_device *dev, struct work *w, uint64_t from, uint64_t now)
{
	double share;
	uint64_t ns = sim_cost(dev, w->func, w->op.kernel.grid, w->op.kernel.block, &share);

	ns = jittered(dev, ns);
	set_pct(dev, w, share, (double)ns);
	sweep(dev, now);
	w->op.start = find_room(dev, from, share);
	w->op.end = ns >= SIM_NEVER ? SIM_NEVER : w->op.start + ns;
	if (dev->residents == RESIDENT) /* the model is full: forget the one that ends first */
		memmove(&dev->resident[0], &dev->resident[1],
			sizeof(dev->resident[0]) * (RESIDENT - 1));
	else
		dev->residents++;
	dev->resident[dev->residents - 1].end = w->op.end;
	dev->resident[dev->residents - 1].share = share;
	return w->op.end;
}

static uint64_t place_copy(struct sim_device *dev, struct work *w, uint64_t from)
{
	enum engine e = w->op.copy.dir == 1   ? ENGINE_IN
			: w->op.copy.dir == 2 ? ENGINE_OUT
					      : ENGINE_PEER;
	uint64_t ns = (uint64_t)sim_cost_copy(dev->gpu, (double)w->op.copy.bytes,
					      e == ENGINE_PEER ? SIM_WAY_DEVICE : SIM_WAY_HOST);

	w->op.start = max_u64(from, dev->engine[e]);
	w->op.end = dev->engine[e] = w->op.start + ns;
	return w->op.end;
}

/* Sets start and end of `w`, which may start at `after` at the earliest. */
void sim_place(struct sim_stream *s, struct work *w, uint64_t after, uint64_t now)
{
	struct sim_device *dev = s->ctx->dev;
	uint64_t from = max_u64(after + SIM_ORDER_NS, now + dev->info.launch_ns);

	w->op.queued = now;
	w->op.submitted = now + dev->info.launch_ns / 2;
	if (after >= SIM_NEVER || dev->lost) {
		w->op.start = w->op.end = SIM_NEVER;
		return;
	}
	switch (w->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		place_kernel(dev, w, from, now);
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		place_copy(dev, w, from);
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		w->op.start = from;
		w->op.end = from + (uint64_t)sim_cost_kernel(dev->gpu, GPU_FP16, 0,
							     (double)w->op.set.bytes, 1)
					   .ns;
		break;
	default: /* takes no time on the device */
		w->op.start = w->op.end = max_u64(after, now);
	}
	if (dev->lost_at && ++dev->ops >= dev->lost_at) {
		dev->lost = true;
		w->op.end = SIM_NEVER;
	}
}

/* What a stream's next work waits for: the stream itself, and the legacy stream's rule. */
uint64_t sim_stream_after(struct sim_stream *s)
{
	if (s == &s->ctx->legacy)
		return max_u64(s->ready, s->ctx->blocking_ready);
	if (s->flags & 1)
		return s->ready;
	return max_u64(s->ready, s->ctx->legacy_ready);
}

void sim_stream_done(struct sim_stream *s, uint64_t end)
{
	s->ready = max_u64(s->ready, end);
	if (s == &s->ctx->legacy)
		s->ctx->legacy_ready = s->ready;
	else if (!(s->flags & 1))
		s->ctx->blocking_ready = max_u64(s->ctx->blocking_ready, s->ready);
}
