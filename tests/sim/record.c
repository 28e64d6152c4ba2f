/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.c - activity records as CUPTI lays them out.
 *
 * Fields never move between versions; records grow at their end. So a field is written at its
 * one offset, if the record is long enough to have it. Times of device work are written on the
 * model's time line and become CUPTI's when the buffer is handed out (sim_record_finish).
 */
#include <string.h>
#include <unistd.h>

#include "cupti.h"

uint32_t sim_stride(uint32_t kind, int level)
{
	static const struct {
		uint32_t kind;
		int level;
		uint32_t bytes;
	} rows[] = {
#define STRIDE(kind, level, bytes) { kind, level, bytes },
#include "stride.tbl.h"
	};
	static uint32_t known[SIM_KINDS]; /* of the loaded level: looked up at each record */
	static atomic_int known_level;
	uint32_t bytes = 0;

	if (kind >= SIM_KINDS)
		return 0;
	if (level == sim_level && atomic_load_explicit(&known_level, memory_order_acquire) == level)
		return known[kind];
	for (uint32_t k = 0; k < SIM_KINDS; k++) {
		uint32_t b = 0;

		for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
			if (rows[i].kind == k && rows[i].level <= level)
				b = rows[i].bytes;
		if (level == sim_level)
			__atomic_store_n(&known[k], b, __ATOMIC_RELAXED);
		if (k == kind)
			bytes = b;
	}
	if (level == sim_level)
		atomic_store_explicit(&known_level, level, memory_order_release);
	return bytes;
}

/* Kinds whose start (at 16, or 8) and end are the device's. */
static const struct {
	uint8_t device, start, end;
} times[SIM_KINDS] = {
	[SIM_MEMCPY] = { 1, 16, 24 },        [SIM_MEMSET] = { 1, 16, 24 },
	[SIM_KERNEL_SERIAL] = { 1, 16, 24 }, [SIM_KERNEL] = { 1, 16, 24 },
	[SIM_MEMCPY2] = { 1, 16, 24 },       [SIM_GRAPH_TRACE] = { 1, 8, 16 },
	[SIM_DRIVER] = { 0, 8, 16 },         [SIM_RUNTIME] = { 0, 8, 16 },
	[SIM_SYNC] = { 0, 8, 16 },           [SIM_OVERHEAD] = { 0, 24, 32 },
	[SIM_MEMORY2] = { 0, 32, 32 },       [SIM_MEMORY_POOL] = { 0, 56, 56 },
};

bool sim_kind_is_device(uint32_t kind)
{
	return kind < SIM_KINDS && times[kind].device;
}

#define U8(off, v)  (*(uint8_t *)MEMBER(r, off) = (uint8_t)(v))
#define U16(off, v) (*(uint16_t *)MEMBER(r, off) = (uint16_t)(v))
#define U32(off, v) (*(uint32_t *)MEMBER(r, off) = (uint32_t)(v))
#define U64(off, v) (*(uint64_t *)MEMBER(r, off) = (uint64_t)(v))

/* SIM_WRONG_NS=n: how much later kernels end than they do. */
static uint64_t wrong_ns(void)
{
	static atomic_llong ns = -1;

	if (ns < 0)
		ns = sim_fault_int("SIM_WRONG_NS", 0);
	return (uint64_t)ns;
}

static void kernel(uint8_t *r, uint32_t len, const struct sim_op *op)
{
	U16(6, op->kernel.regs);
	U64(16, op->start);
	U64(24, op->end + wrong_ns());
	U64(32, op->end); /* completed */
	U32(40, op->device);
	U32(44, op->context);
	U32(48, op->stream);
	memcpy(r + 52, op->kernel.grid, 12);
	memcpy(r + 64, op->kernel.block, 12);
	U32(76, op->kernel.smem_static);
	U32(80, op->kernel.smem_dynamic);
	U32(84, op->kernel.local);
	U32(92, op->corr);
	U64(96, op->corr); /* gridId */
	U64(104, (uintptr_t)op->kernel.name);
	U8(136, op->kernel.launch_type);
	U64(144, op->node);
	U32(156, op->graph);
	U32(168, op->stream); /* channel */
	U32(172, 1);
	if (len >= 224)
		U32(216, op->kernel.priority);
	if (len >= 232)
		U32(224, 1); /* SIMT */
	if (len >= 248) {
		U32(232, op->source_graph);
		U64(240, op->source_node);
	}
}

