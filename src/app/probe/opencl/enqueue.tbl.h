/* SPDX-License-Identifier: Apache-2.0 */
/*
 * enqueue.tbl.h - every command that moves or sets bytes, once.
 *
 *	COPY(call, (parameters), (arguments), kind, direction, bytes, blocking)
 *
 * All have a `queue` and end in EVENTS; WAITS hands on the event that the layer chose.
 */
#define EVENTS cl_uint waits, const cl_event *wait, cl_event *event
#define WAITS  waits, wait, op.out
/* clang-format off */
COPY(clEnqueueReadBuffer, (cl_command_queue queue, cl_mem m, cl_bool block, size_t off, size_t size, void *p, EVENTS),
     (queue, m, block, off, size, p, WAITS), AON_ACT_COPY, AON_COPY_DTOH, size, block)
COPY(clEnqueueWriteBuffer, (cl_command_queue queue, cl_mem m, cl_bool block, size_t off, size_t size, const void *p, EVENTS),
     (queue, m, block, off, size, p, WAITS), AON_ACT_COPY, AON_COPY_HTOD, size, block)
COPY(clEnqueueCopyBuffer, (cl_command_queue queue, cl_mem from, cl_mem to, size_t at, size_t into, size_t size, EVENTS),
     (queue, from, to, at, into, size, WAITS), AON_ACT_COPY, AON_COPY_DTOD, size, false)
COPY(clEnqueueFillBuffer, (cl_command_queue queue, cl_mem m, const void *p, size_t n, size_t off, size_t size, EVENTS),
     (queue, m, p, n, off, size, WAITS), AON_ACT_MEMSET, AON_COPY_UNKNOWN, size, false)
COPY(clEnqueueReadBufferRect, (cl_command_queue queue, cl_mem m, cl_bool block, const size_t *bo, const size_t *ho, const size_t *r,
      size_t brow, size_t bslice, size_t hrow, size_t hslice, void *p, EVENTS),
     (queue, m, block, bo, ho, r, brow, bslice, hrow, hslice, p, WAITS), AON_ACT_COPY, AON_COPY_DTOH, volume(r), block)
COPY(clEnqueueWriteBufferRect, (cl_command_queue queue, cl_mem m, cl_bool block, const size_t *bo, const size_t *ho, const size_t *r,
      size_t brow, size_t bslice, size_t hrow, size_t hslice, const void *p, EVENTS),
     (queue, m, block, bo, ho, r, brow, bslice, hrow, hslice, p, WAITS), AON_ACT_COPY, AON_COPY_HTOD, volume(r), block)
COPY(clEnqueueCopyBufferRect, (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *at, const size_t *into, const size_t *r,
      size_t frow, size_t fslice, size_t trow, size_t tslice, EVENTS),
     (queue, from, to, at, into, r, frow, fslice, trow, tslice, WAITS), AON_ACT_COPY, AON_COPY_DTOD, volume(r), false)
COPY(clEnqueueReadImage, (cl_command_queue queue, cl_mem m, cl_bool block, const size_t *o, const size_t *r, size_t row, size_t slice, void *p, EVENTS),
     (queue, m, block, o, r, row, slice, p, WAITS), AON_ACT_COPY, AON_COPY_DTOH, image_bytes(m, r), block)
COPY(clEnqueueWriteImage, (cl_command_queue queue, cl_mem m, cl_bool block, const size_t *o, const size_t *r, size_t row, size_t slice, const void *p, EVENTS),
     (queue, m, block, o, r, row, slice, p, WAITS), AON_ACT_COPY, AON_COPY_HTOD, image_bytes(m, r), block)
COPY(clEnqueueCopyImage, (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *at, const size_t *into, const size_t *r, EVENTS),
     (queue, from, to, at, into, r, WAITS), AON_ACT_COPY, AON_COPY_DTOD, image_bytes(from, r), false)
COPY(clEnqueueCopyImageToBuffer, (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *at, const size_t *r, size_t into, EVENTS),
     (queue, from, to, at, r, into, WAITS), AON_ACT_COPY, AON_COPY_DTOD, image_bytes(from, r), false)
COPY(clEnqueueCopyBufferToImage, (cl_command_queue queue, cl_mem from, cl_mem to, size_t at, const size_t *into, const size_t *r, EVENTS),
     (queue, from, to, at, into, r, WAITS), AON_ACT_COPY, AON_COPY_DTOD, image_bytes(to, r), false)
COPY(clEnqueueFillImage, (cl_command_queue queue, cl_mem m, const void *color, const size_t *o, const size_t *r, EVENTS),
     (queue, m, color, o, r, WAITS), AON_ACT_MEMSET, AON_COPY_UNKNOWN, image_bytes(m, r), false)
COPY(clEnqueueUnmapMemObject, (cl_command_queue queue, cl_mem m, void *p, EVENTS),
     (queue, m, p, WAITS), AON_ACT_COPY, AON_COPY_UNKNOWN, 0, false)
COPY(clEnqueueMigrateMemObjects, (cl_command_queue queue, cl_uint n, const cl_mem *m, cl_mem_migration_flags flags, EVENTS),
     (queue, n, m, flags, WAITS), AON_ACT_COPY, AON_COPY_UNKNOWN, 0, false)
COPY(clEnqueueNativeKernel, (cl_command_queue queue, void(CL_CALLBACK *f)(void *), void *a, size_t n, cl_uint ms, const cl_mem *m, const void **at, EVENTS),
     (queue, f, a, n, ms, m, at, WAITS), AON_ACT_KERNEL, AON_COPY_UNKNOWN, 0, false)
/* clang-format on */
#undef COPY
#undef EVENTS
#undef WAITS
