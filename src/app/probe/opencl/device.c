/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c - devices, numbered for tracks, and their clocks.
 *
 * Devices are only ever added, at the first free place. A clock sample that comes while another
 * thread corrects the clock is skipped: there will be others.
 */
#include "probe/opencl/layer.h"

#include "base/clock.h"

/* The device's place, its own or a new one. */
static struct device *device_add(cl_device_id id)
{
	for (uint32_t i = 0; i < DEVICES; i++) {
		struct device *d = &layer->device[i];
		cl_device_id there = NULL;

		if (atomic_compare_exchange_strong_explicit(
			    &d->id, &there, id, memory_order_relaxed, memory_order_relaxed) ||
		    there == id)
			return d;
	}
	return NULL;
}

/* As every process counts them: platform by platform. Parts of a device come after. Threads that
 * do this at the same time add the same ones in the same order. */
static void device_list(void)
{
	cl_platform_id platform[16];
	cl_device_id id[DEVICES];
	cl_uint platforms = 0, n;

	if (next()->clGetPlatformIDs(16, platform, &platforms))
		return;
	for (cl_uint p = 0; p < platforms && p < 16; p++) {
		n = 0;
		if (next()->clGetDeviceIDs(platform[p], CL_DEVICE_TYPE_ALL, DEVICES, id, &n))
			continue;
		for (cl_uint i = 0; i < n && i < DEVICES; i++)
			device_add(id[i]);
	}
	atomic_store_explicit(&layer->devices_listed, 1, memory_order_relaxed);
}

/* The offset of a device that counts in CLOCK_MONOTONIC_RAW, as PoCL's do. */
static int64_t raw_offset(void)
{
	return (int64_t)(clock_mono_ns() - clock_ns(CLOCK_MONOTONIC_RAW));
}

void device_sample(struct device *d, uint64_t dev_ns, uint64_t before_ns, uint64_t after_ns)
{
	if (!turn_take(&d->turn))
		return;
	d->clock.likely = raw_offset();
	dev_clock_sample(&d->clock, dev_ns, before_ns, after_ns);
	atomic_store_explicit(&d->offset, d->clock.offset, memory_order_relaxed);
	atomic_store_explicit(&d->at_ns, d->clock.at_ns, memory_order_relaxed);
	/* Pairs with the acquire in device_clock(). */
	atomic_store_explicit(&d->known, d->clock.known, memory_order_release);
	turn_give(&d->turn);
}

struct dev_clock device_clock(const struct device *d)
{
	struct dev_clock c = { .known = atomic_load_explicit(&d->known, memory_order_acquire) };

	c.offset = atomic_load_explicit(&d->offset, memory_order_relaxed);
	return c;
}

static void device_ask(struct device *d)
{
	uint64_t before = clock_mono_ns();
	cl_ulong dev, host;

	if (!next()->clGetDeviceAndHostTimer(d->id, &dev, &host))
		device_sample(d, dev, before, clock_mono_ns());
}

void device_look(struct device *d)
{
	if (!atomic_load_explicit(&d->timer, memory_order_relaxed))
		return;
	/* Not often: it may be a system call. */
	if (!atomic_load_explicit(&d->known, memory_order_relaxed) ||
	    clock_mono_ns() - atomic_load_explicit(&d->at_ns, memory_order_relaxed) >= SAMPLE_NS)
		device_ask(d);
}

struct device *device_of(cl_device_id id)
{
	struct device *d;
	cl_ulong dev, host;

	if (!atomic_load_explicit(&layer->devices_listed, memory_order_relaxed))
		device_list();
	d = device_add(id);
	if (d && !atomic_load_explicit(&d->known, memory_order_relaxed)) {
		atomic_store_explicit(&d->timer,
				      next()->clGetDeviceAndHostTimer &&
					      !next()->clGetDeviceAndHostTimer(id, &dev, &host),
				      memory_order_relaxed);
		device_look(d);
	}
	return d;
}
