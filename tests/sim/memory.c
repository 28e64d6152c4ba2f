/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - memory of the device, of the host, managed, and from pools.
 *
 * Device memory is memory of the process, so that copies and memsets really move bytes. A table
 * of blocks says what an address belongs to.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "driver.h"
#include "block.h"

struct sim_pool {
	struct sim_device *dev;
	uint64_t bytes, used;
};

static pthread_mutex_t lock =
	PTHREAD_MUTEX_INITIALIZER; /* guards blocks, pools, used_bytes of devices */
static struct block *blocks;

static void tell(struct sim_ctx *ctx, const struct block *b, uint32_t op, uint32_t stream,
		 bool async)
{
	struct sim_tool *tool = sim_tool_get();
	struct sim_op o = { .kind = SIM_MEMORY2,
			    .corr = sim_me.corr,
			    .device = ctx->dev->id,
			    .context = ctx->id,
			    .stream = stream };

	if (!sim_wants(tool, SIM_MEMORY2))
		return;
	o.start = o.end = sim_now();
	o.mem.op = op;
	o.mem.memory = b->memory;
	o.mem.address = b->at;
	o.mem.bytes = b->bytes;
	o.mem.async = async;
	if (b->pool) {
		o.mem.pool = (uintptr_t)b->pool;
		o.mem.pool_size = b->pool_bytes;
		o.mem.used = b->pool_used;
	}
	tool->op(&o);
}

static void tell_pool(struct sim_pool *p, uint32_t op)
{
	struct sim_tool *tool = sim_tool_get();
	struct sim_op o = { .kind = SIM_MEMORY_POOL, .corr = sim_me.corr, .device = p->dev->id };

	if (!sim_wants(tool, SIM_MEMORY_POOL))
		return;
	o.start = o.end = sim_now();
	o.mem.op = op;
	o.mem.pool = (uintptr_t)p;
	pthread_mutex_lock(&lock);
	o.mem.pool_size = p->bytes;
	o.mem.used = p->used;
	pthread_mutex_unlock(&lock);
	tool->op(&o);
}

/* Counts a block in or out of its device and its pool, and notes how the pool stands then. */
static void account(struct block *b, int64_t bytes)
{
	if (b->memory == MEM_DEVICE)
		b->dev->used_bytes += (uint64_t)bytes;
	if (!b->pool)
		return;
	b->pool->used += (uint64_t)bytes;
	b->pool->bytes = b->pool->used > b->pool->bytes ? b->pool->used : b->pool->bytes;
	b->pool_used = b->pool->used;
	b->pool_bytes = b->pool->bytes;
}

static bool fits(const struct sim_device *dev, size_t bytes, uint32_t memory)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = memory != MEM_DEVICE || dev->used_bytes + bytes <= dev->info.memory_mib << 20;
	pthread_mutex_unlock(&lock);
	return is;
}

static CUresult take(struct sim_ctx *ctx, size_t bytes, uint32_t memory, struct sim_pool *pool,
		     uint32_t stream, uint64_t *at)
{
	struct block *b, now;
	void *p;

	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!fits(ctx->dev, bytes, memory))
		return CUDA_ERROR_OUT_OF_MEMORY;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		 -1, 0);
	b = calloc(1, sizeof(*b));
	if (p == MAP_FAILED || !b)
		return free(b), CUDA_ERROR_OUT_OF_MEMORY;
	*b = (struct block){
		.at = (uintptr_t)p, .bytes = bytes, .memory = memory, .dev = ctx->dev, .pool = pool
	};
	pthread_mutex_lock(&lock);
	account(b, (int64_t)bytes);
	b->next = blocks;
	blocks = b;
	now = *b;
	pthread_mutex_unlock(&lock);
	tell(ctx, &now, 1, stream, pool != NULL);
	*at = (uintptr_t)p;
	return CUDA_SUCCESS;
}

static CUresult give(struct sim_ctx *ctx, uint64_t at, uint32_t stream, bool async)
{
	struct block *b = NULL;

	pthread_mutex_lock(&lock);
	for (struct block **p = &blocks; *p; p = &(*p)->next)
		if ((*p)->at == at) {
			b = *p;
			*p = b->next;
			account(b, -(int64_t)b->bytes);
			break;
		}
	pthread_mutex_unlock(&lock);
	if (!b)
		return CUDA_ERROR_INVALID_VALUE;
	tell(ctx, b, 2, stream, async);
	munmap((void *)(uintptr_t)b->at, b->bytes);
	free(b);
	return CUDA_SUCCESS;
}

bool sim_block_of(uint64_t at, struct block *out)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (struct block *b = blocks; b && !found; b = b->next)
		if (at >= b->at && at < b->at + b->bytes) {
			*out = *b;
			found = true;
		}
	pthread_mutex_unlock(&lock);
	return found;
}

