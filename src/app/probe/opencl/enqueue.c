/* SPDX-License-Identifier: Apache-2.0 */
/*
 * enqueue.c - intercepts the app's commands: kernels and copies.
 *
 * op_begin() chooses the event that the driver is to fill, the driver is called, and op_end() keeps
 * that event. An app that passes no event gets none.
 */
#include <unistd.h>

#include "base/clock.h"
#include "pool/emit.h"
#include "probe/opencl/layer.h"

#define CORRS 256u

struct op {
	cl_event *out; /* for the driver: the app's, or &own, or NULL */
	cl_event own;
	struct cl_queue *q; /* NULL: not followed, nothing more to do */
	uint64_t call_ns;
	uint32_t name, corr;
	bool due; /* time to look at those that are done */
};

/* --- names of kernels --- */

/* All bits of a user's address but the low three are in slot and tag together. */
static _Atomic uint64_t *kernel_slot(cl_kernel k, uint32_t *tag)
{
	uintptr_t v = (uintptr_t)k;

	*tag = (uint32_t)(v >> 17);
	return &layer->kernel[v >> 3 & (KERNELS - 1)];
}

/* A new kernel may have the address of an old one. */
static void kernel_forget(cl_kernel k)
{
	uint32_t tag;

	if (k && layer->on)
		atomic_store_explicit(kernel_slot(k, &tag), 0, memory_order_relaxed);
}

static __attribute__((noinline)) uint32_t kernel_ask(cl_kernel k)
{
	char text[2048];
	size_t len = 0;

	if (next()->clGetKernelInfo(k, CL_KERNEL_FUNCTION_NAME, sizeof(text) - 1, text, &len) ||
	    len >= sizeof(text))
		return 0;
	text[len] = 0;
	layer_send_sources();
	return aon_name(text);
}

static inline uint32_t kernel_name(cl_kernel k)
{
	uint32_t tag;
	_Atomic uint64_t *slot = kernel_slot(k, &tag);
	/* One word: the tag and the name belong together. */
	uint64_t v = atomic_load_explicit(slot, memory_order_relaxed);

	if (__builtin_expect(!v || (uint32_t)(v >> 32) != tag, 0)) {
		v = (uint64_t)tag << 32 | kernel_ask(k);
		atomic_store_explicit(slot, v, memory_order_relaxed);
	}
	return (uint32_t)v;
}

/* 0: not known yet, and not asked for. */
static inline uint32_t kernel_known(cl_kernel k)
{
	uint32_t tag;
	uint64_t v = atomic_load_explicit(kernel_slot(k, &tag), memory_order_relaxed);

	return v && (uint32_t)(v >> 32) == tag ? (uint32_t)v : 0;
}

/* --- every command --- */

/* Unlike each other within the process; a thread takes some at a time. */
static uint32_t next_corr(void)
{
	static __thread __attribute__((tls_model("initial-exec"))) uint32_t last;

	if (!(last % CORRS))
		last = atomic_fetch_add_explicit(&layer->corr, CORRS, memory_order_relaxed);
	return ++last;
}

static uint32_t thread_track(void)
{
	static __thread __attribute__((tls_model("initial-exec"))) uint32_t track;

	if (!track)
		track = aon_track_thread((uint32_t)gettid());
	return track;
}

/* Kernels go straight through; the others, which are many, by way of far_begin() and _end(). */
#define STRAIGHT static inline __attribute__((always_inline))

STRAIGHT bool op_wanted(struct op *op, cl_command_queue handle, cl_event *event)
{
	op->out = event;
	op->q = NULL;
	if (!layer_wanted())
		return false;
	op->q = queue_find(handle);
	if (!op->q)
		count(&layer->unprofiled, 1);
	return op->q != NULL;
}

/* One that is not timed is still counted, and evidence of a hang. */
STRAIGHT void op_pass(uint32_t name)
{
	if (layer->on)
		aon_heartbeat_launch(0, name);
}

/*
 * Is this one to tell of the device's clock? Every command until the clock is known, since any of
 * them may be the first to be done; then one of eight, if the last was some time ago.
 */
STRAIGHT bool op_looks(struct op *op)
{
	bool known = atomic_load_explicit(&op->q->device->known, memory_order_relaxed);
	uint64_t tsc;

	if (op->corr % 8 && known)
		return false;
	tsc = aon_tsc();
	if (tsc - atomic_load_explicit(&op->q->sampled_tsc, memory_order_relaxed) <= SAMPLE_TICKS)
		return !known;
	atomic_store_explicit(&op->q->sampled_tsc, tsc, memory_order_relaxed);
	op->due = known;
	return true;
}