static void copy(uint8_t *r, uint32_t len, const struct sim_op *op)
{
	U8(4, op->copy.dir);
	U8(5, op->copy.src);
	U8(6, op->copy.dst);
	U8(7, op->copy.async);
	U64(8, op->copy.bytes);
	U64(16, op->start);
	U64(24, op->end);
	U32(32, op->device);
	U32(36, op->context);
	U32(40, op->stream);
	if (op->kind == SIM_MEMCPY2) {
		U32(44, op->copy.src_device);
		U32(48, op->copy.src_context);
		U32(52, op->copy.dst_device);
		U32(56, op->copy.dst_context);
		U32(60, op->corr);
		U64(72, op->node);
		U32(80, op->graph);
		U32(88, 2);
		return;
	}
	U32(44, op->corr);
	U64(64, op->node);
	U32(72, op->graph);
	U32(80, 2);
	if (len >= 96)
		U64(88, 1); /* copyCount */
	if (len >= 112) {
		U32(96, op->source_graph);
		U64(104, op->source_node);
	}
}

static void set(uint8_t *r, uint32_t len, const struct sim_op *op)
{
	U32(4, op->set.value);
	U64(8, op->set.bytes);
	U64(16, op->start);
	U64(24, op->end);
	U32(32, op->device);
	U32(36, op->context);
	U32(40, op->stream);
	U32(44, op->corr);
	U16(48, op->set.async);
	U16(50, op->set.memory);
	U64(64, op->node);
	U32(72, op->graph);
	U32(80, 2);
	if (len >= 104) {
		U32(88, op->source_graph);
		U64(96, op->source_node);
	}
}

static void waited(uint8_t *r, uint32_t len, const struct sim_op *op)
{
	U32(4, op->sync.type);
	U64(8, op->start);
	U64(16, op->end);
	U32(24, op->corr);
	U32(28, op->context);
	U32(32, op->stream);
	U32(36, op->sync.event);
	if (len >= 56)
		U32(48, op->sync.result);
}

static void graph_trace(uint8_t *r, uint32_t len, const struct sim_op *op)
{
	U32(4, op->corr);
	U64(8, op->start);
	U64(16, op->end);
	U32(24, op->device);
	U32(28, op->graph);
	U32(32, op->context);
	U32(36, op->stream);
	if (len >= 56) {
		U32(48, op->device);
		U32(52, op->context);
	}
}

static void api(uint8_t *r, uint32_t len, const struct sim_op *op)
{
	(void)len;
	U32(4, op->api.cbid);
	U64(8, op->start);
	U64(16, op->end);
	U32(24, getpid());
	U32(28, op->api.tid);
	U32(32, op->corr);
	U32(36, op->api.result);
}

static void external(uint8_t *r, uint32_t len, const struct sim_op *op)
{
	(void)len;
	U32(4, op->external.kind);
	U64(8, op->external.id);
	U32(16, op->corr);
}

static void memory(uint8_t *r, uint32_t len, const struct sim_op *op)
{
	(void)len;
	U32(4, op->mem.op);
	U32(8, op->mem.memory);
	U32(12, op->corr);
	U64(16, op->mem.address);
	U64(24, op->mem.bytes);
	U64(32, op->start);
	U32(48, getpid());
	U32(52, op->device);
	U32(56, op->context);
	U32(60, op->stream);
	U32(72, op->mem.async);
	if (op->mem.pool) {
		U32(80, 1); /* a local pool */
		U64(88, op->mem.pool);
		U64(96, op->mem.threshold);
		U64(104, op->mem.pool_size);
		U64(112, op->mem.used);
	}
}

static void pool(uint8_t *r, uint32_t len, const struct sim_op *op)
{
	(void)len;
	U32(4, op->mem.op);
	U32(8, 1);
	U32(12, op->corr);
	U32(16, getpid());
	U32(20, op->device);
	U64(32, op->mem.pool);
	U64(40, op->mem.pool_size);
	U64(48, op->mem.threshold);
	U64(56, op->start);
	U64(64, op->mem.used);
}