CUresult do_cuMemGetInfo_v2(size_t *avail, size_t *total)
{
	struct sim_ctx *c;
	CUresult r = sim_ctx_now(&c);

	if (!r) {
		*total = c->dev->info.memory_mib << 20;
		pthread_mutex_lock(&lock);
		*avail = *total - c->dev->used_bytes;
		pthread_mutex_unlock(&lock);
	}
	return r;
}

static CUresult take_plain(size_t bytes, uint32_t memory, uint64_t *at)
{
	struct sim_ctx *c;
	CUresult r = sim_ctx_now(&c);

	return r ? r : take(c, bytes, memory, NULL, UINT32_MAX, at);
}

CUresult do_cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes)
{
	uint64_t at;
	CUresult r = take_plain(bytes, MEM_DEVICE, &at);

	if (!r)
		*ptr = at;
	return r;
}

CUresult do_cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes, unsigned flags)
{
	uint64_t at;
	CUresult r = take_plain(bytes, MEM_MANAGED, &at);

	(void)flags;
	if (!r)
		*ptr = at;
	return r;
}

CUresult do_cuMemHostAlloc(void **ptr, size_t bytes, unsigned flags)
{
	uint64_t at;
	CUresult r = take_plain(bytes, MEM_PINNED, &at);

	(void)flags;
	if (!r)
		*ptr = (void *)(uintptr_t)at;
	return r;
}

CUresult do_cuMemAllocHost_v2(void **ptr, size_t bytes)
{
	return do_cuMemHostAlloc(ptr, bytes, 0);
}

CUresult do_cuMemFree_v2(CUdeviceptr ptr)
{
	struct sim_ctx *c;
	CUresult r = sim_ctx_now(&c);

	if (!ptr)
		return r;
	return r ? r : give(c, ptr, UINT32_MAX, false);
}

CUresult do_cuMemFreeHost(void *ptr)
{
	return do_cuMemFree_v2((uintptr_t)ptr);
}

static CUresult pool_new(struct sim_device *dev, struct sim_pool **out)
{
	struct sim_pool *p = calloc(1, sizeof(*p));

	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->dev = dev;
	tell_pool(p, 1);
	*out = p;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice dev)
{
	struct sim_device *d;
	CUresult r = CUDA_SUCCESS;

	if (dev < 0 || (uint32_t)dev >= sim_ndevices)
		return CUDA_ERROR_INVALID_DEVICE;
	d = &sim_devices[dev];
	pthread_mutex_lock(&d->lock);
	if (!d->pool)
		r = pool_new(d, &d->pool);
	pthread_mutex_unlock(&d->lock);
	*pool = d->pool;
	return r;
}

CUresult do_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
	return do_cuDeviceGetDefaultMemPool(pool, dev);
}

CUresult do_cuMemPoolCreate(CUmemoryPool *pool, const void *props)
{
	struct sim_ctx *c;
	CUresult r = sim_ctx_now(&c);

	(void)props;
	return r ? r : pool_new(c->dev, pool);
}

CUresult do_cuMemPoolDestroy(CUmemoryPool pool)
{
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	tell_pool(pool, 2);
	free(pool);
	return CUDA_SUCCESS;
}

CUresult do_cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	if (pool->bytes > keep)
		pool->bytes = pool->used > keep ? pool->used : keep;
	pthread_mutex_unlock(&lock);
	tell_pool(pool, 3);
	return CUDA_SUCCESS;
}

CUresult do_cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool,
				    CUstream stream)
{
	struct sim_stream *s;
	uint64_t at;
	CUresult r = sim_stream_now(stream, &s);

	if (!r)
		r = pool ? take(s->ctx, bytes, MEM_DEVICE, pool, s->id, &at)
			 : CUDA_ERROR_INVALID_VALUE;
	if (!r)
		*ptr = at;
	return r;
}

CUresult do_cuMemAllocAsync(CUdeviceptr *ptr, size_t bytes, CUstream stream)
{
	struct sim_stream *s;
	CUmemoryPool pool;
	CUresult r = sim_stream_now(stream, &s);

	if (!r)
		r = do_cuDeviceGetDefaultMemPool(&pool, (CUdevice)s->ctx->dev->id);
	return r ? r : do_cuMemAllocFromPoolAsync(ptr, bytes, pool, stream);
}

/* The memory goes when the stream has come so far; nobody may use it after this call. */
CUresult do_cuMemFreeAsync(CUdeviceptr ptr, CUstream stream)
{
	struct sim_stream *s;
	CUresult r = sim_stream_now(stream, &s);

	return r ? r : give(s->ctx, ptr, s->id, true);
}