STRAIGHT void op_begin(struct op *op, cl_event *event, uint32_t name)
{
	op->own = NULL;
	op->out = event ? event : &op->own;
	op->name = name;
	op->corr = next_corr();
	aon_heartbeat_launch(op->corr, name);
	op->due = false;
	op->call_ns = op_looks(op) || aon_wants(AON_WANT_API) ? clock_mono_ns() : 0;
}

static __attribute__((noinline)) void op_call_ended(struct op *op, struct pending *p,
						    enum op_name what)
{
	uint64_t end = clock_mono_ns(), took = end - op->call_ns;

	p->call_took_ns = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
	if (aon_wants(AON_WANT_API))
		aon_act_emit(&(struct aon_act){ .size = sizeof(struct aon_act),
						.kind = AON_ACT_API,
						.name = layer->op_name[what],
						.track = thread_track(),
						.corr = op->corr,
						.start_ns = op->call_ns,
						.end_ns = end });
}

struct what {
	enum op_name op;
	uint32_t kind, dir;
	uint64_t bytes;
	const uint32_t *dims; /* of a kernel */
	bool blocking;
};

/* All cells are taken: those that are done may make room. */
static __attribute__((noinline)) struct pending *cell_find(struct cl_queue *q, uint32_t *nth)
{
	struct pending *cell;

	harvest(q, false);
	cell = pending_take(q, nth);
	if (!cell)
		count(&layer->full, 1);
	return cell;
}

/* The driver has taken it. An event of the app is its own: it may be gone before we look. */
STRAIGHT void op_end(struct op *op, cl_event *event, const struct what *w)
{
	cl_event e = *op->out;
	struct pending *p;
	uint32_t nth;

	if (!e || (event && next()->clRetainEvent(e))) {
		count(&layer->unread, 1);
		return;
	}
	p = pending_take(op->q, &nth);
	if (__builtin_expect(!p, 0))
		p = cell_find(op->q, &nth);
	if (!p) {
		next()->clReleaseEvent(e);
		return;
	}
	p->call_ns = op->call_ns;
	p->name = op->name;
	p->corr = op->corr;
	p->kind = (uint8_t)w->kind;
	p->dir = (uint8_t)w->dir;
	if (w->dims)
		memcpy(p->dims, w->dims, sizeof(p->dims));
	else
		p->bytes = w->bytes;
	if (op->call_ns)
		op_call_ended(op, p, w->op);
	pending_put(p, e);
	if (__builtin_expect(op->due || nth % DUE == DUE - 1 || w->blocking, 0))
		harvest(op->q, w->blocking);
}

static void far_begin(struct op *op, cl_command_queue queue, cl_event *event, enum op_name what)
{
	if (op_wanted(op, queue, event))
		op_begin(op, event, layer->op_name[what]);
	else
		op_pass(layer->op_name[what]);
}

static void far_end(struct op *op, cl_event *event, const struct what *w)
{
	op_end(op, event, w);
}

/* --- kernels --- */

static uint32_t u32(size_t v)
{
	return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

static cl_int CL_API_CALL on_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
						    cl_uint dim, const size_t *offset,
						    const size_t *global, const size_t *local,
						    cl_uint waits, const cl_event *wait,
						    cl_event *event)
{
	uint32_t dims[6] = { 1, 1, 1, 0, 0, 0 };
	struct op op;
	cl_int r;

	if (op_wanted(&op, queue, event))
		op_begin(&op, event, kernel_name(kernel));
	else
		op_pass(kernel_known(kernel));
	r = next()->clEnqueueNDRangeKernel(queue, kernel, dim, offset, global, local, waits, wait,
					   op.out);
	if (!op.q || r)
		return r;
	for (cl_uint i = 0; i < dim && i < 3; i++) {
		dims[i] = global ? u32(global[i]) : 1;
		dims[3 + i] = local ? u32(local[i]) : 0;
	}
	for (cl_uint i = dim; local && i < 3; i++)
		dims[3 + i] = 1;
	op_end(&op, event,
	       &(struct what){ OP_clEnqueueNDRangeKernel, AON_ACT_KERNEL, 0, 0, dims, false });
	return r;
}

