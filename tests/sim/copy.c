/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - copies and memsets: bytes really move, when the call is made. */
#include <string.h>

#include "driver.h"
#include "block.h"

enum { HTOD = 1, DTOH = 2, DTOD = 8, HTOH = 9, PTOP = 10 }; /* CUPTI's numbers */

struct side {
	uint64_t at;
	uint32_t memory;
	struct sim_device *dev; /* NULL: the host's */
};

static struct side side_of(uint64_t at, bool host)
{
	struct block b;

	if (sim_block_of(at, &b))
		return (struct side){ at, b.memory, b.memory == MEM_PINNED ? NULL : b.dev };
	return (struct side){ at, host ? MEM_PAGEABLE : MEM_DEVICE, NULL };
}

static uint8_t dir_of(const struct side *dst, const struct side *src)
{
	if (dst->dev && src->dev)
		return dst->dev == src->dev ? DTOD : PTOP;
	return dst->dev ? HTOD : src->dev ? DTOH : HTOH;
}

void sim_copy_work(struct work *w, uint64_t dst, uint64_t src, size_t bytes, bool async)
{
	struct side d = side_of(dst, true), s = side_of(src, true);

	*w = (struct work){ .type = CU_GRAPH_NODE_TYPE_MEMCPY };
	w->op.copy.dir = dir_of(&d, &s);
	w->op.kind = w->op.copy.dir == PTOP ? SIM_MEMCPY2 : SIM_MEMCPY;
	w->op.copy.bytes = bytes;
	w->op.copy.src = (uint8_t)s.memory;
	w->op.copy.dst = (uint8_t)d.memory;
	w->op.copy.async = async;
	w->op.copy.src_device = s.dev ? s.dev->id : 0;
	w->op.copy.dst_device = d.dev ? d.dev->id : 0;
	w->op.copy.src_context = s.dev && s.dev->primary ? s.dev->primary->id : 0;
	w->op.copy.dst_context = d.dev && d.dev->primary ? d.dev->primary->id : 0;
}

static CUresult copy(uint64_t dst, uint64_t src, size_t bytes, CUstream stream, bool async)
{
	struct sim_stream *s;
	struct work w;
	CUresult r = sim_stream_now(stream, &s);

	if (r)
		return r;
	if (!dst || !src)
		return CUDA_ERROR_INVALID_VALUE;
	if (!bytes)
		return CUDA_SUCCESS;
	sim_copy_work(&w, dst, src, bytes, async);
	r = sim_submit(s, &w);
	if (r || s->capture)
		return r;
	memmove((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, bytes);
	if (!async)
		sim_wait(w.op.end);
	return CUDA_SUCCESS;
}

CUresult do_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copy(dst, src, bytes, NULL, false);
}

CUresult do_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy(dst, src, bytes, stream, true);
}

CUresult do_cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes)
{
	return copy(dst, (uintptr_t)src, bytes, NULL, false);
}

CUresult do_cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
	return copy(dst, (uintptr_t)src, bytes, stream, true);
}

CUresult do_cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes)
{
	return copy((uintptr_t)dst, src, bytes, NULL, false);
}

CUresult do_cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy((uintptr_t)dst, src, bytes, stream, true);
}

CUresult do_cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copy(dst, src, bytes, NULL, false);
}

CUresult do_cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy(dst, src, bytes, stream, true);
}

CUresult do_cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx,
			 size_t bytes)
{
	return dst_ctx && src_ctx ? copy(dst, src, bytes, NULL, false) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult do_cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src,
			      CUcontext src_ctx, size_t bytes, CUstream stream)
{
	return dst_ctx && src_ctx ? copy(dst, src, bytes, stream, true)
				  : CUDA_ERROR_INVALID_CONTEXT;
}

void sim_set_work(struct work *w, uint64_t dst, unsigned value, size_t bytes, bool async)
{
	struct side d = side_of(dst, false);

	*w = (struct work){ .type = CU_GRAPH_NODE_TYPE_MEMSET };
	w->op.kind = SIM_MEMSET;
	w->op.set.bytes = bytes;
	w->op.set.value = value;
	w->op.set.memory = (uint8_t)d.memory;
	w->op.set.async = async;
}

static CUresult set(uint64_t dst, unsigned value, size_t size, size_t n, CUstream stream,
		    bool async)
{
	struct sim_stream *s;
	struct work w;
	CUresult r = sim_stream_now(stream, &s);

	if (r || !dst)
		return r ? r : CUDA_ERROR_INVALID_VALUE;
	sim_set_work(&w, dst, value, n * size, async);
	r = sim_submit(s, &w);
	if (r || s->capture)
		return r;
	for (size_t i = 0; i < n; i++)
		memcpy((char *)(uintptr_t)dst + i * size, &value, size);
	if (!async)
		sim_wait(w.op.end);
	return CUDA_SUCCESS;
}

CUresult do_cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t n)
{
	return set(dst, value, 1, n, NULL, false);
}

CUresult do_cuMemsetD16_v2(CUdeviceptr dst, unsigned short value, size_t n)
{
	return set(dst, value, 2, n, NULL, false);
}

CUresult do_cuMemsetD32_v2(CUdeviceptr dst, unsigned value, size_t n)
{
	return set(dst, value, 4, n, NULL, false);
}

CUresult do_cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t n, CUstream stream)
{
	return set(dst, value, 1, n, stream, true);
}

CUresult do_cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t n, CUstream stream)
{
	return set(dst, value, 2, n, stream, true);
}

CUresult do_cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t n, CUstream stream)
{
	return set(dst, value, 4, n, stream, true);
}
