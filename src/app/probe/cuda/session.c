/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - subscribes to CUPTI, and chooses the kinds of records by what the library supports.
 *
 *	one subscriber (until 13.2, or an older driver)   the calls that are the whole process's
 *	several (13.3, if the driver agrees)              the calls by subscriber, and only these
 *
 * The order is CUPTI's: subscribe before anything else, attributes before buffers, buffers before
 * kinds. Whatever a version refuses is skipped; only kernels are required.
 */
#include "base/clock.h"
#include "probe/cuda/cuda.h"

/* --- buffers: a child of fork() has no pool, which is handled too --- */

static void on_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	if (cuda->on)
		buffer_request(cuda, buffer, size, max_records);
	else
		buffer_scrap(buffer, size, max_records);
}

static void on_request2(uint8_t **buffer, size_t *size, size_t *max_records, void *info)
{
	(void)info;
	on_request(buffer, size, max_records);
}

static void on_complete2(uint8_t *buffer, size_t size, size_t valid, void *info)
{
	uint64_t begin;

	(void)size;
	(void)info;
	if (!cuda->on || !buffer)
		return;
	begin = cuda->cost ? clock_thread_ns() : 0;
	buffer_complete(cuda, buffer, valid);
	if (begin)
		atomic_fetch_add_explicit(&cuda->busy_ns, clock_thread_ns() - begin,
					  memory_order_relaxed);
}

static void on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	size_t dropped = 0;

	on_complete2(buffer, size, valid, NULL);
	if (cuda->on && cuda->api.ActivityGetNumDroppedRecords &&
	    !cuda->api.ActivityGetNumDroppedRecords(context, stream, &dropped) && dropped)
		aon_lost(AON_LOST_SOURCE, dropped);
}

/* --- steps --- */

static int subscribe(struct cuda *c)
{
	struct cupti_params p = { .name = "aon",
				  .holder = c->holder,
				  .holder_size = sizeof(c->holder) };
	int err;

	c->multi = false;
	c->holder[0] = '\0';
	if (!c->api.Subscribe_v2)
		return c->api.Subscribe(&c->sub, launch_callback, c);
	p.size = c->api.version >= 130200 ? CUPTI_PARAMS_13_2 : CUPTI_PARAMS_13_0;
	if (c->api.caps & CAP_MULTI && c->may_multi) {
		p.multi = 1;
		err = c->api.Subscribe_v2(&c->sub, launch_callback, c, &p);
		c->multi = !err;
		if (!err)
			return 0;
		p.multi = 0;
	}
	err = c->api.Subscribe_v2(&c->sub, launch_callback, c, &p);
	c->holder[sizeof(c->holder) - 1] = '\0';
	return err;
}

static int set_attr(struct cuda *c, int attr, void *value, size_t size)
{
	if (c->multi)
		return c->api.ActivitySetAttribute_v2(c->sub, attr, &size, value);
	return c->api.ActivitySetAttribute ? c->api.ActivitySetAttribute(attr, &size, value)
					   : CUPTI_NOT_SUPPORTED;
}

static void set_attrs(struct cuda *c)
{
	uint8_t per_thread = c->per_thread, one = 1;
	int32_t tid = CUPTI_THREAD_ID_SYSTEM;

	/* The device's buffers are CUPTI's choice: with fewer of them kernels lost their times. */
	if (c->api.caps & CAP_PER_THREAD) /* else idle threads hold records back */
		set_attr(c, CA_PER_THREAD, &per_thread, sizeof(per_thread));
	c->zeroed = c->api.caps & CAP_ZEROED && !set_attr(c, CA_ZEROED_OUT, &one, sizeof(one));
	if (c->multi)
		set_attr(c, CA_THREAD_ID_TYPE, &tid, sizeof(tid));
	else if (c->api.SetThreadIdType)
		c->api.SetThreadIdType(tid);
	c->hes_on =
		c->hes && (c->multi ? !set_attr(c, CA_HES, &one, sizeof(one))
				    : c->api.caps & CAP_HES && !c->api.ActivityEnableHWTrace(1));
	if (c->latency && c->multi)
		set_attr(c, CA_LATENCY, &one, sizeof(one));
	else if (c->latency && c->api.caps & CAP_LATENCY)
		c->api.ActivityEnableLatencyTimestamps(1);
}

static int enable(struct cuda *c, int kind, bool on)
{
	if (c->multi)
		return on ? c->api.ActivityEnable_v2(c->sub, kind, NULL)
			  : c->api.ActivityDisable_v2(c->sub, kind, NULL);
	return on ? c->api.ActivityEnable(kind) : c->api.ActivityDisable(kind);
}

/* With what there is already: contexts and streams that were made before. */
static void enable_dump(struct cuda *c, int kind)
{
	int err = CUPTI_NOT_SUPPORTED;

	if (c->multi && c->api.ActivityEnableAndDump_v2)
		err = c->api.ActivityEnableAndDump_v2(c->sub, kind, NULL);
	else if (!c->multi && c->api.ActivityEnableAndDump)
		err = c->api.ActivityEnableAndDump(kind);
	if (err)
		enable(c, kind, true);
}

