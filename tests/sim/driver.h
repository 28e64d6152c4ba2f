/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.h - inside the stand-in's libcuda: its objects, its clock, its model of time.
 *
 * There is no thread that plays the device. A stream is a first-in-first-out queue, so the start
 * and the end of a piece of work are known when it is submitted (model.c); what is "still
 * running" is what ends after now. One lock a device guards its streams, events and engines.
 */
#ifndef SIM_DRIVER_H
#define SIM_DRIVER_H

#include <pthread.h>
#include <stdatomic.h>

#include "hook.h"
#include "calls.h" /* generated from driver.tbl: prototypes of every call, cu* and do_cu* */

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define RESIDENT     32   /* kernels that share a device */
#define QUEUE_MAX    1024 /* launches that a stream holds before a launch waits */

enum engine { ENGINE_IN, ENGINE_OUT, ENGINE_PEER, ENGINES }; /* to the device, from it, between */

struct sim_device {
	pthread_mutex_t lock;
	uint32_t id;
	const struct gpu *gpu; /* what its work takes follows from it */
	struct sim_device_info info;
	uint64_t engine[ENGINES]; /* busy until */
	struct {
		uint64_t end;
		double share;
	} resident[RESIDENT];
	uint32_t residents;
	uint64_t used_bytes;
	uint64_t ops;     /* pieces of work so far */
	uint64_t lost_at; /* of those: all that follow fail; 0: none */
	bool lost;        /* by lost_at: every later call fails */
	struct sim_ctx *primary;
	int primary_refs;
	struct sim_pool *pool;
	uint64_t kernels; /* placed so far */
};

struct sim_stream {
	struct sim_ctx *ctx;
	struct sim_stream *next; /* in ctx->streams */
	uint32_t id;
	uint32_t flags; /* 1: does not wait for the legacy stream */
	int32_t priority;
	uint64_t ready;           /* all that was submitted is done */
	uint64_t ends[QUEUE_MAX]; /* of the last launches, a ring */
	uint64_t launches;
	struct sim_graph *capture; /* being captured into */
	struct sim_node *captured; /* the last node of it */
};

struct sim_ctx {
	struct sim_device *dev;
	struct sim_ctx *next; /* in the list of all */
	uint32_t id;
	bool primary;
	uint32_t streams_made;
	uint64_t legacy_ready, blocking_ready; /* of the legacy stream; of those that wait for it */
	struct sim_stream legacy;
	struct sim_stream *streams; /* guarded by the device's lock */
	uint32_t modules_made;
};

struct sim_event {
	uint32_t id;
	bool recorded;
	uint64_t at;
	struct sim_stream *stream;
	struct sim_node *captured; /* recorded while its stream was captured */
};

/* What a kernel costs: `ns` if set, else by flops and bytes of each thread. */
struct sim_func {
	struct sim_func *next;
	struct sim_module *mod;
	uint64_t ns;
	double flops, bytes; /* a thread */
	bool tensor;         /* its flops are tensor cores' */
	uint32_t smem, local;
	uint16_t regs;
	char *name; /* borrowed from name_take() */
};

struct sim_module {
	struct sim_ctx *ctx;
	struct sim_func *funcs;
	char *text; /* what it was loaded from, if it is the stand-in's own format */
	struct sim_module_data data;
};

/* A piece of work before it has a place in time. */
struct work {
	int type; /* CU_GRAPH_NODE_TYPE_* */
	struct sim_op op;
	struct sim_func *func;
	CUhostFn fn;
	void *arg;
};

struct sim_thread {
	struct sim_ctx *stack[16]; /* the current one is the last */
	int depth;
	uint32_t corr;          /* of the call under way */
	uint32_t runtime_corr;  /* of the runtime's call around it; 0: none */
	struct sim_stream *own; /* CU_STREAM_PER_THREAD */
	struct sim_ctx *own_ctx;
};

extern __thread struct sim_thread sim_me;
extern struct sim_tool *_Atomic sim_tool;
extern bool sim_watch; /* calls are looked at: a tool is attached, or faults are set */
extern struct sim_device sim_devices[SIM_DEVICES];
extern uint32_t sim_ndevices;

static inline struct sim_tool *sim_tool_get(void)
{
	return atomic_load_explicit(&sim_tool, memory_order_acquire); /* with attach() */
}

/* clock.c */
uint64_t sim_now(void);
void sim_wait(uint64_t until); /* sleeps until `until`; SIM_NEVER: for ever */

/* conf.c: settings of the environment, read once. */
const char *sim_env(const char *name);
long long sim_env_int(const char *name, long long unset);
void sim_conf_devices(void);

/* call.c: what surrounds each call. */
CUresult sim_enter(struct sim_call *c, uint32_t cbid, const char *name, const void *args,
		   const char *symbol);
void sim_call_begin(struct sim_call *c, struct sim_tool *tool, uint32_t cbid, const char *name,
		    const void *args, const char *symbol, uint32_t corr);
CUresult sim_leave(struct sim_call *c, CUresult r);
void sim_call_init(void);
const char *sim_call_name(uint32_t cbid);
struct sim_entry {
	uint32_t cbid;
	const char *name;
	void *fn;
};
extern const struct sim_entry sim_entries[]; /* generated */
extern const size_t sim_entries_len;
void *sim_call_find(const char *name, bool per_thread);
void sim_resource(uint32_t cbid, struct sim_ctx *ctx, struct sim_stream *s, void *descriptor);

/* context.c */
CUresult sim_ctx_now(struct sim_ctx **out); /* the thread's, or an error */
CUresult sim_stream_now(CUstream given, struct sim_stream **out);
void sim_each_context(void (*fn)(const struct sim_op *op));
void sim_each_stream(void (*fn)(const struct sim_op *op));
uint32_t sim_context_id(CUcontext ctx, uint32_t *device);
uint32_t sim_stream_id(CUstream s);
uint32_t sim_event_id(CUevent e);

/* model.c: places work in time. The device's lock is held. */
uint64_t sim_cost(const struct sim_device *dev, const struct sim_func *f, const uint32_t grid[3],
		  const uint32_t block[3], double *share);
void sim_place(struct sim_stream *s, struct work *w, uint64_t after, uint64_t now);
uint64_t sim_stream_after(struct sim_stream *s);
void sim_stream_done(struct sim_stream *s, uint64_t end);

/* submit.c */
CUresult sim_submit(struct sim_stream *s, struct work *w);
void sim_host_call(uint64_t at, CUhostFn fn, void *arg);

/* kernel.c, copy.c: work of a kind, not yet placed. */
void sim_kernel_work(struct work *w, CUfunction f, const uint32_t grid[3], const uint32_t block[3],
		     uint32_t shared);
void sim_copy_work(struct work *w, uint64_t dst, uint64_t src, size_t bytes, bool async);
void sim_set_work(struct work *w, uint64_t dst, unsigned value, size_t bytes, bool async);

/* graph.c */
CUresult sim_capture(struct sim_stream *s, const struct work *w);
uint64_t sim_node_id(CUgraphNode n);
uint32_t sim_graph_id(CUgraph g);
uint32_t sim_exec_id(CUgraphExec e);

#endif /* SIM_DRIVER_H */
