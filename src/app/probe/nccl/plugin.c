/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin.c - the entry points for NCCL: one table per version, and one body behind all of them.
 *
 * Every call returns success: NCCL's reaction to a failure is worse than the failure itself.
 */
#include <errno.h>
#include <unistd.h>

#include <aon/provider.h>

#include "probe/nccl/nccl.h"

#define SUCCESS 0

/* Parents come unasked; what is not wanted gets no place. */
static nccl_handle start_call(struct nccl_comm *c, uint64_t type, const void *descr, int mask)
{
	struct nccl_what what = { 0 };

	/* NCCL counts a recorded graph's collectives only if their group has a handle. */
	if (!(mask & (int)type))
		return type == NCCL_GROUP && mask & NCCL_KERNEL_CH ? NCCL_NOTHING : 0;
	what.name = nccl_api_name(type, descr);
	return nccl_op_start(c, NCCL_FORM_CALL, &what, 0);
}

static nccl_handle start_op(struct nccl_comm *c, uint64_t type, const void *descr, int mask)
{
	bool kernel = mask & NCCL_KERNEL_CH && type != NCCL_CE_COLL;
	struct nccl_what what;
	uint64_t hash;

	if (!aon_wants(AON_WANT_ALL))
		return 0;
	nccl_describe(c->version, type, descr, &what);
	hash = what.hash ? what.hash : atomic_load_explicit(&c->hash, memory_order_relaxed);
	if (type != NCCL_P2P)
		aon_heartbeat_collective(hash, what.seq);
	if (!aon_wants(AON_WANT_GPU))
		return 0;
	return nccl_op_start(c, NCCL_FORM_OP, &what, kernel ? what.channels : 0);
}

/* The parent may be of another process, whose operation a proxy of ours serves (PXN). */
static nccl_handle start_move(struct nccl_comm *c, uint64_t type, const void *descr, int mask)
{
	nccl_handle parent = NCCL_GET(nccl_handle, descr, NCCL_AT_PARENT);
	struct nccl_what what = { 0 };
	bool op = type == NCCL_PROXY_OP;

	if (!(mask & (int)type))
		return 0;
	if (op && NCCL_GET(pid_t, descr, NCCL_AT_PROXY_PID) != getpid())
		parent = 0;
	what.seq = nccl_op_seq(parent);
	if (!op) {
		what.name = aon_name("NCCL proxy step");
	} else {
		what.name = aon_name(NCCL_GET(int, descr, NCCL_AT_PROXY_SEND) ? "NCCL proxy send"
									      : "NCCL proxy recv");
		what.bytes = (uint64_t)NCCL_GET(uint32_t, descr, NCCL_AT_PROXY_STEPS) *
			     NCCL_GET(uint32_t, descr, NCCL_AT_PROXY_CHUNK);
	}
	return nccl_op_start(c, NCCL_FORM_MOVE, &what, 0);
}

static nccl_handle start(struct nccl_comm *c, uint64_t type, const void *descr)
{
	int mask;

	switch (type) {
	case NCCL_KERNEL_CH:
		return nccl_kernel_start(
			NCCL_GET(nccl_handle, descr, NCCL_AT_PARENT),
			c->version < 4 ? 0 : NCCL_GET(uint64_t, descr, NCCL_AT_PTIMER));
	case NCCL_COLL:
	case NCCL_P2P:
	case NCCL_CE_COLL:
		mask = nccl_mask(c);
		return start_op(c, type, descr, mask);
	case NCCL_PROXY_OP:
	case NCCL_PROXY_STEP:
		return start_move(c, type, descr, nccl_mask(c));
	case NCCL_GROUP:
	case NCCL_GROUP_API:
	case NCCL_COLL_API:
	case NCCL_P2P_API:
	case NCCL_KERNEL_LAUNCH:
		return start_call(c, type, descr, nccl_mask(c));
	default:
		return 0;
	}
}

static int start_event(uint32_t version, void *context, void **handle, const void *descr)
{
	struct nccl_comm *c = nccl_comm_of(context);
	int saved = errno;

	if (!handle)
		return SUCCESS;
	*handle = NULL;
	if (!descr)
		return SUCCESS;
	if (c && c->version == version)
		*handle =
			(void *)start(c,
				      nccl_layouts[version].wide_type ? NCCL_GET(uint64_t, descr, 0)
								      : NCCL_GET(uint8_t, descr, 0),
				      descr);
	else if (context && aon_wants(AON_WANT_GPU))
		aon_lost(AON_LOST_DISCARDED, 1);
	errno = saved;
	return SUCCESS;
}