static const uint8_t dumped[] = { CK_DEVICE, CK_CONTEXT, CK_STREAM };
static const uint8_t gpu[] = { CK_MEMCPY, CK_MEMCPY2, CK_MEMSET, CK_SYNC, CK_MEMORY2 };
static const uint8_t calls[] = { CK_RUNTIME, CK_DRIVER, CK_EXTERNAL };

int session_graph_level(struct cuda *c, bool whole)
{
	int err = enable(c, CK_GRAPH_TRACE, whole);

	c->graph_level = whole && !err;
	return err;
}

static int enable_gpu(struct cuda *c)
{
	int err;

	for (size_t i = 0; i < sizeof(dumped); i++)
		enable_dump(c, dumped[i]);
	/* Never KIND_KERNEL, which makes kernels wait for each other. */
	err = enable(c, CK_CONCURRENT_KERNEL, true);
	if (err)
		return err;
	for (size_t i = 0; i < sizeof(gpu); i++)
		enable(c, gpu[i], true);
	if (c->graphs == GRAPH_WHOLE)
		session_graph_level(c, true);
	return 0;
}

void session_want(struct cuda *c, uint32_t want)
{
	bool api = want & AON_WANT_API;

	if (api == !!(c->want & AON_WANT_API)) {
		c->want = want;
		return;
	}
	for (size_t i = 0; i < sizeof(calls); i++)
		enable(c, calls[i], api);
	c->want = want;
}

static int register_buffers(struct cuda *c)
{
	return c->multi ? c->api.ActivityRegisterCallbacks_v2(c->sub, on_request2, on_complete2)
			: c->api.ActivityRegisterCallbacks(on_request, on_complete);
}

static int learn(struct cuda *c)
{
	if (!c->stride[CK_CONCURRENT_KERNEL])
		stride_learn(c->stride, c->api.ActivityGetNextRecord, c->api.ActivityGetStructSize);
	return stride_usable(c->stride) ? 0 : CUPTI_NOT_COMPATIBLE;
}

int session_open(struct cuda *c, const char **step)
{
	int err;

	*step = "subscribe";
	c->sub = NULL;
	c->multi = false;
	err = neighbour_subscribed(c) ? 0 : subscribe(c);
	if (err)
		return err;
	c->open = true;
	c->robbed_ns = 0;
	*step = "record sizes";
	err = learn(c);
	if (err)
		goto leave;
	set_attrs(c);
	*step = "buffers";
	err = register_buffers(c);
	if (err)
		goto leave;
	if (c->heartbeat && c->sub)
		launch_enable(c, true);
	*step = "kernels";
	atomic_store_explicit(&c->graph_shut, false, memory_order_relaxed);
	c->want = 0;
	err = enable_gpu(c);
	if (err)
		goto leave;
	return 0;

leave:
	session_close(c);
	return err;
}

static bool lent_back(struct cuda *c, uint32_t ms)
{
	for (unsigned i = 0; i < ms && buffer_lent(c); i++)
		keep_pause(1);
	return !buffer_lent(c);
}

/*
 * CUPTI may hand buffers back after the flush has returned. One that it still has goes to the next
 * tool, which frees what it never allocated. Work that has not ended keeps its buffer: the forced
 * flush gives that back, too, without times.
 */
void session_drain(struct cuda *c, uint32_t ms)
{
	c->api.ActivityFlushAll(0);
	if (lent_back(c, CUDA_LATE_MS))
		return;
	c->api.ActivityFlushAll(CUPTI_FLUSH_FORCED);
	lent_back(c, ms);
}

/*
 * Nothing of ours stays: no kind, no callback, no buffer in CUPTI's hands, for the next tool to
 * find in its own. Not cuptiFinalize(): it has crashed programs.
 */
void session_close(struct cuda *c)
{
	if (!c->open)
		return;
	pm_close(c);
	range_close(c);
	if (c->sub)
		launch_enable(c, false);
	/* A launch that is under way must not enable it again. */
	atomic_store_explicit(&c->graph_shut, true, memory_order_relaxed);
	cuda_turn_take(&c->graph_changing);
	if (c->graph_level)
		session_graph_level(c, false);
	cuda_turn_give(&c->graph_changing);
	session_want(c, 0);
	for (size_t i = 0; i < sizeof(gpu); i++)
		enable(c, gpu[i], false);
	for (size_t i = 0; i < sizeof(dumped); i++)
		enable(c, dumped[i], false);
	enable(c, CK_CONCURRENT_KERNEL, false);
	session_drain(c, CUDA_GIVE_MS);
	if (c->sub)
		c->api.Unsubscribe(c->sub);
	c->sub = NULL;
	c->open = false;
}