static void device(uint8_t *r, uint32_t len, const struct sim_op *op)
{
	const struct sim_device_info *i = sim_drv->device(op->device);

	(void)len;
	U64(8, i->memory_kbs);
	U64(16, i->memory_mib << 20);
	U32(28, i->l2_kib << 10);
	U32(36, i->clock_khz);
	U32(44, i->sms);
	U32(52, i->warps_per_sm);
	U32(60, i->smem_per_sm);
	U32(64, i->regs_per_sm);
	U32(104, i->major);
	U32(108, i->minor);
	U32(112, op->device);
	memcpy(r + 120, "stand-in device", 15);
	U8(135, op->device);
	U64(136, (uintptr_t)i->name);
	U8(144, 1);
	U8(145, sim_fault_int("SIM_MIG", 0));
}

static void context(uint8_t *r, uint32_t len, const struct sim_op *op)
{
	U32(4, op->context);
	U32(8, op->device);
	U16(12, 1);
	U16(14, op->stream);
	if (len >= 40)
		U32(32, getpid());
}

static void stream(uint8_t *r, uint32_t len, const struct sim_op *op)
{
	(void)len;
	U32(4, op->context);
	U32(8, op->stream);
	U32(12, op->stream_made.priority);
	U32(16, op->stream_made.flag);
	U32(20, op->corr);
}

static void overhead(uint8_t *r, uint32_t len, const struct sim_op *op)
{
	U32(4, op->overhead.what);
	U32(8, op->overhead.object);
	U32(12, op->overhead.object_id);
	U64(24, op->start);
	U64(32, op->end);
	if (len >= 48)
		U32(40, op->corr);
}

/* `r` has `stride` bytes of zero. When a kernel was queued is told to who asked for it. */
void sim_record_write(uint8_t *r, uint32_t stride, const struct sim_op *op, bool latency)
{
	static void (*const write[SIM_KINDS])(uint8_t * r, uint32_t len,
					      const struct sim_op *op) = {
		[SIM_MEMCPY] = copy,       [SIM_MEMCPY2] = copy,
		[SIM_MEMSET] = set,        [SIM_KERNEL_SERIAL] = kernel,
		[SIM_KERNEL] = kernel,     [SIM_DRIVER] = api,
		[SIM_RUNTIME] = api,       [SIM_DEVICE] = device,
		[SIM_CONTEXT] = context,   [SIM_OVERHEAD] = overhead,
		[SIM_STREAM] = stream,     [SIM_SYNC] = waited,
		[SIM_EXTERNAL] = external, [SIM_MEMORY2] = memory,
		[SIM_MEMORY_POOL] = pool,  [SIM_GRAPH_TRACE] = graph_trace,
	};

	U32(0, op->kind);
	if (write[op->kind])
		write[op->kind](r, stride, op);
	if (latency && (op->kind == SIM_KERNEL || op->kind == SIM_KERNEL_SERIAL)) {
		U64(120, op->queued);
		U64(128, op->submitted);
	}
}

static void shift_time(uint8_t *r, size_t off, int64_t shift)
{
	uint64_t t;

	memcpy(&t, r + off, sizeof(t));
	if (t)
		U64(off, t + (uint64_t)shift);
}

/* Device times to CUPTI's clock; of what has not ended by `now` they are unknown: 0. */
void sim_record_finish(uint8_t *r, uint64_t now, int64_t shift)
{
	uint32_t kind;
	uint64_t end;

	memcpy(&kind, r, sizeof(kind));
	if (!sim_kind_is_device(kind))
		return;
	memcpy(&end, r + times[kind].end, sizeof(end));
	if (end > now) {
		U64(times[kind].start, 0);
		U64(times[kind].end, 0);
	} else {
		shift_time(r, times[kind].start, shift);
		shift_time(r, times[kind].end, shift);
	}
	if (kind != SIM_KERNEL && kind != SIM_KERNEL_SERIAL)
		return;
	U64(32, *(uint64_t *)MEMBER(r, 24));
	shift_time(r, 120, shift);
	shift_time(r, 128, shift);
}
