/* SPDX-License-Identifier: Apache-2.0 */
/* info.c - gives the app's queries the answers that it would get without the layer. */
#include <string.h>

#include "probe/opencl/layer.h"

static bool hides(const struct cl_queue *q)
{
	return q && atomic_load_explicit(&q->forced, memory_order_relaxed);
}

static cl_int answer(const void *data, size_t len, size_t cap, void *out, size_t *used)
{
	if (out && cap < len)
		return CL_INVALID_VALUE;
	if (out && len)
		memcpy(out, data, len);
	if (used)
		*used = len;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL on_clGetCommandQueueInfo(cl_command_queue handle,
						   cl_command_queue_info what, size_t cap,
						   void *out, size_t *used)
{
	cl_int r = next()->clGetCommandQueueInfo(handle, what, cap, out, used);
	struct cl_queue *q = NULL;

	if (what == CL_QUEUE_PROPERTIES || what == CL_QUEUE_PROPERTIES_ARRAY)
		q = layer->on ? queue_find(handle) : NULL;
	if (!hides(q))
		return r;
	if (what == CL_QUEUE_PROPERTIES_ARRAY)
		return answer(q->props, q->props_used * sizeof(*q->props), cap, out, used);
	if (!r && out && cap >= sizeof(cl_command_queue_properties))
		*(cl_command_queue_properties *)out &=
			~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
	return r;
}

static cl_int CL_API_CALL on_clSetCommandQueueProperty(cl_command_queue handle,
						       cl_command_queue_properties props,
						       cl_bool enable,
						       cl_command_queue_properties *old)
{
	cl_int r = next()->clSetCommandQueueProperty(handle, props, enable, old);
	struct cl_queue *q = layer->on && !r ? queue_find(handle) : NULL;

	if (hides(q) && old)
		*old &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
	if (q && enable && props & CL_QUEUE_PROFILING_ENABLE)
		queue_unhide(q);
	return r;
}

static cl_int CL_API_CALL on_clGetEventProfilingInfo(cl_event event, cl_profiling_info what,
						     size_t cap, void *out, size_t *used)
{
	if (layer->on && atomic_load_explicit(&layer->forced_live, memory_order_relaxed) &&
	    hides(queue_of_event(event)))
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	return next()->clGetEventProfilingInfo(event, what, cap, out, used);
}

static cl_int CL_API_CALL on_clGetEventInfo(cl_event event, cl_event_info what, size_t cap,
					    void *out, size_t *used)
{
	cl_int r = next()->clGetEventInfo(event, what, cap, out, used);

	if (what == CL_EVENT_REFERENCE_COUNT && !r && out && cap >= sizeof(cl_uint) && layer->on)
		*(cl_uint *)out -= harvest_holds(event);
	return r;
}

void info_install(cl_icd_dispatch *ours)
{
	INSTALL(ours, clGetCommandQueueInfo);
	INSTALL(ours, clSetCommandQueueProperty);
	INSTALL(ours, clGetEventProfilingInfo);
	INSTALL(ours, clGetEventInfo);
}