static int stop_event(void *handle)
{
	nccl_handle h = (nccl_handle)handle;
	int saved = errno;

	if (nccl_is_kernel(h))
		nccl_kernel_time(h, 0); /* before version 4 nothing else says when */
	nccl_op_stop(h);
	errno = saved;
	return SUCCESS;
}

/* The end of a channel of a kernel, and what a step of a proxy moved. */
static int record_state(void *handle, int state, const void *args)
{
	nccl_handle h = (nccl_handle)handle;

	if (!h || !args)
		return SUCCESS;
	if (nccl_is_kernel(h)) {
		if (state == NCCL_KERNEL_CH_STOP)
			nccl_kernel_time(h, NCCL_GET(uint64_t, args, 0));
	} else if (state >= NCCL_STEP_FIRST && state <= NCCL_STEP_LAST) {
		nccl_op_bytes(h, NCCL_GET(size_t, args, 0));
	}
	return SUCCESS;
}

static int finalize(void *context)
{
	struct nccl_comm *c = nccl_comm_of(context);
	int saved = errno;

	if (c) {
		nccl_op_end_all(c);
		nccl_comm_free(c);
	}
	errno = saved;
	return SUCCESS;
}

static int init(uint32_t version, void **context, int *mask, uint64_t hash, const char *name,
		int rank, int ranks)
{
	static _Atomic(uint32_t) told;
	int saved = errno;
	struct nccl_comm *c;

	if (!context)
		return SUCCESS;
	c = nccl_comm_new(version, mask, hash, name, rank, ranks);
	*context = c;
	if (nccl_comm_of(c))
		nccl_mask(c);
	if (!atomic_exchange_explicit(&told, 1, memory_order_relaxed))
		aon_note("nccl", "on", "");
	errno = saved;
	return SUCCESS;
}

/* --- the versions --- */

typedef void log_fn(int level, unsigned long flags, const char *file, int line, const char *fmt,
		    ...);
typedef int init_1_fn(void **context, int *mask);
typedef int init_4_fn(void **context, int *mask, const char *name, uint64_t hash, int nodes,
		      int ranks, int rank, log_fn *log);
typedef int init_5_fn(void **context, uint64_t hash, int *mask, const char *name, int nodes,
		      int ranks, int rank, log_fn *log);

struct table {
	const char *name;
	union {
		init_1_fn *since_1;
		init_4_fn *since_4;
		init_5_fn *since_5;
	} init;
	int (*start)(void *context, void **handle, const void *descr);
	int (*stop)(void *handle);
	int (*state)(void *handle, int state, const void *args);
	int (*finalize)(void *context);
};

#define INIT_1(v)                                             \
	static int init_##v(void **context, int *mask)        \
	{                                                     \
		return init(v, context, mask, 0, NULL, 0, 0); \
	}

static int init_4(void **context, int *mask, const char *name, uint64_t hash, int nodes, int ranks,
		  int rank, log_fn *log)
{
	(void)nodes, (void)log;
	return init(4, context, mask, hash, name, rank, ranks);
}

#define INIT_5(v)                                                                                  \
	static int init_##v(void **context, uint64_t hash, int *mask, const char *name, int nodes, \
			    int ranks, int rank, log_fn *log)                                      \
	{                                                                                          \
		(void)nodes, (void)log;                                                            \
		return init(v, context, mask, hash, name, rank, ranks);                            \
	}

INIT_1(1)
INIT_1(2)
INIT_1(3)
INIT_5(5)
INIT_5(6)

#define VERSION(v, since)                                                                     \
	static int start_##v(void *context, void **handle, const void *descr)                 \
	{                                                                                     \
		return start_event(v, context, handle, descr);                                \
	}                                                                                     \
	extern AON_API const struct table ncclProfiler_v##v;                                  \
	AON_API const struct table ncclProfiler_v##v = { "aon",        { .since = init_##v }, \
							 start_##v,    stop_event,            \
							 record_state, finalize };

VERSION(1, since_1)
VERSION(2, since_1)
VERSION(3, since_1)
VERSION(4, since_4)
VERSION(5, since_5)
VERSION(6, since_5)