static cl_int CL_API_CALL on_clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint waits,
					   const cl_event *wait, cl_event *event)
{
	static const uint32_t one[6] = { 1, 1, 1, 1, 1, 1 };
	struct op op;
	cl_int r;

	if (op_wanted(&op, queue, event))
		op_begin(&op, event, kernel_name(kernel));
	else
		op_pass(kernel_known(kernel));
	r = next()->clEnqueueTask(queue, kernel, waits, wait, op.out);
	if (op.q && !r)
		far_end(&op, event,
			&(struct what){ OP_clEnqueueNDRangeKernel, AON_ACT_KERNEL, 0, 0, one,
					false });
	return r;
}

static cl_kernel CL_API_CALL on_clCreateKernel(cl_program program, const char *name, cl_int *err)
{
	cl_kernel k = next()->clCreateKernel(program, name, err);

	kernel_forget(k);
	return k;
}

static cl_kernel CL_API_CALL on_clCloneKernel(cl_kernel from, cl_int *err)
{
	cl_kernel k = next()->clCloneKernel(from, err);

	kernel_forget(k);
	return k;
}

static cl_int CL_API_CALL on_clCreateKernelsInProgram(cl_program program, cl_uint cap,
						      cl_kernel *kernels, cl_uint *used)
{
	cl_uint n = 0;
	cl_int r = next()->clCreateKernelsInProgram(program, cap, kernels, &n);

	for (cl_uint i = 0; !r && kernels && i < n && i < cap; i++)
		kernel_forget(kernels[i]);
	if (!r && used)
		*used = n;
	return r;
}

/* --- copies --- */

static uint64_t volume(const size_t region[3])
{
	return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

static uint64_t image_bytes(cl_mem image, const size_t region[3])
{
	size_t element = 0;

	if (next()->clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(element), &element, NULL))
		return 0;
	return element * volume(region);
}

#define COPY(fn, params, args, kind, dir, bytes, block)                                           \
	static cl_int CL_API_CALL on_##fn params                                                  \
	{                                                                                         \
		struct op op;                                                                     \
		cl_int ret;                                                                       \
                                                                                                  \
		far_begin(&op, queue, event, OP_##fn);                                            \
		ret = next()->fn args;                                                            \
		if (op.q && !ret)                                                                 \
			far_end(&op, event,                                                       \
				&(struct what){ OP_##fn, kind, dir, bytes, NULL, (block) != 0 }); \
		return ret;                                                                       \
	}
#include "probe/opencl/enqueue.tbl.h"

static uint32_t map_dir(cl_map_flags flags)
{
	return flags & CL_MAP_READ ? AON_COPY_DTOH : AON_COPY_UNKNOWN;
}

static void *CL_API_CALL on_clEnqueueMapBuffer(cl_command_queue queue, cl_mem m, cl_bool block,
					       cl_map_flags flags, size_t off, size_t size,
					       cl_uint waits, const cl_event *wait, cl_event *event,
					       cl_int *err)
{
	struct op op;
	void *p;

	far_begin(&op, queue, event, OP_clEnqueueMapBuffer);
	p = next()->clEnqueueMapBuffer(queue, m, block, flags, off, size, waits, wait, op.out, err);
	if (op.q && p)
		far_end(&op, event,
			&(struct what){ OP_clEnqueueMapBuffer, AON_ACT_COPY, map_dir(flags), size,
					NULL, block != 0 });
	return p;
}

static void *CL_API_CALL on_clEnqueueMapImage(cl_command_queue queue, cl_mem m, cl_bool block,
					      cl_map_flags flags, const size_t *at,
					      const size_t *region, size_t *row, size_t *slice,
					      cl_uint waits, const cl_event *wait, cl_event *event,
					      cl_int *err)
{
	struct op op;
	void *p;

	far_begin(&op, queue, event, OP_clEnqueueMapImage);
	p = next()->clEnqueueMapImage(queue, m, block, flags, at, region, row, slice, waits, wait,
				      op.out, err);
	if (op.q && p)
		far_end(&op, event,
			&(struct what){ OP_clEnqueueMapImage, AON_ACT_COPY, map_dir(flags),
					image_bytes(m, region), NULL, block != 0 });
	return p;
}

void enqueue_install(cl_icd_dispatch *ours)
{
#define COPY(fn, params, args, kind, dir, bytes, block) INSTALL(ours, fn);
#include "probe/opencl/enqueue.tbl.h"
	INSTALL(ours, clEnqueueNDRangeKernel);
	INSTALL(ours, clEnqueueTask);
	INSTALL(ours, clEnqueueMapBuffer);
	INSTALL(ours, clEnqueueMapImage);
	INSTALL(ours, clCreateKernel);
	INSTALL(ours, clCloneKernel);
	INSTALL(ours, clCreateKernelsInProgram);
}
