/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook.h - what the stand-in's libcuda and libcupti tell each other.
 *
 * libcupti asks cuGetExportTable() for a struct sim_driver by SIM_UUID, as the real ones do with
 * identifiers of their own, and attaches one struct sim_tool. libcuda looks at the tool's tables
 * of wishes before each call: nothing is dispatched that was not asked for. Times are nanoseconds
 * of CLOCK_MONOTONIC on the model's time line; libcupti turns them into CUPTI's clock.
 */
#ifndef SIM_HOOK_H
#define SIM_HOOK_H

#include <stdbool.h>

#include "cu.h"

#define SIM_UUID       "aon stand-in 01\0" /* 16 bytes with its zero */
#define SIM_CBIDS      1024
#define SIM_DEVICES    8
#define SIM_PM_METRICS 4
#define SIM_NEVER      (UINT64_MAX / 4) /* the end of what does not end */

/* Kinds of activity, numbered as CUPTI does. */
enum {
	SIM_MEMCPY = 1,
	SIM_MEMSET = 2,
	SIM_KERNEL_SERIAL = 3,
	SIM_DRIVER = 4,
	SIM_RUNTIME = 5,
	SIM_DEVICE = 8,
	SIM_CONTEXT = 9,
	SIM_KERNEL = 10,
	SIM_OVERHEAD = 17,
	SIM_MEMCPY2 = 22,
	SIM_STREAM = 37,
	SIM_SYNC = 38,
	SIM_EXTERNAL = 39,
	SIM_MEMORY2 = 49,
	SIM_MEMORY_POOL = 50,
	SIM_GRAPH_TRACE = 51,
	SIM_KINDS = 64,
};

/* One thing that the device or the driver did. Which part of the union holds, `kind` says. */
struct sim_op {
	uint32_t kind, corr;
	uint32_t device, context, stream;
	uint32_t graph, source_graph; /* of the executable graph, and of its template */
	uint64_t node, source_node;   /* likewise; 0 outside graphs */
	uint64_t queued, submitted;   /* of a kernel */
	uint64_t start, end;          /* end SIM_NEVER: does not end */
	union {
		struct {
			const char *name;
			uint32_t grid[3], block[3];
			uint32_t smem_static, smem_dynamic, local;
			uint16_t regs;
			uint8_t launch_type;
			int32_t priority;
			float pct[SIM_PM_METRICS]; /* of the device: SMs, compute, tensor, DRAM */
		} kernel;
		struct {
			uint64_t bytes;
			uint8_t dir, src, dst, async; /* CUPTI's memcpy and memory kinds */
			uint32_t src_device, src_context, dst_device, dst_context; /* MEMCPY2 */
		} copy;
		struct {
			uint64_t bytes;
			uint32_t value;
			uint8_t memory, async;
		} set;
		struct {
			uint32_t type, event, result;
		} sync;
		struct {
			uint32_t op, memory;
			uint64_t address, bytes;
			uint64_t pool, threshold, pool_size, used;
			bool async;
		} mem;
		struct {
			uint32_t cbid, result, tid;
		} api;
		struct {
			uint32_t flag;
			int32_t priority;
		} stream_made;
		struct {
			uint32_t what, object, object_id;
		} overhead;
		struct {
			uint64_t id;
			uint32_t kind;
		} external;
	};
};

/* What a device is, for DEVICE records and attributes. */
struct sim_device_info {
	const char *name;
	uint32_t major, minor, sms, warps_per_sm, regs_per_sm, smem_per_sm, clock_khz, l2_kib;
	uint64_t memory_mib, memory_kbs; /* memory_kbs: bandwidth, kB/s */
	uint32_t launch_ns;              /* from a launch to its start */
};

/* One call of the driver, from its entry to its exit. */
struct sim_call {
	uint32_t cbid, corr;
	const char *name, *symbol;
	const void *args;
	CUcontext ctx;
	uint32_t ctx_id;
	bool runtime; /* of libcudart, around calls of the driver with the same corr */
	uint64_t start;
	uint64_t shared[8]; /* correlationData, one a subscriber */
	CUresult result;
};

/* What CUPTI's graph and module callbacks carry. */
struct sim_graph_data {
	CUgraph graph, original;
	CUgraphNode node, original_node;
	int type;
	CUgraphNode dependency;
	CUgraphExec exec;
};

struct sim_module_data {
	uint32_t id;
	size_t size;
	const char *image;
};

/* libcupti's: what is wanted, and whom to call. Bytes and masks may change at any time. */
struct sim_tool {
	uint64_t kinds; /* bits of the kinds that somebody enabled; read with relaxed loads */
	uint8_t graph_trace;
	uint8_t driver[SIM_CBIDS], runtime[SIM_CBIDS];
	uint8_t resource[32];
	uint8_t sync[4];
	void (*enter)(struct sim_call *call);
	void (*leave)(struct sim_call *call);
	void (*op)(const struct sim_op *op);
	void (*resourced)(uint32_t cbid, CUcontext ctx, CUstream stream, void *descriptor);
	void (*synced)(uint32_t cbid, CUcontext ctx, CUstream stream);
};

/* libcuda's. */
struct sim_driver {
	void (*attach)(struct sim_tool *tool); /* NULL: detach */
	bool (*ready)(void);                   /* has cuInit() begun? */
	uint64_t (*now)(void);
	uint32_t (*devices)(void);
	const struct sim_device_info *(*device)(uint32_t i);
	void (*contexts)(void (*fn)(const struct sim_op *op));
	void (*streams)(void (*fn)(const struct sim_op *op));
	uint32_t (*context_id)(CUcontext ctx, uint32_t *device);
	uint32_t (*stream_id)(CUstream stream);
	uint64_t (*node_id)(CUgraphNode node);
	uint32_t (*graph_id)(CUgraph graph);
	uint32_t (*exec_id)(CUgraphExec exec);
	uint32_t (*event_id)(CUevent event);
	CUcontext (*current)(void);
	const char *(*call_name)(uint32_t cbid);
	uint32_t (*next_corr)(void);
	void (*runtime_enter)(struct sim_call *c, uint32_t cbid, const char *name, const void *args,
			      const char *symbol);
	void (*runtime_leave)(struct sim_call *c, CUresult r);
	const char *(*symbol)(CUfunction f);
};

/* Words that one thread sets while others look: no order is meant, a late look is as good. */
#define GET(x)    __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define SET(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELAXED)

static inline bool sim_wants(const struct sim_tool *t, uint32_t kind)
{
	return t && GET(t->kinds) >> kind & 1;
}

#endif /* SIM_HOOK_H */
